import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import * as openid from "openid-client";
import { ClientCredentials } from "simple-oauth2";
import { meaningOf } from "../../../http/request/errors.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import {
  askToken,
  call,
  EmmClient,
  newClient,
  operate,
  type ClientCredentials as Credentials,
} from "./client.js";

describe("the token route of surface B", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let credentials: Credentials;
  let marketId = "";
  let tokenUrl = "";

  before(async () => {
    stack = await startStack({ trustProxy: 1, edge: { bodyBytes: 2 ** 20 } });
    trader = await newTrader(stack);
    credentials = await newClient(stack, trader);
    ({ marketId } = await newMarket(stack));
    tokenUrl = `${stack.url}/${stack.prefix}/v1/auth/emm-token`;
  });
  after(() => stack.stop());

  const openMarkets = async (token: string): Promise<string[]> => {
    const answer = await call(`${stack.url}/${stack.prefix}/v2/emm/markets/open`, "GET", {
      Authorization: `Bearer ${token}`,
    });
    expect(answer.status).to.equal(200);
    return (answer.body as { id: string }[]).map(({ id }) => id);
  };

  const form = (fields: Record<string, string> | string, headers: Record<string, string> = {}) =>
    fetch(tokenUrl, {
      method: "POST",
      headers: { "Content-Type": "application/x-www-form-urlencoded", ...headers },
      body: typeof fields === "string" ? fields : new URLSearchParams(fields),
    });

  describe("serves", () => {
    it("a plain client with a JSON body", async () => {
      const { status, headers, body } = await askToken(stack.url, credentials);
      expect(status).to.equal(200);
      expect(headers.get("cache-control")).to.equal("no-store");
      const answer = body as { access_token: string };
      expect(answer).to.deep.equal({
        access_token: answer.access_token,
        token_type: "bearer",
        expires_in: 1800,
      });
      expect(await openMarkets(answer.access_token)).to.include(marketId);
    });

    for (const authorizationMethod of ["header", "body"] as const) {
      it(`simple-oauth2, with credentials in the ${authorizationMethod}`, async () => {
        const client = new ClientCredentials({
          client: { id: credentials.clientId, secret: credentials.clientSecret },
          auth: { tokenHost: stack.url, tokenPath: `/${stack.prefix}/v1/auth/emm-token` },
          options: { authorizationMethod },
        });
        const { token } = await client.getToken({});
        expect(await openMarkets(String(token["access_token"]))).to.include(marketId);
      });
    }

    const methods = {
      client_secret_basic: openid.ClientSecretBasic,
      client_secret_post: openid.ClientSecretPost,
    };
    for (const [name, method] of Object.entries(methods)) {
      it(`openid-client, which discovers it, with ${name}`, async () => {
        // A proxy that ends TLS stands in front, because the client accepts https addresses only.
        const outside = new URL(stack.url.replace("http:", "https:"));
        const viaProxy: openid.CustomFetch = (target, options) =>
          fetch(target.replace("https:", "http:"), {
            ...options,
            headers: { ...options.headers, "X-Forwarded-Proto": "https" },
          } as RequestInit);
        const config = await openid.discovery(
          outside,
          credentials.clientId,
          undefined,
          method(credentials.clientSecret),
          { algorithm: "oauth2", [openid.customFetch]: viaProxy },
        );
        const metadata = config.serverMetadata();
        expect(metadata.issuer).to.equal(outside.origin);
        expect(metadata.token_endpoint).to.equal(`${outside.origin}/${stack.prefix}/v1/auth/emm-token`);
        const tokens = await openid.clientCredentialsGrant(config, { scope: "anything" });
        expect(tokens.expires_in).to.equal(1800);
        expect(await openMarkets(tokens.access_token)).to.include(marketId);
      });
    }
  });

  describe("refuses", () => {
    const wrong = () => ({ ...credentials, clientSecret: "wrong" });

    it("a wrong secret and an unknown client alike", async () => {
      const unknown = { ...credentials, clientId: "6f9619ff-8b86-4011-b42d-00c04fc964ff" };
      const nonsense = { ...credentials, clientId: "x".repeat(500) };
      const answers = [];
      for (const who of [wrong(), unknown, nonsense]) answers.push(await askToken(stack.url, who));
      for (const { status, headers, body } of answers) {
        expect(status).to.equal(401);
        expect(body).to.deep.equal(answers[0]?.body);
        expect((body as { error: string }).error).to.equal("invalid_client");
        expect(Object.keys(body as object)).to.deep.equal(["error", "error_description"]);
        expect(headers.has("www-authenticate"), "the credentials were in the body").to.equal(false);
      }
    });

    it("credentials of a header with the challenge of their scheme", async () => {
      const grant = { grant_type: "client_credentials" };
      const encoded = Buffer.from(`${credentials.clientId}:wrong`).toString("base64");
      for (const header of [`Basic ${encoded}`, "Basic ?", "Basic JXg6eA==", "Bearer abc"]) {
        const { status, headers, body } = await call(
          `${stack.url}/${stack.prefix}/v1/auth/emm-token`,
          "POST",
          { Authorization: header },
          grant,
        );
        expect(status, header).to.equal(401);
        expect((body as { error: string }).error).to.equal("invalid_client");
        expect(headers.get("www-authenticate")).to.equal('Basic realm="emm"');
      }
      const none = await call(`${stack.url}/${stack.prefix}/v1/auth/emm-token`, "POST", {}, grant);
      expect(none.status).to.equal(401);
      expect(none.headers.has("www-authenticate")).to.equal(false);
    });

    it("nobody who sends a parameter without a value beside Basic credentials", async () => {
      const empty = "grant_type=client_credentials&client_id=&client_secret=";
      expect((await form(empty, basic())).status).to.equal(200);
    });

    it("other grants", async () => {
      for (const grant of ["password", "authorization_code", "refresh_token", "urn:example:grant"]) {
        const response = await form({
          grant_type: grant,
          client_id: credentials.clientId,
          client_secret: credentials.clientSecret,
        });
        expect(response.status, grant).to.equal(400);
        expect(((await response.json()) as { error: string }).error).to.equal("unsupported_grant_type");
      }
    });

    const id = () => `client_id=${credentials.clientId}`;
    const secret = () => `client_secret=${credentials.clientSecret}`;
    const basic = () => ({
      Authorization: `Basic ${Buffer.from(`${credentials.clientId}:${credentials.clientSecret}`).toString("base64")}`,
    });
    const cases: readonly (readonly [string, () => Promise<Response>, number, string])[] = [
      ["no grant", () => form(`${id()}&${secret()}`), 400, "invalid_request"],
      ["a grant without a value", () => form(`grant_type=&${id()}&${secret()}`), 400, "invalid_request"],
      [
        "a secret without a value",
        () => form(`grant_type=client_credentials&${id()}&client_secret=`),
        401,
        "invalid_client",
      ],
      [
        "a body that is too large",
        () => form(`grant_type=client_credentials&x=${"a".repeat(2 ** 17)}`),
        413,
        "invalid_request",
      ],
      [
        "a query",
        () => fetch(`${tokenUrl}?grant_type=client_credentials`, { method: "POST" }),
        400,
        "invalid_request",
      ],
      ["no credentials", () => form("grant_type=client_credentials"), 401, "invalid_client"],
      [
        "a parameter given twice",
        () => form(`grant_type=client_credentials&${id()}&${id()}&${secret()}`),
        400,
        "invalid_request",
      ],
      [
        "two ways of authenticating at once",
        () => form(`grant_type=client_credentials&${id()}&${secret()}`, basic()),
        400,
        "invalid_request",
      ],
      [
        "Basic credentials that are none",
        () => form("grant_type=client_credentials", { Authorization: "Basic !!" }),
        401,
        "invalid_client",
      ],
      [
        "Basic credentials with a malformed escape",
        () =>
          form("grant_type=client_credentials", {
            Authorization: `Basic ${Buffer.from("%zz:%").toString("base64")}`,
          }),
        401,
        "invalid_client",
      ],
      [
        "another kind of body",
        () => fetch(tokenUrl, { method: "POST", headers: { "Content-Type": "text/plain" }, body: "x" }),
        400,
        "invalid_request",
      ],
      [
        "JSON that is not acceptable",
        () =>
          fetch(tokenUrl, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: '{"grant_type":"client_credentials","grant_type":"x"}',
          }),
        400,
        "invalid_request",
      ],
      [
        "JSON of the wrong types",
        () =>
          fetch(tokenUrl, {
            method: "POST",
            headers: { "Content-Type": "application/json" },
            body: '{"grant_type":"client_credentials","client_id":7,"client_secret":[]}',
          }),
        400,
        "invalid_request",
      ],
    ];
    for (const [what, ask, status, error] of cases) {
      it(what, async () => {
        const response = await ask();
        expect(response.status).to.equal(status);
        const body = (await response.json()) as { error: string; error_description: string };
        expect(Object.keys(body)).to.deep.equal(["error", "error_description"]);
        expect(body.error).to.equal(error);
        expect(body.error_description, "the characters of RFC 6749").to.match(/^[ !#-[\]-~]+$/);
        expect(response.headers.get("cache-control")).to.equal("no-store");
      });
    }

    it("further guesses, without locking out a secret that was verified before", async () => {
      const target = await newClient(stack, trader);
      expect((await askToken(stack.url, target)).status).to.equal(200);
      const guesses = [];
      for (let i = 0; i < 12; i += 1) {
        guesses.push(await askToken(stack.url, { ...target, clientSecret: `guess ${i}` }));
      }
      expect(guesses.slice(0, 10).map(({ status }) => status)).to.deep.equal(Array(10).fill(401));
      const last = guesses.at(-1);
      expect(last?.status).to.equal(429);
      expect(Number(last?.headers.get("retry-after"))).to.be.within(1, 6);
      expect((await askToken(stack.url, target)).status).to.equal(200);
      const fresh = await newClient(stack, trader);
      for (let i = 0; i < 11; i += 1) await askToken(stack.url, { ...fresh, clientSecret: "guess" });
      expect((await askToken(stack.url, fresh)).status).to.equal(429);
    });

    it("guesses by address, of which an IPv6 network of 64 bits is one", async () => {
      const target = await newClient(stack, trader);
      const ask = async (clientSecret: string, from: string): Promise<number> =>
        (await askToken(stack.url, { ...target, clientSecret }, { "X-Forwarded-For": from })).status;
      for (let i = 1; i <= 10; i += 1) expect(await ask("guess", `2001:db8:5::${i}`)).to.equal(401);
      expect(await ask("guess", "2001:db8:5::ffff")).to.equal(429);
      expect(await ask(target.clientSecret, "2001:db8:5::1:ffff"), "the right secret").to.equal(429);
      expect(await ask("guess", "2001:db8:5:1::1"), "the next network").to.equal(401);
      expect(await ask("guess", "198.51.100.7")).to.equal(401);
      expect(await ask(target.clientSecret, "2001:db8:5:1::2")).to.equal(200);
      for (let i = 0; i < 70; i += 1) await ask("guess", `2001:db8:6::${i}`);
      const other = await newClient(stack, trader);
      const headers = { "X-Forwarded-For": "2001:db8:6::aaaa" };
      expect((await askToken(stack.url, other, headers)).status, "another client there").to.be.oneOf([
        200, 429,
      ]);
    });

    it("the withdrawn route", async () => {
      const older = await call(`${stack.url}/${stack.prefix}/v1/auth/token`, "POST", {}, {});
      expect(older.status).to.equal(410);
      expect((older.body as { error: string }).error).to.equal("invalid_request");
      expect(older.headers.get("sunset")).to.equal("Sat, 31 Jan 2026 00:00:00 GMT");
      expect(older.headers.get("link")).to.match(/emm-token>; rel="successor-version"/);
    });
  });

  describe("creates tokens that", () => {
    const withToken = (token: string) =>
      call(`${stack.url}/${stack.prefix}/v2/emm/ticks`, "GET", { Authorization: `Bearer ${token}` });

    it("every other route requires", async () => {
      const none = await call(`${stack.url}/${stack.prefix}/v2/emm/ticks`, "GET");
      expect(none.status).to.equal(401);
      expect(none.headers.get("www-authenticate")).to.equal("Bearer");
      expect(none.body).to.deep.equal({
        statusCode: 401,
        error: "Unauthorized",
        message: meaningOf("UNAUTHENTICATED"),
        code: "UNAUTHENTICATED",
      });
      const bad = await withToken("a.b.c");
      expect(bad.status).to.equal(401);
      expect(bad.headers.get("www-authenticate")).to.equal('Bearer error="invalid_token"');
    });

    it("web sessions do not accept, and that differ from session tokens", async () => {
      expect((await withToken(await stack.operatorToken())).status).to.equal(401);
      const token = await new EmmClient(stack.url, credentials).token();
      const session = await call(`${stack.url}/v3/session`, "GET", { Authorization: `Bearer ${token}` });
      expect(session.status).to.equal(401);
    });

    it("end with their secret and with their client", async () => {
      const target = await newClient(stack, trader);
      const client = new EmmClient(stack.url, target);
      expect((await client.call("GET /ticks")).status).to.equal(200);

      const rotated = await operate(stack, `POST /emm-clients/${target.clientId}/rotate`);
      expect(rotated.status).to.equal(200);
      expect((await client.call("GET /ticks")).status).to.equal(401);
      expect((await askToken(stack.url, target)).status).to.equal(401);
      const next = new EmmClient(stack.url, rotated.body as Credentials);
      expect((await next.call("GET /ticks")).status).to.equal(200);

      expect((await operate(stack, `DELETE /emm-clients/${target.clientId}`)).status).to.equal(204);
      expect((await next.call("GET /ticks")).status).to.equal(401);
      expect((await askToken(stack.url, next.credentials)).status).to.equal(401);
      for (const line of ["DELETE", "POST"]) {
        const path = `/emm-clients/${target.clientId}${line === "POST" ? "/rotate" : ""}`;
        expect((await operate(stack, `${line} ${path}`)).status).to.equal(404);
      }
    });
  });

  it("stores secrets as hashes, and lists clients without them", async () => {
    const listed = await operate(stack, "GET /emm-clients?limit=5000");
    expect(listed.status).to.equal(200);
    const { items } = listed.body as { items: Record<string, unknown>[] };
    const mine = items.find(({ clientId }) => clientId === credentials.clientId);
    expect(mine).to.include({
      name: "maker",
      traderId: trader.account.traderId,
      subaccountKeyId: trader.account.tradingKey.keyId,
      label: "main",
      rotatedTs: null,
    });
    expect(JSON.stringify(items)).to.not.contain("ecret");
    const management = await operate(stack, "POST /emm-clients", {
      subaccountKeyId: trader.account.managementKey.keyId,
      name: "x",
    });
    expect(management.body).to.include({ code: "NOT_A_SUBACCOUNT_KEY" });
    const nobody = await operate(stack, "POST /emm-clients", {
      subaccountKeyId: "6f9619ff-8b86-4011-b42d-00c04fc964ff",
      name: "x",
    });
    expect(nobody.body).to.include({ code: "SUBACCOUNT_NOT_FOUND" });
  });
});

describe("surface B under another prefix, with EdDSA, while keys change", function () {
  this.timeout(60_000);
  const pem = () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    return {
      own: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
      open: publicKey.export({ format: "pem", type: "spki" }).toString(),
    };
  };

  it("answers under that prefix only, with tokens that name their key", async () => {
    const [now, next] = [pem(), pem()];
    const stack = await startStack({
      servicePrefix: "xyz",
      serviceKeys: { signing: now.own, accepted: [next.open] },
    });
    try {
      const credentials = await newClient(stack, await newTrader(stack));
      const client = new EmmClient(stack.url, credentials, "xyz");
      expect((await client.call("GET /ticks")).status).to.equal(200);
      const [header = ""] = (await client.token()).split(".");
      const decoded = JSON.parse(Buffer.from(header, "base64url").toString()) as Record<string, unknown>;
      expect(decoded["alg"]).to.equal("EdDSA");
      const elsewhere = await call(`${stack.url}/svc/v2/emm/ticks`, "GET");
      expect(elsewhere.body).to.include({ code: "ROUTE_NOT_FOUND" });
      const missing = await call(`${stack.url}/xyz/v2/emm/nothing`, "GET");
      expect(missing.body).to.deep.include({ statusCode: 404, error: "Not Found", code: "ROUTE_NOT_FOUND" });
      const metadata = await call(`${stack.url}/.well-known/oauth-authorization-server`, "GET");
      expect(metadata.body).to.include({
        issuer: stack.url,
        token_endpoint: `${stack.url}/xyz/v1/auth/emm-token`,
      });
    } finally {
      await stack.stop();
    }
  });
});
