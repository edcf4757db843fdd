import { expect } from "chai";
import { Redis } from "ioredis";
import pg from "pg";
import { login, startStack, type Stack } from "../../support/stack.js";
import { newTrader, type TestTrader } from "../../support/traders.js";
import { bearerCalls, callsOf, openCalls, resultOf } from "../calls.js";
import { askToken, newClient, operate, type ClientCredentials } from "../surface-b/client.js";

/** Returns all rows of Postgres as text. */
async function postgresText(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "select quote_ident(tablename) as name from pg_tables where schemaname = 'public'",
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
      texts.push(...rows.map(({ row }) => row));
    }
    return texts.join("\n");
  } finally {
    await client.end();
  }
}

/** Returns the value of a key of Redis as text. `DUMP` would be shorter to write, but its result is compressed. */
async function valueOf(client: Redis, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case "string":
      return client.get(key);
    case "hash":
      return client.hgetall(key);
    case "list":
      return client.lrange(key, 0, -1);
    case "set":
      return client.smembers(key);
    case "zset":
      return client.zrange(key, 0, -1);
    case "stream":
      return client.xrange(key, "-", "+");
    default:
      // The key has expired since it was listed.
      return undefined;
  }
}

/** Returns all keys and values of Redis as text. */
async function redisText(url: string): Promise<string> {
  const client = new Redis(url);
  try {
    const texts: string[] = [];
    for (const key of await client.keys("*")) texts.push(key, JSON.stringify([await valueOf(client, key)]));
    return texts.join("\n");
  } finally {
    client.disconnect();
  }
}

describe("secrets", function () {
  this.timeout(60_000);
  const password = "canary password 4711";
  let stack: Stack;
  let trader: TestTrader;
  let session: string;
  let client: ClientCredentials;

  before(async () => {
    stack = await startStack();
    trader = await newTrader(stack);
    const credentials = { email: "canary@example.com", password };
    await openCalls(stack.url)("POST /v3/session/register", credentials);
    await openCalls(stack.url)("POST /v3/session", { ...credentials, password: `${password} wrong` });
    session = await login(stack.url, trader.account);
    client = await newClient(stack, trader);
  });
  after(() => stack.stop());

  it("cannot be read in Postgres or Redis: passwords, client secrets, tokens, tickets", async () => {
    const token = (await askToken(stack.url, client)).body as { readonly access_token: string };
    const rotated = await operate(stack, `POST /emm-clients/${client.clientId}/rotate`);
    const ticket = await bearerCalls(stack.url, session)("POST /v3/ws/tickets", {});
    const signedTicket = await callsOf(stack.url, trader.trading)("POST /v3/ws/tickets", {});
    const secrets: readonly (readonly [string, unknown])[] = [
      ["the password", password],
      ["the client secret", client.clientSecret],
      ["the rotated client secret", (rotated.body as { readonly clientSecret: string }).clientSecret],
      ["the service token", token.access_token.split(".")[2]],
      ["the web token", session.split(".")[2]],
      ["the ticket", ticket.json["ticket"]],
      ["the ticket of a key", signedTicket.json["ticket"]],
    ];
    const kept = `${await postgresText(stack.databaseUrl)}\n${await redisText(stack.redisUrl)}`;
    expect(kept).to.include("canary@example.com").and.include(client.clientId);
    for (const [what, secret] of secrets) {
      expect(secret, what).to.be.a("string").that.has.length.above(15);
      expect(kept.includes(String(secret)), what).to.equal(false);
    }
  });

  it("have no effect in a URL or a cookie", async () => {
    const { access_token: token } = (await askToken(stack.url, { ...client, ...(await rotatedSecret()) }))
      .body as {
      readonly access_token: string;
    };
    const emm = `/${stack.prefix}/v2/emm/ticks`;
    for (const name of ["token", "access_token", "authorization", "ticket"]) {
      const web = await openCalls(stack.url)(`GET /v3/session?${name}=${session}`);
      expect(resultOf(web), name).to.equal("401 UNAUTHENTICATED");
      expect(resultOf(await openCalls(stack.url)(`GET ${emm}?${name}=${token}`)), name).to.equal(
        "401 UNAUTHENTICATED",
      );
    }
    for (const [path, secret] of [
      ["/v3/session", session],
      [emm, token],
    ]) {
      const answer = await fetch(`${stack.url}${path ?? ""}`, {
        headers: { Cookie: `token=${secret ?? ""}; session=${secret ?? ""}; access_token=${secret ?? ""}` },
      });
      expect(answer.status).to.equal(401);
    }
  });

  async function rotatedSecret(): Promise<ClientCredentials> {
    return (await operate(stack, `POST /emm-clients/${client.clientId}/rotate`)).body as ClientCredentials;
  }
});
