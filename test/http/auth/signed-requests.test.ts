import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { send, signed, type Answer, type Raw } from "../requests.js";
import { BRAND, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";

describe("signed requests", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;

  before(async () => {
    stack = await startStack();
    trader = await newTrader(stack);
  });
  after(() => stack.stop());

  const LIMITS: Raw = { target: "/v3/limits" };

  async function expectRefusal(raw: Raw, status: number, code: string, message: RegExp): Promise<Answer> {
    const answer = await send(stack.url, raw);
    expect(`${answer.status} ${String(answer.json["code"])}`).to.equal(`${status} ${code}`);
    expect(answer.json["message"]).to.match(message);
    expect(answer.headers.get("x-request-id")).to.match(/^[0-9a-f-]{36}$/);
    return answer;
  }

  /** Returns the signed request with one header changed. */
  function withHeader(name: string, change: (value: string) => string): Raw {
    const raw = signed(trader.trading, LIMITS);
    const headers = raw.headers as Record<string, string>;
    return { ...raw, headers: { ...headers, [name]: change(headers[name] ?? "") } };
  }

  function without(name: string): Raw {
    const raw = signed(trader.trading, LIMITS);
    const kept = Object.entries(raw.headers ?? {}).filter(([header]) => header !== name);
    return { ...raw, headers: kept as [string, string][] };
  }

  it("are answered, with the limits of contract section 5.8", async () => {
    const answer = await send(stack.url, signed(trader.trading, LIMITS));
    expect(answer.status).to.equal(200);
    expect(answer.json["maxWatchedMarkets"]).to.equal(2048);
    expect(answer.json["place"]).to.deep.equal({ capacity: 256, refillPerSec: 8, remaining: 256 });
  });

  describe("get 401 with the name of the failed check when", () => {
    for (const name of [`${BRAND}-Key-Id`, `${BRAND}-Timestamp`, `${BRAND}-Signature`]) {
      it(`${name} is missing`, () =>
        expectRefusal(
          without(name),
          401,
          "SIGNATURE_REJECTED",
          new RegExp(`^missing header: ${name.toLowerCase()}$`),
        ));
      it(`${name} is given twice`, async () => {
        const raw = signed(trader.trading, LIMITS);
        const headers = Object.entries(raw.headers ?? {}) as [string, string][];
        const twice = headers.flatMap((pair) => (pair[0] === name ? [pair, pair] : [pair]));
        await expectRefusal({ ...raw, headers: twice }, 401, "SIGNATURE_REJECTED", /more than once/);
      });
    }
    it("the key id is not a uuid", () =>
      expectRefusal(
        withHeader(`${BRAND}-Key-Id`, () => "me"),
        401,
        "SIGNATURE_REJECTED",
        /^unknown key: .* is not a uuid/,
      ));
    for (const timestamp of [
      "1e3",
      "0x1",
      "+1790000000000",
      "01790000000000",
      "1790000000000.0",
      " ",
      "-1",
    ]) {
      it(`the timestamp is ${JSON.stringify(timestamp)}`, () =>
        expectRefusal(
          withHeader(`${BRAND}-Timestamp`, () => timestamp),
          401,
          "SIGNATURE_REJECTED",
          /timestamp/,
        ));
    }
    it("the timestamp is more than 30 s old", () =>
      expectRefusal(
        signed(trader.trading, LIMITS, Date.now() - 30_100),
        401,
        "SIGNATURE_REJECTED",
        /^timestamp too old: \w+-timestamp /i,
      ));
    it("the timestamp is more than 30 s ahead", () =>
      expectRefusal(
        signed(trader.trading, LIMITS, Date.now() + 31_000),
        401,
        "SIGNATURE_REJECTED",
        /^timestamp too far in the future: \w+-timestamp /i,
      ));
    it("not when the timestamp is 29 s off, in either direction", async () => {
      expect((await send(stack.url, signed(trader.trading, LIMITS, Date.now() - 29_000))).status).to.equal(
        200,
      );
      expect((await send(stack.url, signed(trader.trading, LIMITS, Date.now() + 29_000))).status).to.equal(
        200,
      );
    });
    it("the key is unknown", () =>
      expectRefusal(
        withHeader(`${BRAND}-Key-Id`, () => randomUUID()),
        401,
        "SIGNATURE_REJECTED",
        /^unknown key: /,
      ));
    it("the signature is not padded", () =>
      expectRefusal(
        withHeader(`${BRAND}-Signature`, (value) => value.replace(/=+$/, "")),
        401,
        "SIGNATURE_REJECTED",
        /^invalid signature: .* padded base64/,
      ));
    it("the signature is in the URL alphabet", () =>
      expectRefusal(
        withHeader(`${BRAND}-Signature`, (value) => `-_${value.slice(2)}`),
        401,
        "SIGNATURE_REJECTED",
        /^invalid signature: .* padded base64/,
      ));
    it("the query is changed", () =>
      expectRefusal(
        { ...signed(trader.trading, LIMITS), target: "/v3/limits?a=1" },
        401,
        "SIGNATURE_REJECTED",
        /^invalid signature: .* does not verify/,
      ));
    it("not when the query is empty, which signs like no query", async () => {
      const answer = await send(stack.url, { ...signed(trader.trading, LIMITS), target: "/v3/limits?" });
      expect(answer.status).to.equal(200);
    });
    it("the method is changed", () =>
      expectRefusal(
        { ...signed(trader.trading, { target: "/v3/orders" }), method: "DELETE" },
        401,
        "SIGNATURE_REJECTED",
        /^invalid signature: .* does not verify/,
      ));
    it("the body is changed", () =>
      expectRefusal(
        { ...signed(trader.trading, { method: "POST", target: "/v3/echo", body: "{}" }), body: "{ }" },
        401,
        "SIGNATURE_REJECTED",
        /^invalid signature: .* does not verify/,
      ));
    it("the headers are those of another brand", async () => {
      const other = { ...trader.trading, brand: "Other" };
      await expectRefusal(signed(other, LIMITS), 401, "SIGNATURE_REJECTED", /^missing header: .*-key-id$/);
    });
  });

  it("are checked in order: the timestamp before the key, the key before the signature", async () => {
    const raw = withHeader(`${BRAND}-Timestamp`, () => "x");
    const headers: Record<string, string> = { ...(raw.headers as Record<string, string>) };
    headers[`${BRAND}-Key-Id`] = randomUUID();
    headers[`${BRAND}-Signature`] = "?";
    await expectRefusal({ ...raw, headers }, 401, "SIGNATURE_REJECTED", /timestamp/);
    headers[`${BRAND}-Timestamp`] = String(Date.now());
    await expectRefusal({ ...raw, headers }, 401, "SIGNATURE_REJECTED", /^unknown key/);
    headers[`${BRAND}-Key-Id`] = trader.account.tradingKey.keyId;
    await expectRefusal({ ...raw, headers }, 401, "SIGNATURE_REJECTED", /^invalid signature: /);
  });

  it("are checked for their scope after the signature and before the body", async () => {
    const order = { method: "POST", target: "/v3/orders", body: "not json" };
    await expectRefusal(
      signed(trader.management, order),
      403,
      "SIGNATURE_REJECTED",
      /^the scope management does not allow this route/,
    );
    await expectRefusal(signed(trader.trading, order), 400, "INVALID_BODY", /JSON/);
  });

  it("may have the key id in either letter case", async () => {
    const answer = await send(
      stack.url,
      withHeader(`${BRAND}-Key-Id`, (value) => value.toUpperCase()),
    );
    expect(answer.status).to.equal(200);
  });

  describe("the echo route", () => {
    it("answers the body byte for byte", async () => {
      const body = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      const raw = signed(trader.trading, { method: "POST", target: "/v3/echo?b=2&a=%7e", body });
      const response = await fetch(`${stack.url}/v3/echo?b=2&a=%7e`, {
        method: "POST",
        headers: raw.headers as Record<string, string>,
        body,
      });
      expect(response.status).to.equal(400);
      const plain = signed(trader.trading, { method: "POST", target: "/v3/echo", body });
      const echoed = await fetch(`${stack.url}/v3/echo`, {
        method: "POST",
        headers: plain.headers as Record<string, string>,
        body,
      });
      expect(Buffer.from(await echoed.arrayBuffer()).equals(body)).to.equal(true);
    });

    it("shows the canonical text on request, with its 200 and with its 401", async () => {
      const raw = signed(trader.trading, { method: "POST", target: "/v3/echo", body: "{}" });
      const headers = { ...(raw.headers as Record<string, string>), [`${BRAND}-Debug`]: "canonical" };
      const good = await send(stack.url, { ...raw, headers });
      const text = Buffer.from(
        good.headers.get(`${BRAND.toLowerCase()}-canonical`) ?? "",
        "base64",
      ).toString();
      expect(text.split("\n").slice(0, 1).concat(text.split("\n").slice(2, 5))).to.deep.equal([
        `${BRAND.toUpperCase()}-V3`,
        "POST",
        "/v3/echo",
        "",
      ]);
      const bad = await send(stack.url, { ...raw, headers, body: "{ }" });
      expect(bad.status).to.equal(401);
      expect(bad.headers.has(`${BRAND.toLowerCase()}-canonical`)).to.equal(true);
      const silent = await send(stack.url, raw);
      expect(silent.headers.has(`${BRAND.toLowerCase()}-canonical`)).to.equal(false);
    });
  });

  describe("of an account", () => {
    const admin = async (path: string, body: object): Promise<void> => {
      const response = await fetch(`${stack.url}/admin/v1/traders/${path}`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${await stack.operatorToken()}`,
          "Content-Type": "application/json",
        },
        body: JSON.stringify(body),
      });
      expect(response.status).to.equal(200);
    };

    it("that is locked get 423 on every route; of an excluded one, reads and cancels work", async () => {
      const other = await newTrader(stack);
      const { traderId } = other.account;
      await admin(`${traderId}/state`, { state: "LOCKED", reason: "test" });
      await expectRefusal(signed(other.trading, LIMITS), 423, "ACCOUNT_LOCKED", /locked/);
      await expectRefusal(
        signed(other.trading, { method: "DELETE", target: "/v3/orders" }),
        423,
        "ACCOUNT_LOCKED",
        /./,
      );
      const order = { method: "POST", target: "/v3/orders", body: "{}" };
      for (const [state, code] of [
        ["SELF_EXCLUDED", "SELF_EXCLUDED"],
        ["EXCLUDED", "ACCOUNT_LOCKED"],
      ] as const) {
        await admin(`${traderId}/state`, { state, reason: "test" });
        await expectRefusal(signed(other.trading, order), 423, code, /locked|excluded/);
        expect((await send(stack.url, signed(other.trading, LIMITS))).status).to.equal(200);
        const cancel = await send(
          stack.url,
          signed(other.trading, { method: "DELETE", target: "/v3/orders" }),
        );
        expect(`${cancel.status} ${cancel.text}`).to.equal('200 {"canceled":0}');
      }
      await admin(`${traderId}/state`, { state: "ACTIVE", reason: "test" });
      expect((await send(stack.url, signed(other.trading, LIMITS))).status).to.equal(200);
    });

    it("without KYC place nothing, and the order is not read", async () => {
      const other = await newTrader(stack);
      await admin(`${other.account.traderId}/kyc`, { status: "REJECTED" });
      const order = { method: "POST", target: "/v3/orders", body: "{}" };
      await expectRefusal(signed(other.trading, order), 403, "KYC_REQUIRED", /identity/);
    });

    it("with a failed device location get 451 on a placement and on a read, never on a cancel", async () => {
      const other = await newTrader(stack);
      const { email, password } = other.account;
      const login = await fetch(`${stack.url}/v3/session`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ email, password }),
      });
      const { token } = (await login.json()) as { token: string };
      await fetch(`${stack.url}/v3/session/location`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
        body: '{"failed":true}',
      });
      await expectRefusal(signed(other.trading, LIMITS), 451, "GEOLOCATION_FAILED", /location/);
      const cancel = await send(stack.url, signed(other.trading, { method: "DELETE", target: "/v3/orders" }));
      expect(cancel.status).to.equal(200);
    });
  });

  it("are refused at once after their key is revoked", async () => {
    const other = await newTrader(stack);
    expect((await send(stack.url, signed(other.trading, LIMITS))).status).to.equal(200);
    const target = `/v3/keys/${other.account.tradingKey.keyId}`;
    const revoked = await send(stack.url, signed(other.management, { method: "DELETE", target }));
    expect(`${revoked.status}${revoked.text}`).to.equal("204");
    await expectRefusal(signed(other.trading, LIMITS), 401, "SIGNATURE_REJECTED", /^unknown key: /);
  });

  it("with the clientId of an order get its acceptance for the same order, and a refusal for another", async () => {
    const { outcomes } = await newMarket(stack);
    const clientId = randomUUID();
    const order = { outcomeId: outcomes[0], price: "0.500", qty: 10, tif: "GTC", clientId };
    const place = (body: object, atMs = Date.now()) =>
      send(
        stack.url,
        signed(trader.trading, { method: "POST", target: "/v3/orders", body: JSON.stringify(body) }, atMs),
      );
    const first = await place(order);
    expect(first.status).to.equal(201);
    const again = await place(order, Date.now() + 1);
    expect(again.status).to.equal(200);
    expect(again.json).to.deep.equal(first.json);
    const other = await place({ ...order, qty: 11 });
    expect(`${other.status} ${String(other.json["code"])}`).to.equal("409 CLIENT_ID_REUSED");
  });
});

describe("signed requests under another brand", function () {
  this.timeout(60_000);
  let stack: Stack;
  before(async () => {
    stack = await startStack({
      signatureBrand: "Other",
      exchangeEnv: "production",
      operatorsNeedTotp: false,
    });
  });
  after(() => stack.stop());

  it("use its headers and its scheme, and production shows no canonical text", async () => {
    const trader = await newTrader(stack);
    const raw = signed(trader.trading, { method: "POST", target: "/v3/echo", body: "{}" });
    const headers = { ...(raw.headers as Record<string, string>), "Other-Debug": "canonical" };
    const answer = await send(stack.url, { ...raw, headers });
    expect(answer.status).to.equal(200);
    expect(answer.headers.has("other-canonical")).to.equal(false);
  });
});
