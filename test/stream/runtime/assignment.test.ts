import { expect } from "chai";
import { ledgerActor } from "../../../actors/actor.js";
import { sleep } from "../../../stream/log/clock.js";
import { silentLogger } from "../../../stream/log/logger.js";
import type { LiveWorker } from "../../../stream/log/log.js";
import { packEnvelope } from "../../../stream/log/packing.js";
import {
  type MoveNotice,
  nextMove,
  type Owners,
  packMoveNotice,
  parseMoveNotice,
} from "../../../stream/runtime/assignment.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { until } from "../../support/until.js";
import { ManualClock, microtasksDone } from "../log/support.js";
import { counter } from "./counter.js";
import { FaultyGate } from "./deployment.js";

const PARTITIONS = ["l1", "l2", "l3", "l4", "l5", "l6"];
/** Time of an operation on its way to a slow log, and of its answer, in ms. */
const SLOW_MS = 40;
/** The same of the first read of a load. */
const LOAD_MS = 400;

describe("hand-overs between live workers", () => {
  const live = (...names: string[]): readonly LiveWorker[] =>
    names.map((name) => ({ name, liveMs: 60_000, takes: true }));
  const owners = (...names: (string | undefined)[]): Owners =>
    new Map(names.map((name, index) => [PARTITIONS[index] ?? "", name]));

  it("are decided alike by every worker: one of them hands one partition over", () => {
    expect(nextMove(owners("a", "a", "a", "b", "b", "b"), live("a", "b", "c"))).to.deep.equal({
      from: "b",
      kind: "l",
    });
    expect(nextMove(owners("a", "a", "b", "b", "c", "c"), live("a", "b", "c"))).to.equal(undefined);
  });

  it("wait while a partition has no live owner, which is a move under way", () => {
    expect(nextMove(owners("a", "a", "a", "a", "a", undefined), live("a", "b"))).to.equal(undefined);
  });

  it("go one after the other, also when the log is slow to release a partition", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore();
    const faults = new FaultyGate();
    const logs: MemoryLog[] = [];
    const join = (id: string, gate?: Gate): Worker => {
      const log = new MemoryLog(store, { gate, clock, oneGroup: true });
      logs.push(log);
      const parts = { log, clock, actorOf: () => counter, logger: silentLogger, partitions: PARTITIONS };
      return new Worker({ ...parts, id });
    };
    const first = join("first", faults.gate);
    await first.beat();
    expect(first.held.size).to.equal(6);
    const second = join("second");
    const beat = async (): Promise<void> => {
      clock.advance(50);
      await first.beat();
      clock.advance(50);
      await second.beat();
    };
    const release = faults.hold("release");
    // Others hand partitions over to a worker that has been live for two seconds.
    for (let n = 0; n < 60; n += 1) await beat();
    expect([first.held.size, second.held.size], "the first move is not over").to.deep.equal([5, 0]);
    release();
    await until(async () => {
      await beat();
      expect([first.held.size, second.held.size]).to.deep.equal([3, 3]);
    });
    const turning = setInterval(() => clock.advance(50), 1);
    await Promise.all([first.stop(), second.stop()]);
    clearInterval(turning);
    await Promise.all(logs.map((log) => log.close()));
  });

  it("are published, and read also as builds before publish them", () => {
    const notices: readonly MoveNotice[] = [
      { kind: "released", partition: "l1" },
      { kind: "released", partition: "l1", stopping: "worker 2" },
      { kind: "served", partition: "l1" },
    ];
    for (const notice of notices) expect(parseMoveNotice(packMoveNotice(notice))).to.deep.equal(notice);
    expect(parseMoveNotice("l1")).to.deep.equal({ kind: "released", partition: "l1" });
  });

  describe("on a slow log", () => {
    let clock: ManualClock;
    let store: MemoryStore;
    let logs: MemoryLog[];
    /** Loads of actors in progress, and the most that were. */
    let loads: { now: number; most: number };

    beforeEach(() => {
      [clock, store, logs] = [new ManualClock(), new MemoryStore(), []];
      loads = { now: 0, most: 0 };
    });

    afterEach(() => Promise.all(logs.map((log) => log.close())));

    const slow: Gate = async (operation, apply) => {
      // Each load of an actor reads its head once.
      const isLoad = operation === "heads";
      if (isLoad) loads.now += 1;
      loads.most = Math.max(loads.most, loads.now);
      await sleep(clock, isLoad ? LOAD_MS : SLOW_MS);
      const result = apply();
      await sleep(clock, SLOW_MS);
      if (isLoad) loads.now -= 1;
      return result;
    };

    function connect(gate?: Gate): MemoryLog {
      const log = new MemoryLog(store, { gate, clock, oneGroup: true });
      logs.push(log);
      return log;
    }

    function start(id: string): Worker {
      const parts = { clock, actorOf: () => counter, logger: silentLogger, partitions: PARTITIONS };
      const worker = new Worker({ ...parts, id, log: connect(slow) });
      void worker.start();
      return worker;
    }

    async function pass(ms: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += 5) {
        clock.advance(5);
        await microtasksDone();
      }
    }

    /** Sends a command to the actor of each partition. */
    async function use(partitions: readonly string[]): Promise<void> {
      const body = packEnvelope({ commands: [{ kind: "add", n: 1 }] });
      for (const name of partitions)
        await connect().append(name, [{ to: ledgerActor(Number(name.slice(1))), body }]);
    }

    it("begin when the new owner of the partition before has loaded its actors", async () => {
      const first = start("first");
      await pass(2_000);
      await use(PARTITIONS);
      await pass(2_000);
      loads.most = 0;
      const second = start("second");
      for (let passed = 0; second.held.size < 3 && passed < 20_000; passed += 5) {
        // A partition has messages whenever it moves.
        if (passed % 500 === 0) await use(PARTITIONS);
        await pass(5);
      }
      expect([first.held.size, second.held.size]).to.deep.equal([3, 3]);
      expect(loads.most).to.equal(1);
    });

    it("leave one partition in use without an owner at a time when a worker stops", async () => {
      const first = start("first");
      await pass(2_000);
      const second = start("second");
      await pass(12_000);
      expect([first.held.size, second.held.size]).to.deep.equal([3, 3]);
      const [idle = "", ...inUse] = [...second.held.keys()];
      await use(inUse);
      await pass(2_000);
      void second.stop();
      const observer = connect();
      const released = new Set<string>();
      for (let passed = 0; first.held.size < PARTITIONS.length && passed < 10_000; passed += 5) {
        await pass(5);
        const leases = await observer.leases(PARTITIONS);
        const away = PARTITIONS.filter((name) => leases.get(name)?.owner === undefined);
        if (away.length > 0) released.add(away.join());
      }
      expect(first.held.size).to.equal(PARTITIONS.length);
      expect([...released]).to.have.members([...inUse, idle]);
      expect([...released].at(-1), "the partition that nobody uses").to.equal(idle);
    });
  });
});
