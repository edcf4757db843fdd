/**
 * A large ledger shard on Redis, with the snapshots on their thread. `GIANT_WALLETS=100000` runs it at full size, with ten
 * orders for each wallet.
 */

import { readFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect } from "chai";
import { partitionOf } from "../../../actors/actor.js";
import { LATEST_FORMAT } from "../../../actors/format.js";
import { ledger } from "../../../actors/ledger/ledger.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { packEntry, packSnapshot, partHash } from "../../../stream/log/packing.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import type { SavedParts } from "../../../stream/runtime/instance.js";
import { SNAPSHOT_LIMITS } from "../../../stream/runtime/snapshot-policy.js";
import type {
  SnapshotRequest,
  Snapshots,
  SnapshotTaken,
} from "../../../stream/runtime/snapshots/snapshots.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { snapshotThreads } from "../../../scripts/roles/snapshots.js";
import { FREE } from "../../support/exchange/commands.js";
import { giantLedger, GIANT_LEDGER, giantWallet, idOf } from "../../support/exchange/giants.js";
import { contracts, ticks } from "../../../actors/units.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { untilWithin } from "../../support/until.js";

const WALLETS = Number(process.env["GIANT_WALLETS"] ?? 3_000);
const ORDERS = 10 * WALLETS;
const PARTITION = partitionOf(GIANT_LEDGER);
const SHARD = 3;
/** Lease of the workers, in ms, which a take-over waits for. */
const LEASE_MS = 300;
const TAKE_OVER_MS = 2_000;
/** Longest pause of the event loop that a snapshot may cause, in ms. */
const PAUSE_MS = 5;

/** Snapshots that records what was taken. */
class Recorded implements Snapshots {
  readonly taken: SnapshotTaken[] = [];
  readonly #snapshots: Snapshots;
  begun = 0;

  constructor(snapshots: Snapshots) {
    this.#snapshots = snapshots;
  }

  async take(request: SnapshotRequest): Promise<SnapshotTaken | undefined> {
    this.begun += 1;
    const taken = await this.#snapshots.take(request);
    if (taken !== undefined) this.taken.push(taken);
    return taken;
  }

  hurry(isForMove: boolean): void {
    this.#snapshots.hurry(isForMove);
  }

  close(): Promise<void> {
    return this.#snapshots.close();
  }
}

/**
 * Pauses of the event loop, in ms. Counts the time in which the main thread runs and not the time in which it waits for a
 * processor, where the system counts both.
 */
class Pauses {
  readonly #timer = setInterval(() => this.#turn(), 1);
  readonly #collections: PerformanceEntry[] = [];
  readonly #observer = new PerformanceObserver((list) => this.#collections.push(...list.getEntries()));
  readonly #turns: { readonly fromMs: number; readonly toMs: number; readonly ranMs: number }[] = [];
  #last = { ranMs: ranMs(), atMs: performance.now() };

  constructor() {
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  #turn(): void {
    const now = { ranMs: ranMs(), atMs: performance.now() };
    const { ranMs: before, atMs: fromMs } = this.#last;
    this.#turns.push({ fromMs, toMs: now.atMs, ranMs: now.ranMs - before });
    this.#last = now;
  }

  /** Ends the observation, whose last collections arrive in a later turn of the event loop. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await new Promise((resolve) => setTimeout(resolve, 20));
    this.#observer.disconnect();
  }

  /** Returns the longest pause between two times, and the longest without the collections of garbage in it. */
  longest(sinceMs: number, untilMs: number): { longest: number; ownLongest: number } {
    const turns = this.#turns.filter(({ fromMs, toMs }) => toMs > sinceMs && fromMs < untilMs);
    const collectedMs = ({ fromMs, toMs }: (typeof turns)[number]): number =>
      this.#collections
        .map(({ startTime, duration }) => Math.min(toMs, startTime + duration) - Math.max(fromMs, startTime))
        .reduce((sum, ms) => sum + Math.max(0, ms), 0);
    return {
      longest: Math.max(0, ...turns.map((turn) => turn.ranMs)),
      ownLongest: Math.max(0, ...turns.map((turn) => turn.ranMs - collectedMs(turn))),
    };
  }
}

function ranMs(): number {
  try {
    const [ran = ""] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
    return Number(ran) / 1e6;
  } catch {
    return performance.now();
  }
}

/** CPU time of this process since an earlier moment, in ms, which does not depend on what else the machine does. */
function cpuMs(since: NodeJS.CpuUsage): string {
  const { user, system } = process.cpuUsage(since);
  return ((user + system) / 1_000).toFixed();
}

/** Collects the garbage of the set-up, so that no later pause is due to it. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

describe(`a ledger shard with ${WALLETS} wallets and ${ORDERS} open orders`, () => {
  let redis: FreshRedis;
  let exchange: LogExchange;
  /** Time that one synchronous snapshot of the shard takes, in ms. */
  let synchronousMs: number;
  let placed = 0;
  const logs: RedisLog[] = [];
  const workers: Worker[] = [];

  async function connect(): Promise<RedisLog> {
    const log = await RedisLog.open({ url: redis.url, prefix: redis.prefix });
    logs.push(log);
    return log;
  }

  async function startWorker(log: RedisLog, snapshots: Snapshots): Promise<void> {
    const worker = new Worker({
      id: `worker ${workers.length}`,
      log,
      actorOf,
      clock: systemClock,
      logger: silentLogger,
      leaseMs: LEASE_MS,
      partitions: [PARTITION],
      snapshotLimits: { ...SNAPSHOT_LIMITS, snapshotEntries: 200 },
      snapshots,
    });
    workers.push(worker);
    await worker.start();
  }

  const thread = (): Recorded =>
    new Recorded(snapshotThreads({ redisUrl: redis.url, prefix: redis.prefix, logLevel: "error" }));

  async function place(): Promise<void> {
    placed += 1;
    const wallet = giantWallet((placed * 7_919) % WALLETS);
    const terms = { marketId: idOf(4, 1), outcomes: 2, voids: "FMV", fee: FREE, live: false } as const;
    const order = {
      orderId: idOf(9, placed),
      terms,
      currency: "CASH",
      outcome: 0,
      price: ticks(5),
      qty: contracts(1),
      tif: "GTC",
      selfTrade: "wash",
    } as const;
    const command = { kind: "place", wallet, trader: wallet, orders: [order], atomic: false } as const;
    const answer = await exchange.ledger(SHARD, command, { timeoutMs: 60_000 });
    expect(answer).to.deep.include({ ok: true, kind: "placed" });
  }

  before(async function () {
    this.timeout(180_000);
    redis = await freshRedis();
    const log = await connect();
    await store(log);
    collectGarbage();
    const newId = (): string => `exchange ${Math.random()}`;
    exchange = new LogExchange({ log: await connect(), clock: systemClock, logger: silentLogger, newId });
    await exchange.start();
  });

  /** Stores a snapshot of the shard, as if one entry had created all of it. */
  async function store(log: RedisLog): Promise<void> {
    const state = giantLedger(WALLETS, ORDERS);
    const beganMs = performance.now();
    JSON.stringify(ledger.saveWhole(state));
    synchronousMs = performance.now() - beganMs;
    const outcome = await log.take(PARTITION, "test", 0);
    if (outcome.kind !== "taken") throw new Error("the partition is not free");
    const { epoch } = outcome;
    const facts = { sources: { "market:m": 1 }, answers: [], batches: [], cursor: "0-0" };
    const entry = packEntry({ actor: GIANT_LEDGER, seq: 1, ...facts });
    const change = { partition: PARTITION, actor: GIANT_LEDGER, expectedSeq: 0, cursor: "0-0", entry };
    await log.commit({ ownerships: [{ partition: PARTITION, epoch }], changes: [change] });
    const hashes: string[] = [];
    for (const body of ledger.save(state)) {
      hashes.push(partHash(body));
      await log.writeParts(PARTITION, epoch, GIANT_LEDGER, [{ hash: partHash(body), body }]);
    }
    const saved: SavedParts = { parts: { inbox: [], state: hashes }, lastTs: 1_700_000_000_000 };
    const snapshot = packSnapshot(1, "0-0", saved, LATEST_FORMAT);
    expect(await log.writeSnapshot(PARTITION, epoch, GIANT_LEDGER, snapshot, hashes)).to.equal(true);
    await log.append(PARTITION, []);
    await log.release(PARTITION, epoch);
  }

  after(async () => {
    await exchange.close();
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(logs.map((log) => log.close()));
    await redis.drop();
  });

  it("answers its first command soon after a start", async () => {
    const beganMs = performance.now();
    const cpu = process.cpuUsage();
    await startWorker(await connect(), thread());
    await place();
    const answeredMs = performance.now() - beganMs;
    console.log(`      answered after ${answeredMs.toFixed()} ms, ${cpuMs(cpu)} ms of CPU`);
    expect(answeredMs).to.be.below(TAKE_OVER_MS);
  }).timeout(60_000);

  it("is taken over soon after its worker has died, and not held up by its snapshots before that", async () => {
    for (const worker of workers) await worker.stop();
    const log = await connect();
    const snapshots = thread();
    await startWorker(log, snapshots);
    await place();
    const pauses = new Pauses();
    const startedMs = performance.now();
    while (snapshots.begun === 0) await place();
    const begunMs = performance.now();
    while (snapshots.taken.length === 0) await place();
    const takenMs = performance.now();
    await pauses.stop();
    const quiet = pauses.longest(startedMs, begunMs);
    const during = pauses.longest(begunMs, takenMs);
    const [taken] = snapshots.taken;
    console.log(
      `      snapshot of ${((taken?.bytes ?? 0) / 1e6).toFixed(1)} MB, ${((taken?.writtenBytes ?? 0) / 1e6).toFixed(1)} MB ` +
        `written, in ${taken?.durationMs.toFixed()} ms; longest pause ${during.longest.toFixed(1)} ms, without ` +
        `collections of garbage ${during.ownLongest.toFixed(1)} ms, before it ${quiet.longest.toFixed(1)} and ` +
        `${quiet.ownLongest.toFixed(1)} ms; one synchronous snapshot ${synchronousMs.toFixed()} ms`,
    );
    // The short form runs beside other tests, which make every turn longer.
    const limitMs = WALLETS < 100_000 ? Math.max(synchronousMs / 3, PAUSE_MS) : PAUSE_MS;
    expect(during.ownLongest, "ms of the longest pause").to.be.below(limitMs);

    // Closing the connection ends the heartbeats, as a kill does.
    await log.close();
    const diedMs = performance.now();
    const cpu = process.cpuUsage();
    await startWorker(await connect(), thread());
    await place();
    const tookMs = performance.now() - diedMs;
    console.log(
      `      taken over after ${tookMs.toFixed()} ms, ${cpuMs(cpu)} ms of CPU; lease ${LEASE_MS} ms`,
    );
    expect(tookMs).to.be.below(TAKE_OVER_MS);
    await untilWithin(5_000, () => expect(workers.at(-1)?.held.size).to.equal(1));
  }).timeout(120_000);
});
