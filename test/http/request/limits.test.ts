import { createHash, randomUUID } from "node:crypto";
import { expect } from "chai";
import { connect, disconnect } from "../../../db/database.js";
import { findKey } from "../../../db/queries/accounts/keys.js";
import { makeKey } from "../keys.js";
import { KEY_BUCKETS, sharedThrottle, type Bucket } from "../../../http/request/throttle.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { TokenBuckets, type TokenBucket } from "../../../stream/services/token-buckets.js";
import { MAX_RUNNING, RUNNING } from "../../../http/request/metering.js";
import { login as signIn, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestKey, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { bearerCalls, callsOf, openCalls, resultOf, type Calls } from "../calls.js";
import type { Answer } from "../requests.js";

const pause = (seconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

/** Returns the wallet of a trading key, which no answer names. */
async function walletOf(stack: Stack, { trading }: TestTrader): Promise<string> {
  const db = connect(stack.databaseUrl);
  const found = await findKey(db, trading.key.keyId);
  await disconnect(db);
  return found?.key.subaccountId ?? "";
}

/** Waits exactly as long as a refusal asks, before the request is sent to another gateway. */
async function waitedOut(refused: Answer, again: () => Promise<Answer>): Promise<string> {
  expect(resultOf(refused)).to.equal("429 RATE_LIMIT_EXCEEDED");
  expect(refused.headers.get("retry-after")).to.match(/^[1-9]\d?$/);
  await pause(Number(refused.headers.get("retry-after")));
  return resultOf(await again());
}

describe("a client that waits for Retry-After is served at another gateway", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let services: ServiceConnection;
  let buckets: TokenBuckets;
  /** Calls with the trading key and with the management key, at either gateway. */
  let trading: readonly [Calls, Calls];
  let managing: readonly [Calls, Calls];

  before(async () => {
    stack = await startStack({ metered: true, gateways: 2 });
    trader = await newTrader(stack);
    services = new ServiceConnection({ url: stack.redisUrl });
    buckets = new TokenBuckets(services);
    const [one = "", other = ""] = stack.urls;
    trading = [callsOf(one, trader.trading), callsOf(other, trader.trading)];
    managing = [callsOf(one, trader.management), callsOf(other, trader.management)];
  });
  after(async () => {
    services.close();
    await stack.stop();
  });

  const drain = async (subject: string, bucket: TokenBucket, left = 0): Promise<void> => {
    const { buckets: levels } = await buckets.spend(subject, [{ bucket, cost: 0 }]);
    await buckets.spend(subject, [{ bucket, cost: Math.max(0, (levels[0]?.remaining ?? 0) - left) }]);
  };

  const REQUESTS: readonly (readonly [Bucket, string, ((outcomeId: string) => object)?])[] = [
    ["read", "GET /v3/types/sports"],
    ["place", "POST /v3/orders", (outcomeId) => ({ outcomeId, price: "0.010", qty: 1, tif: "GTC" })],
    [
      "cancel",
      "DELETE /v3/orders/batch",
      () => ({ orderIds: Array.from({ length: 16 }, () => randomUUID()) }),
    ],
    ["account", "GET /v3/account/orders"],
    ["history", "GET /v3/history/markets?limit=1"],
  ];
  for (const [bucket, line, body] of REQUESTS) {
    it(`after emptying the bucket ${bucket}`, async () => {
      const { outcomes } = await newMarket(stack);
      const sent = body?.(outcomes[0]);
      await sharedThrottle(buckets).charge(
        await walletOf(stack, trader),
        bucket,
        KEY_BUCKETS[bucket].capacity,
      );
      const refused = await trading[0](line, sent);
      expect(refused.headers.get("x-ratelimit-bucket")).to.equal(bucket);
      expect(await waitedOut(refused, () => trading[1](line, sent))).to.match(/^(200|201|404)$/);
    });
  }

  it("after a list whose rows leave a debt", async () => {
    const debtor = await newTrader(stack);
    const calls = callsOf(stack.url, debtor.trading);
    const { outcomes } = await newMarket(stack);
    const order = { outcomeId: outcomes[0], price: "0.010", qty: 1, tif: "IOC" };
    const orders = Array.from({ length: 200 }, () => order);
    expect((await calls("POST /v3/orders/batch", { orders })).status).to.equal(201);
    const ended = "GET /v3/orders?status=REJECTED";
    await until(
      () => calls(ended),
      ({ json }) => (json["items"] as unknown[]).length === 200,
    );
    const payer = await walletOf(stack, debtor);
    const history = { name: "history", capacity: 512, refill: 4, periodMs: 1_000 };
    await drain(`payer:${payer}`, history, 4);
    const served = await calls(ended);
    expect(resultOf(served), "the bucket holds the base cost").to.equal("200");
    expect(served.headers.get("x-ratelimit-cost")).to.equal("6");
    expect(Number(served.headers.get("x-ratelimit-remaining"))).to.be.within(-2, 2);
    await drain(`payer:${payer}`, history, 0);
    await sharedThrottle(buckets).settle(payer, "history", 2, RUNNING);
    expect(await waitedOut(await calls(ended), () => calls(ended))).to.equal("200");
  });

  it("after a list that fails keeps its base, and after its answer runs no more", async () => {
    const other = await newTrader(stack);
    const calls = callsOf(stack.url, other.trading);
    const failed = await calls(`GET /v3/portfolio/fills?outcome=${randomUUID()}`);
    expect(resultOf(failed)).to.equal("400 INVALID_QUERY");
    expect(failed.headers.get("x-ratelimit-cost")).to.equal("8");
    const subject = `payer:${await walletOf(stack, other)}`;
    const list = () => calls("GET /v3/portfolio/fills?limit=1");
    for (let sent = 0; sent < 2 * MAX_RUNNING; sent += 1) {
      expect(resultOf(await list())).to.equal("200");
      await calls(`GET /v3/portfolio/fills?outcome=${randomUUID()}`);
    }
    await buckets.spend(subject, [{ bucket: RUNNING, cost: MAX_RUNNING }]);
    const refused = await list();
    expect(resultOf(refused)).to.equal("429 RATE_LIMIT_EXCEEDED");
    expect(refused.json["message"]).to.match(/^4 requests of this kind are running/);
    expect(refused.headers.get("x-ratelimit-cost")).to.equal("0");
    await buckets.spend(subject, [{ bucket: RUNNING, cost: -1 }]);
    expect(resultOf(await list())).to.equal("200");
  });

  /** Creates a key with `mint`, which sends its public half. */
  async function minted(mint: (half: object) => Promise<Answer>): Promise<TestKey> {
    const { publicKey, algorithm, privateKey } = makeKey();
    const answer = await mint({ name: "next", publicKey, algorithm });
    expect(answer.status, answer.text).to.equal(201);
    return { key: { keyId: String(answer.json["keyId"]), algorithm, privateKey }, brand: stack.brand };
  }

  it("after the creation of a read key, which has buckets of its own", async () => {
    const owner = await newTrader(stack);
    const manage = callsOf(stack.url, owner.management);
    const keys = `/v3/account/subaccounts/${owner.trading.key.keyId}/keys`;
    const readers = [
      await minted((half) => manage(`POST ${keys}`, { ...half, scope: "trading::read" })),
      await minted((half) => manage("POST /v3/keys", half)),
    ];
    const payers = [await walletOf(stack, owner), owner.account.traderId];
    for (const payer of payers) await sharedThrottle(buckets).settle(payer, "read", 128, RUNNING);
    const read = (key: TestKey): Promise<Answer> => callsOf(stack.url, key)("GET /v3/types/sports");
    for (const key of [owner.trading, owner.management])
      expect(resultOf(await read(key))).to.equal("429 RATE_LIMIT_EXCEEDED");
    for (const key of readers) {
      const served = await read(key);
      expect(resultOf(served)).to.equal("200");
      expect(served.headers.get("x-ratelimit-remaining")).to.equal(String(KEY_BUCKETS.read.capacity - 1));
    }
  });

  it("after the rotation of its key, which brings no tokens", async () => {
    const rotated = await newTrader(stack);
    const { keyId } = rotated.trading.key;
    await sharedThrottle(buckets).charge(await walletOf(stack, rotated), "place", 256);
    await sharedThrottle(buckets).charge(rotated.account.traderId, "account", 50);
    const manage = callsOf(stack.url, rotated.management);
    expect(resultOf(await manage(`DELETE /v3/keys/${keyId}`))).to.equal("204");
    const next = await minted((half) =>
      manage(`POST /v3/account/subaccounts/${keyId}/keys`, { ...half, scope: "trading" }),
    );
    const remaining = async (calls: Calls, bucket: Bucket): Promise<number | undefined> =>
      ((await calls("GET /v3/limits")).json as Record<string, { remaining: number }>)[bucket]?.remaining;
    expect(await remaining(callsOf(stack.url, next), "place")).to.be.lessThan(128);
    const session = bearerCalls(stack.url, await signIn(stack.url, rotated.account));
    expect(
      await remaining(session, "account"),
      "the session pays from the buckets of its trader",
    ).to.be.below(64);
    expect(resultOf(await session(`DELETE /v3/keys/${rotated.management.key.keyId}`))).to.equal("204");
    const manager = await minted((half) => session("POST /v3/keys", half));
    expect(await remaining(callsOf(stack.url, manager), "account"), "and so does the next key").to.be.below(
      64,
    );
  });

  it("after 5 transfers in a second, and after 60 in a minute", async () => {
    const { keyId } = trader.trading.key;
    const transfer = (calls: Calls, clientTransferId: string): Promise<Answer> => {
      const body = { direction: "defund", amount: "0.01", clientTransferId };
      return calls(`POST /v3/account/subaccounts/${keyId}/transfer`, body);
    };
    const aMinute = { name: "transfers a minute", capacity: 60, refill: 60, periodMs: 60_000 };
    // Three transfers of this minute are left, fewer than the five of a second.
    await pause(1);
    await drain(`payer:${trader.account.traderId}`, aMinute, 3);
    const began = Date.now();
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) => transfer(managing[i % 2 === 0 ? 0 : 1], `t${i}`)),
    );
    const made = answers.filter(({ status }) => status === 202).length;
    expect(made).to.be.within(3, 4 + Math.floor((Date.now() - began) / 1_000));
    const refused = answers.find(({ status }) => status === 429);
    if (refused === undefined) throw new Error("every transfer was made");
    expect(await waitedOut(refused, () => transfer(managing[1], "later"))).to.equal("202");
  });

  const login = (gateway: number, email: string, password: string): Promise<Answer> =>
    openCalls(stack.urls[gateway] ?? "")("POST /v3/session", { email, password });

  it("after ten failed logins of an account from an address, at any gateway", async () => {
    const { email, password } = trader.account;
    const answers: string[] = [];
    for (let i = 0; i < 12; i += 1) answers.push(resultOf(await login(i % 2, email, "guess guess")));
    expect(answers.slice(0, 10)).to.deep.equal(Array(10).fill("401 INVALID_CREDENTIALS"));
    expect(answers[11]).to.equal("429 RATE_LIMIT_EXCEEDED");
    const refused = await login(0, email, password);
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 30);
    // One more attempt takes half a minute to refill, so the test moves the time of the bucket back.
    const account = createHash("sha256").update(email).digest("base64url");
    const failures = { name: "failures", capacity: 10, refill: 2, periodMs: 60_000 };
    await buckets.spend(`web-account:${account}:127.0.0.1`, [{ bucket: failures, cost: -1 }]);
    // A gateway that has refused a cost asks for the level again a second later.
    await pause(1.1);
    expect(resultOf(await login(1, email, password))).to.equal("200");
    // A login that succeeds gets its token back.
    expect(resultOf(await login(0, email, password))).to.equal("200");
  });

  it("after too many logins of an address", async () => {
    await drain("web-address:127.0.0.1", { name: "attempts", capacity: 300, refill: 5, periodMs: 1_000 });
    const { email, password } = trader.account;
    const refused = await login(0, email, password);
    expect(await waitedOut(refused, () => login(1, email, password))).to.equal("200");
  });

  it("after too many registrations of an address", async () => {
    const register = (gateway: number): Promise<Answer> => {
      const body = { email: `${randomUUID()}@example.com`, password: "a long password" };
      return openCalls(stack.urls[gateway] ?? "")("POST /v3/session/register", body);
    };
    expect(resultOf(await register(0))).to.equal("201");
    const registrations = { name: "registrations", capacity: 100, refill: 10, periodMs: 60_000 };
    await drain("web-address:127.0.0.1", registrations);
    for (const gateway of [0, 1]) {
      const refused = await register(gateway);
      expect(resultOf(refused)).to.equal("429 RATE_LIMIT_EXCEEDED");
      expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 6);
    }
  });
});

describe("the bounds of requests", function () {
  this.timeout(60_000);
  let stack: Stack;
  let calls: Readonly<Record<"trading" | "managing", Calls>>;
  let path: string;
  let outcomeId: string;

  before(async () => {
    stack = await startStack();
    const trader = await newTrader(stack);
    calls = { trading: callsOf(stack.url, trader.trading), managing: callsOf(stack.url, trader.management) };
    path = `/v3/account/subaccounts/${trader.trading.key.keyId}`;
    outcomeId = (await newMarket(stack)).outcomes[0];
  });
  after(() => stack.stop());

  const key = (): object => {
    const { publicKey, algorithm } = makeKey();
    return { publicKey, algorithm };
  };
  const heartbeat = (timeoutMs: number) => () => calls.trading("POST /v3/safety/heartbeat", { timeoutMs });
  const order = (more: object) => () =>
    calls.trading("POST /v3/orders", { outcomeId, price: "0.010", qty: 1, tif: "GTC", ...more });
  const transfer = (more: object) => () =>
    calls.managing(`POST ${path}/transfer`, { direction: "defund", amount: "0.00001", ...more });
  const label = (text: string) => () => calls.managing(`PATCH ${path}`, { label: text });
  const DAY_MS = 86_400_000;

  const BOUNDS: readonly (readonly [string, () => Promise<Answer>, string])[] = [
    [
      "the largest quantity, for which the money is missing",
      order({ qty: 2 ** 31 - 1 }),
      "422 INSUFFICIENT_BALANCE",
    ],
    ["a dead-man switch of 5 s", heartbeat(5_000), "200"],
    ["a shorter dead-man switch", heartbeat(4_999), "400 INVALID_BODY"],
    ["a dead-man switch of 5 minutes", heartbeat(300_000), "200"],
    ["a longer dead-man switch", heartbeat(300_001), "400 INVALID_BODY"],
    ["no dead-man switch", heartbeat(0), "200"],
    ["a ttl of 1 s", order({ tif: "GTT", ttl: 1_000 }), "201"],
    ["a shorter ttl", order({ tif: "GTT", ttl: 999 }), "400 TTL_OUT_OF_RANGE"],
    ["a ttl of 30 days", order({ tif: "GTT", ttl: 30 * DAY_MS }), "201"],
    ["a longer ttl", order({ tif: "GTT", ttl: 30 * DAY_MS + 1 }), "400 TTL_OUT_OF_RANGE"],
    ["GTT without a ttl", order({ tif: "GTT" }), "400 TTL_REQUIRED"],
    ["PO with a ttl", order({ tif: "PO", ttl: 1_000 }), "201"],
    ["GTC with a ttl", order({ ttl: 1_000 }), "400 TTL_NOT_ALLOWED"],
    ["a quantity beyond int32", order({ qty: 2 ** 31 }), "400 QTY_OUT_OF_RANGE"],
    ["no quantity", order({ qty: 0 }), "400 QTY_OUT_OF_RANGE"],
    ["a price off the grid", order({ price: "0.051" }), "400 INVALID_PRICE"],
    ["a price of 1", order({ price: "1.000" }), "400 INVALID_PRICE"],
    ["a label of 64 characters", label("l".repeat(64)), "200"],
    ["a label of 65", label("l".repeat(65)), "400 INVALID_BODY"],
    ["a clientTransferId of 64 characters", transfer({ clientTransferId: "c".repeat(64) }), "202"],
    ["a clientTransferId of 65", transfer({ clientTransferId: "c".repeat(65) }), "400 INVALID_BODY"],
    ["an amount of six decimals", transfer({ amount: "0.000001" }), "400 INVALID_BODY"],
    ["a page of 5000", () => calls.trading("GET /v3/portfolio/fills?limit=5000"), "200"],
    ["a page of 5001", () => calls.trading("GET /v3/portfolio/fills?limit=5001"), "400 INVALID_REQUEST"],
    ["an empty page", () => calls.trading("GET /v3/orders?limit=0"), "400 INVALID_REQUEST"],
    [
      "a cancel of 257",
      () =>
        calls.trading("DELETE /v3/orders/batch", {
          orderIds: Array.from({ length: 257 }, () => randomUUID()),
        }),
      "400 BATCH_TOO_LARGE",
    ],
  ];
  for (const [what, ask, expected] of BOUNDS) {
    it(`${what}: ${expected}`, async () => {
      expect(resultOf(await ask())).to.equal(expected);
    });
  }

  it("a preview of at most 1,000 orders, and a partial one when there are more", async () => {
    const { outcomes } = await newMarket(stack);
    for (const count of [256, 256, 256, 233]) {
      const maker = callsOf(stack.url, (await newTrader(stack)).trading);
      const one = { outcomeId: outcomes[1], price: "0.500", qty: 1, tif: "PO" };
      const orders = Array.from({ length: count }, () => one);
      expect(resultOf(await maker("POST /v3/orders/batch", { orders }))).to.equal("201");
    }
    const preview = async (qty: number) => {
      const sent = { outcomeId: outcomes[0], price: "0.500", qty, tif: "GTC" };
      const { json } = await calls.trading("POST /v3/orders/preview", sent);
      const { fills, rests, partial } = json as { fills: { qty: number }[]; rests: number; partial?: true };
      return { filled: fills.reduce((sum, fill) => sum + fill.qty, 0), rests, partial };
    };
    const most = await until(
      () => preview(2_000),
      ({ partial }) => partial === true,
    );
    expect(most).to.deep.equal({ filled: 1_000, rests: 0, partial: true });
    expect(await preview(999)).to.deep.equal({ filled: 999, rests: 0, partial: undefined });
  });

  for (const [scope, line] of [
    ["management::read", "POST /v3/keys"],
    ["trading::read", "POST /keys"],
  ] as const) {
    it(`128 live keys of scope ${scope}, and not one more`, async () => {
      const named = scope === "trading::read" ? { name: "r", scope } : { name: "r" };
      const target = line.replace(" /keys", ` ${path}/keys`);
      const mint = (): Promise<Answer> => calls.managing(target, { ...named, ...key() });
      const answers: string[] = [];
      for (let i = 0; i < 129; i += 1) answers.push(resultOf(await mint()));
      expect(answers.slice(0, 128)).to.deep.equal(Array(128).fill("201"));
      expect(answers[128]).to.equal("400 INVALID_REQUEST");
    });
  }
});
