import { expect } from "chai";
import { Redis } from "ioredis";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { type Spending, TokenBuckets } from "../../../stream/services/token-buckets.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";

const HOUR_MS = 3_600_000;
/** Gains one token an hour, so that the level does not change while a test runs. */
const still = (capacity: number, name = "still") => ({ name, capacity, refill: 1, periodMs: HOUR_MS });
/** Gains one token in 100 ms. */
const slow = { name: "slow", capacity: 10, refill: 10, periodMs: 1_000 };

describe("token buckets", () => {
  let redis: FreshRedis;
  let admin: Redis;
  let connections: ServiceConnection[];
  let gateways: TokenBuckets[];
  let buckets: TokenBuckets;

  beforeEach(async () => {
    redis = await freshRedis();
    admin = new Redis(redis.url);
    connections = [0, 1].map(() => new ServiceConnection({ url: redis.url, prefix: redis.prefix }));
    gateways = connections.map((connection) => new TokenBuckets(connection));
    const [first] = gateways;
    if (first === undefined) throw new Error("no gateway");
    buckets = first;
  });

  afterEach(async () => {
    for (const connection of connections) connection.close();
    admin.disconnect();
    await redis.drop();
  });

  const spend = (...spendings: Spending[]) => buckets.spend("somebody", spendings);

  for (const limit of [1, 16, 128]) {
    it(`grant exactly ${limit} of 200 parallel requests, over two gateways`, async () => {
      const spending = [{ bucket: still(limit), cost: 1 }];
      const at = (i: number) => gateways[i % 2] ?? buckets;
      const requests = Array.from({ length: 200 }, (_, i) => at(i).spend("somebody", spending));
      const spent = await Promise.all(requests);
      expect(spent.filter((one) => one.granted)).to.have.length(limit);
      const left = spent.flatMap((one) => (one.granted ? [one.buckets[0]?.remaining] : []));
      expect(left.toSorted((a = 0, b = 0) => b - a)).to.deep.equal(
        Array.from({ length: limit }, (_, i) => limit - 1 - i),
      );
    });
  }

  it("take a cost that is owed below zero, down to minus the capacity, and refill from there", async () => {
    const owed = (cost: number) => spend({ bucket: still(10), cost, owed: true });
    const first = await owed(14);
    expect(first).to.deep.include({ granted: true });
    expect(first.buckets[0]?.remaining).to.equal(-4);
    const next = await spend({ bucket: still(10), cost: 1 });
    expect([next.granted, next.buckets[0]?.remaining]).to.deep.equal([false, -4]);
    expect(next.buckets[0]?.retryAfterMs).to.be.within(5 * HOUR_MS - 60_000, 5 * HOUR_MS);
    const read = await spend({ bucket: still(10), cost: 0 });
    expect([read.granted, read.buckets[0]?.remaining]).to.deep.equal([true, -4]);
    expect((await owed(100)).buckets[0]?.remaining).to.equal(-10);
    expect((await spend({ bucket: still(10), cost: -3 })).buckets[0]?.remaining).to.equal(-7);
    expect((await spend({ bucket: still(10), cost: -100 })).buckets[0]?.remaining).to.equal(10);
  });

  const serverUs = async (): Promise<number> => {
    const [seconds, micros] = await admin.time();
    return Number(seconds) * 1_000_000 + Number(micros);
  };

  it("return to the ms when the cost will be available, and have the tokens then", async () => {
    await spend({ bucket: slow, cost: 10 });
    for (const cost of [1, 2, 3]) {
      const [key = ""] = await admin.keys("*");
      const [level = 0, since = 0] = ((await admin.get(key)) ?? "").split(" ").map(Number);
      /** Time until the cost is available, in ms: a token has a million parts, and the bucket gains ten a us. */
      const missingMs = (us: number) =>
        Math.ceil((cost * 1_000_000 - level - (us - since) * 10) / 10 / 1_000);
      const before = await serverUs();
      const refused = await spend({ bucket: slow, cost });
      const after = await serverUs();
      expect(refused.granted).to.equal(false);
      const waitMs = refused.buckets[0]?.retryAfterMs ?? 0;
      expect(waitMs).to.be.within(missingMs(after), missingMs(before));
      await new Promise((resolve) => setTimeout(resolve, waitMs + 1));
      expect((await spend({ bucket: slow, cost })).granted, `after ${waitMs} ms`).to.equal(true);
    }
  });

  it("refill continuously, and never above their capacity", async () => {
    await spend({ bucket: slow, cost: 10 });
    const emptied = await serverUs();
    await new Promise((resolve) => setTimeout(resolve, 250));
    const early = await serverUs();
    const { remaining = -1 } = (await spend({ bucket: slow, cost: 0 })).buckets[0] ?? {};
    const late = await serverUs();
    expect(remaining).to.be.within(
      Math.floor((early - emptied) / 100_000),
      Math.floor((late - emptied) / 100_000) + 1,
    );
    await new Promise((resolve) => setTimeout(resolve, 850));
    expect((await spend({ bucket: slow, cost: 0 })).buckets[0]?.remaining).to.equal(10);
  });

  it("write nothing to the append-only file", async () => {
    const written = async (): Promise<number> =>
      Number(/aof_current_size:(\d+)/.exec(await admin.info("persistence"))?.[1]);
    expect(await admin.config("GET", "appendonly")).to.deep.equal(["appendonly", "yes"]);
    const before = await written();
    for (let i = 0; i < 50; i += 1) await spend({ bucket: still(100), cost: 1 });
    expect((await spend({ bucket: still(100), cost: 0 })).buckets[0]?.remaining).to.equal(50);
    // The commands of 50 spendings would add several thousand bytes.
    expect((await written()) - before).to.be.lessThan(1_000);
  });

  it("take from all buckets of a request or from none", async () => {
    const wide = still(100, "wide");
    const narrow = still(2, "narrow");
    const both = [
      { bucket: wide, cost: 10 },
      { bucket: narrow, cost: 1 },
    ];
    expect((await spend(...both)).granted).to.equal(true);
    expect((await spend(...both)).granted).to.equal(true);
    const refused = await spend(...both);
    expect(refused.granted).to.equal(false);
    expect(refused.buckets[0]).to.deep.equal({ remaining: 80, retryAfterMs: 0 });
    expect(refused.buckets[1]?.remaining).to.equal(0);
    expect(refused.buckets[1]?.retryAfterMs).to.be.within(HOUR_MS - 5_000, HOUR_MS);
    expect((await spend({ bucket: wide, cost: 0 })).buckets[0]?.remaining).to.equal(80);
  });

  it("take nothing at a cost of 0, and take back an overcharge up to the capacity", async () => {
    const bucket = still(20);
    expect((await spend({ bucket, cost: 0 })).buckets).to.deep.equal([{ remaining: 20, retryAfterMs: 0 }]);
    expect(await admin.dbsize()).to.equal(0);
    await spend({ bucket, cost: 15 });
    expect((await spend({ bucket, cost: -3 })).buckets[0]?.remaining).to.equal(8);
    expect((await spend({ bucket, cost: -100 })).buckets[0]?.remaining).to.equal(20);
    expect(await admin.dbsize()).to.equal(0);
  });

  it("refuse a cost that was lacking without the server, until tokens come back here or a second has passed", async () => {
    const at = (cost: number) => spend({ bucket: still(3), cost });
    await at(3);
    expect((await at(2)).granted).to.equal(false);
    await admin.flushdb();
    const refused = await at(3);
    expect([refused.granted, refused.buckets[0]?.remaining]).to.deep.equal([false, 0]);
    expect(refused.buckets[0]?.retryAfterMs).to.be.within(3 * HOUR_MS - 5_000, 3 * HOUR_MS);
    expect((await at(1)).granted, "a lower cost").to.equal(true);
    expect((await at(2)).granted).to.equal(false);
    await at(-1);
    expect((await at(2)).granted, "with a token back").to.equal(true);
    expect((await at(2)).granted).to.equal(false);
    await admin.flushdb();
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await at(2)).granted, "a second later").to.equal(true);
  });

  it("are separate for each subject, and in one cluster slot for each", async () => {
    const bucket = still(1);
    expect((await buckets.spend("a", [{ bucket, cost: 1 }])).granted).to.equal(true);
    expect((await buckets.spend("b", [{ bucket, cost: 1 }])).granted).to.equal(true);
    expect((await buckets.spend("a", [{ bucket, cost: 1 }])).granted).to.equal(false);
    await buckets.spend("a", [{ bucket: still(5, "other"), cost: 1 }]);
    const tags = (await admin.keys("*")).map((key) => /\{(.*)\}/.exec(key)?.[1]);
    expect(new Set(tags)).to.deep.equal(new Set(["throttle:a", "throttle:b"]));
    expect(tags).to.have.length(3);
  });

  it("delete a key a minute after its bucket is full again", async () => {
    await spend({ bucket: slow, cost: 5 });
    const [key = ""] = await admin.keys("*");
    expect(await admin.pttl(key)).to.be.within(55_000, 60_500);
  });

  it("reject a cost above the capacity", async () => {
    const error = await spend({ bucket: still(3), cost: 4 }).then(() => undefined, String);
    expect(error).to.match(/4 tokens never fit/);
  });

  it("are unavailable without Redis", async () => {
    const connection = new ServiceConnection({ url: "redis://127.0.0.1:1" });
    connections.push(connection);
    const unreachable = new TokenBuckets(connection);
    const failure: unknown = await unreachable
      .spend("a", [{ bucket: slow, cost: 1 }])
      .catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Unavailable);
  });
});
