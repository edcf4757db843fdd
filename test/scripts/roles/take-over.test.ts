import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect } from "chai";
import { startRedis } from "../../../scripts/embedded/redis.js";
import type { RunningServer } from "../../../scripts/embedded/server.js";
import { pause } from "../../stream/log/support.js";
import { cacheDir } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";
import { WorkerProcess } from "../../support/worker-process.js";
import { Load, type Period } from "./load.js";

/**
 * Longest wait of a caller, in ms, while a live worker joins or leaves, and after one is killed. A busy machine adds to it at
 * most twice the longest wait in an equal time in which nothing moves, and never more than `MAX_ADDED_MS`.
 */
const MOVED_MS = 500;
const KILLED_MS = 2_000;
const MAX_ADDED_MS = 3_000;
/** Longest time in ms until the partitions of a killed worker have another owner. */
const TAKEN_MS = 1_000;
/** Time in ms without a move after which the partitions count as shared. */
const SETTLED_MS = 2_000;
const PARTITIONS = 80;

describe("workers that share the partitions under load", function () {
  this.timeout(180_000);
  let dataDir: string;
  let redis: RunningServer;
  let load: Load;
  let workers: WorkerProcess[] = [];
  let joined: Period;

  before(async () => {
    dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-take-over-"));
    const serverBin = process.env["REDIS_SERVER_BIN"];
    redis = await startRedis({ dataDir, log: () => undefined, cacheDir, fsync: "everysec", serverBin });
    await start();
    load = await Load.open({ redisUrl: redis.url, markets: 16, callers: 8, batch: 5 });
    // A new owner has many entries to fold.
    await load.fill(40_000);
    load.start();
    await start();
    await shared(2);
    joined = load.mark();
  });

  beforeEach(async () => {
    while (workers.length > 2) await end("SIGTERM");
    while (workers.length < 2) await start();
    await shared(2);
  });

  after(async () => {
    await load.close();
    for (const { child } of workers) child.kill("SIGKILL");
    await Promise.all(workers.map(({ exited }) => exited));
    await redis.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  });

  async function start(): Promise<WorkerProcess> {
    const worker = new WorkerProcess(redis.url);
    workers.push(worker);
    await worker.ready;
    return worker;
  }

  /** Ends the last worker with a signal. */
  async function end(signal: NodeJS.Signals): Promise<void> {
    const worker = workers.at(-1);
    workers = workers.slice(0, -1);
    worker?.child.kill(signal);
    await worker?.exited;
  }

  /** Resolves when the workers have equal shares. */
  async function shared(count: number): Promise<void> {
    const share = Math.floor(PARTITIONS / count);
    let [last, sinceMs] = ["", 0];
    await untilWithin(60_000, () => {
      const shares = [...load.shares.values()].filter((partitions) => partitions > 0);
      expect(shares).to.have.length(count);
      for (const partitions of shares) expect(partitions).to.be.within(share - 1, share + 2);
      // A busy machine may take a second for the last move.
      if (shares.join() !== last) [last, sinceMs] = [shares.join(), performance.now()];
      return performance.now() - sinceMs > SETTLED_MS;
    });
  }

  /** Returns what a busy machine may add to a wait of this period, in ms. */
  async function addedMs({ seconds }: Period): Promise<number> {
    load.mark();
    await pause(1_000 * seconds);
    return Math.min(2 * load.mark().longestMs, MAX_ADDED_MS);
  }

  /** Expects that no partition moved more than once, and returns the number of those that moved. */
  function movedOnce({ moves }: Period): number {
    for (const [partition, count] of moves) expect(count, partition).to.equal(1);
    return moves.size;
  }

  async function expectPrompt(period: Period): Promise<void> {
    expect(period.longestMs).to.be.below(MOVED_MS + (await addedMs(period)));
    expect(period.refused).to.equal(0);
  }

  it("move a partition at most once when a worker joins or leaves, and delay no request by half a second", async () => {
    expect(movedOnce(joined)).to.equal(PARTITIONS / 2);
    await expectPrompt(joined);
    await start();
    await shared(3);
    const joinedAgain = load.mark();
    expect(movedOnce(joinedAgain)).to.be.within(25, 28);
    await expectPrompt(joinedAgain);
    await end("SIGTERM");
    await shared(2);
    const left = load.mark();
    expect(movedOnce(left)).to.equal(joinedAgain.moves.size);
    await expectPrompt(left);
  });

  it("keep their partitions while Redis is stalled", async () => {
    load.mark();
    for (const ms of [500, 2_000]) {
      process.kill(redis.pid, "SIGSTOP");
      await pause(ms);
      process.kill(redis.pid, "SIGCONT");
      await pause(1_500);
    }
    const { moves, orders, refused } = load.mark();
    expect([...moves]).to.deep.equal([]);
    expect(orders).to.be.above(0);
    expect(refused).to.equal(0);
  });

  it("take over from a worker that is stalled, and give it other partitions later", async () => {
    for (const ms of [500, 1_000, 3_000]) {
      load.mark();
      workers[1]?.child.kill("SIGSTOP");
      await pause(ms);
      workers[1]?.child.kill("SIGCONT");
      await pause(300);
      const lost = load.mark();
      // A worker whose heartbeats have come late has a longer lease, and loses nothing.
      if (lost.moves.size === 0) continue;
      await shared(2);
      const returned = load.mark();
      expect(movedOnce(lost)).to.equal(PARTITIONS / 2);
      expect(movedOnce(returned)).to.equal(PARTITIONS / 2);
      expect([...lost.moves.keys()].filter((partition) => returned.moves.has(partition))).to.deep.equal([]);
    }
  });

  it("take over from a worker that is killed within a second", async () => {
    await shared(2);
    // The heartbeats of the test before lengthen the lease for a while.
    await end("SIGTERM");
    await start();
    await shared(2);
    load.mark();
    const killedMs = performance.now();
    await end("SIGKILL");
    await untilWithin(5_000, () => load.shares.size === 1);
    const tookMs = performance.now() - killedMs;
    await pause(1_000);
    const period = load.mark();
    const added = await addedMs(period);
    expect(tookMs).to.be.below(TAKEN_MS + added);
    expect(movedOnce(period)).to.equal(PARTITIONS / 2);
    expect(period.longestMs).to.be.below(KILLED_MS + added);
  });
});
