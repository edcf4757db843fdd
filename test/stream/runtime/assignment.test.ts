import { expect } from "chai";
import { ledgerActor } from "../../../actors/actor.js";
import { sleep } from "../../../stream/log/clock.js";
import { silentLogger } from "../../../stream/log/logger.js";
import type { LiveWorker } from "../../../stream/log/log.js";
import { packEnvelope } from "../../../stream/log/packing.js";
import { nextMove, type Owners } from "../../../stream/runtime/assignment.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { until } from "../../support/until.js";
import { ManualClock, microtasksDone } from "../log/support.js";
import { counter } from "./counter.js";
import { FaultyGate } from "./deployment.js";

const PARTITIONS = ["l1", "l2", "l3", "l4", "l5", "l6"];
/** Time of an operation to a slow log, and of its answer, in ms. */
const SLOW_MS = 40;

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

  it("leave one partition in use without an owner at a time when a worker stops, however slow the log is", async () => {
    const clock = new ManualClock();
    const store = new MemoryStore();
    const logs: MemoryLog[] = [];
    const connect = (gate?: Gate): MemoryLog => {
      const log = new MemoryLog(store, { gate, clock, oneGroup: true });
      logs.push(log);
      return log;
    };
    const slow: Gate = async (_operation, apply) => {
      await sleep(clock, SLOW_MS);
      const result = apply();
      await sleep(clock, SLOW_MS);
      return result;
    };
    const start = (id: string): Worker => {
      const parts = { clock, actorOf: () => counter, logger: silentLogger, partitions: PARTITIONS };
      const worker = new Worker({ ...parts, id, log: connect(slow) });
      void worker.start();
      return worker;
    };
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 5) {
        clock.advance(5);
        await microtasksDone();
      }
    };
    const observer = connect();
    const first = start("first");
    await pass(2_000);
    const second = start("second");
    await pass(10_000);
    expect([first.held.size, second.held.size]).to.deep.equal([3, 3]);
    const [idle = "", ...inUse] = [...second.held.keys()];
    for (const name of inUse) {
      const actor = ledgerActor(Number(name.slice(1)));
      const body = packEnvelope({ commands: [{ kind: "add", n: 1 }] });
      await observer.append(name, [{ to: actor, body }]);
    }
    await pass(2_000);
    void second.stop();
    const away: string[][] = [];
    while (first.held.size < PARTITIONS.length && away.length < 1_000) {
      await pass(5);
      const leases = await observer.leases(PARTITIONS);
      away.push(PARTITIONS.filter((name) => leases.get(name)?.owner === undefined));
    }
    expect(first.held.size).to.equal(PARTITIONS.length);
    const released = [...new Set(away.map((names) => names.join()).filter((names) => names !== ""))];
    expect(released).to.have.members([...inUse, idle]);
    expect(released.at(-1), "the partition that nobody uses comes last").to.equal(idle);
    await Promise.all(logs.map((log) => log.close()));
  });
});
