import { expect } from "chai";
import { silentLogger } from "../../../stream/log/logger.js";
import type { LiveWorker } from "../../../stream/log/log.js";
import { nextMove, type Owners } from "../../../stream/runtime/assignment.js";
import { Worker } from "../../../stream/runtime/worker.js";
import { type Gate, MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { until } from "../../support/until.js";
import { ManualClock } from "../log/support.js";
import { counter } from "./counter.js";
import { FaultyGate } from "./deployment.js";

const PARTITIONS = ["l1", "l2", "l3", "l4", "l5", "l6"];

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
});
