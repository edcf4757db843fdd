import { expect } from "chai";
import { Redis } from "ioredis";
import type { Heartbeats } from "../../../stream/log/heartbeats.js";
import type { LiveWorker } from "../../../stream/log/log.js";
import { Keys } from "../../../stream/redis/keys.js";
import { startHeartbeats } from "../../../stream/redis/heartbeats.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";
import { until } from "../../support/until.js";
import { WorkerProcess } from "../../support/worker-process.js";
import { block, pause } from "../log/support.js";

describe("heartbeats from a thread", function () {
  this.timeout(30_000);
  let redis: FreshRedis;
  let client: Redis;
  let heartbeats: Heartbeats;
  let observer: WorkerProcess;
  let live: readonly LiveWorker[];
  let errors: unknown[];

  beforeEach(async () => {
    redis = await freshRedis();
    client = new Redis(redis.url);
    [live, errors] = [[], []];
    observer = new WorkerProcess(redis.url);
    await observer.ready;
    const options = { url: redis.url, worker: "w", leaseMs: 300, intervalMs: 100 };
    heartbeats = startHeartbeats(options, {
      onBeat: (workers) => (live = workers),
      onError: (error) => errors.push(error),
    });
    await until(() => live.length === 2);
  });

  afterEach(async () => {
    await heartbeats.stop();
    observer.child.kill("SIGKILL");
    await observer.exited;
    client.disconnect();
    await redis.drop();
  });

  /** Returns true while the log counts the worker as live. */
  async function isLive(): Promise<boolean> {
    const record = await client.hget(new Keys().workerRecords(), "w");
    return record?.split(" ")[1] !== "-";
  }

  const liveMs = (): number => live.find(({ name }) => name === "w")?.liveMs ?? 0;

  it("go on while the event loop is blocked for a second", async () => {
    block(1_500);
    expect(await isLive()).to.equal(true);
    await until(() => liveMs() > 1_400);
    expect(errors).to.deep.equal([]);
  });

  it("end when the event loop has been blocked for two seconds, and go on when it turns again", async () => {
    block(3_500);
    expect(await isLive()).to.equal(false);
    await until(isLive);
    await until(() => liveMs() > 0 && liveMs() < 1_500);
  });

  it("keep the worker live while its partitions are handed over, so that it gets no other", async () => {
    heartbeats.stopping();
    await until(() => live.find(({ name }) => name === "w")?.takes === false);
    expect(live.filter(({ takes }) => takes)).to.have.length(1);
  });

  it("end when they are stopped", async () => {
    await heartbeats.stop();
    await pause(1_000);
    expect(await isLive()).to.equal(false);
  });
});
