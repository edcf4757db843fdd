import { expect } from "chai";
import { Redis } from "ioredis";
import { marketActor } from "../../../actors/actor.js";
import { systemClock } from "../../../stream/log/clock.js";
import { Keys } from "../../../stream/redis/keys.js";
import { ServiceConnection } from "../../../stream/services/connection.js";
import { KeyUsage } from "../../../stream/services/key-usage.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";

const JOBS = "{test-jobs}";
const MARKETS = 500;

describe("the room that keys take in Redis", function () {
  this.timeout(40_000);
  let redis: FreshRedis;
  let client: Redis;
  let connection: ServiceConnection;
  let usage: KeyUsage | undefined;

  beforeEach(async () => {
    redis = await freshRedis();
    client = new Redis(redis.url);
    connection = new ServiceConnection({ url: redis.url, prefix: redis.prefix });
  });
  afterEach(async () => {
    usage?.stop();
    connection.close();
    client.disconnect();
    await redis.drop();
  });

  it("is counted by kind in rounds over all keys, a few at a time", async () => {
    const keys = new Keys(redis.prefix);
    const market = marketActor("m");
    for (let n = 0; n < MARKETS; n += 1) await client.hset(keys.head("m1", marketActor(`m${n}`)), "seq", 1);
    await client.hset(keys.firstAnswer("key", "id"), "answer", "x".repeat(1_000));
    await client.set(keys.bucket("key", "place"), "1");
    await client.xadd(keys.quarantine("m1"), "*", "body", "x".repeat(2_000));
    await client.set(keys.ticket("hash"), "meaning");
    await client.set(`${JOBS}:settlement:1`, "x".repeat(3_000));
    // The workers measure these, and those are of another exchange.
    await client.set(keys.mailbox("m1", market), "x".repeat(9_000));
    await client.set(new Keys("another:").head("m1", market), "x".repeat(9_000));

    const waits: number[] = [];
    const after = (ms: number, call: () => void): (() => void) => {
      waits.push(ms);
      return systemClock.after(1, call);
    };
    usage = new KeyUsage({ connection, clock: { after }, jobsPrefix: JOBS });
    expect(usage.figures()).to.deep.equal({});
    const figures = await untilWithin(
      30_000,
      () => usage?.figures() ?? {},
      ({ heads }) => heads === MARKETS,
    );
    await untilWithin(30_000, () => waits.includes(10_000));
    expect(waits.indexOf(10_000), "steps before the first rest").to.be.at.least(4);
    expect(figures.head_bytes).to.be.within(50 * MARKETS, 500 * MARKETS);
    expect(figures.first_answer_bytes).to.be.within(1_000, 2_000);
    expect(figures.token_bucket_bytes).to.be.within(30, 300);
    expect(figures.quarantine_bytes).to.be.within(2_000, 5_000);
    expect(figures.job_bytes).to.be.within(3_000, 5_000);
    expect(figures.other_key_bytes).to.be.within(30, 500);

    await client.del(keys.head("m1", marketActor("m0")), keys.bucket("key", "place"));
    // A round in progress may have counted one of them before.
    await untilWithin(30_000, () => {
      expect(usage?.figures()).to.include({ heads: MARKETS - 1, token_bucket_bytes: 0 });
    });
  });

  it("is that of the last whole round while Redis does not answer", async () => {
    await client.hset(new Keys(redis.prefix).head("m1", marketActor("m")), "seq", 1);
    const after = (_ms: number, call: () => void): (() => void) => systemClock.after(1, call);
    usage = new KeyUsage({ connection, clock: { after }, jobsPrefix: JOBS });
    await untilWithin(30_000, () => usage?.figures().heads === 1);
    connection.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(usage.figures().heads).to.equal(1);
  });
});
