import { expect } from "chai";
import { type ActorId, PARTITIONS } from "../../../actors/actor.js";
import type { Clock } from "../../../stream/log/clock.js";
import { type Head, NO_CURSOR } from "../../../stream/log/log.js";
import { largestShare, Retention, type RetainedPartition } from "../../../stream/runtime/retention.js";
import { SNAPSHOT_LIMITS } from "../../../stream/runtime/snapshot-policy.js";

const a = "market:a" as ActorId;
const b = "market:b" as ActorId;
const HEAD: Head = {
  seq: 0,
  cursor: NO_CURSOR,
  relayed: 0,
  projected: 0,
  snapshot: 0,
  previous: 0,
  lineage: "",
};
const EMPTY = { entries: 0, bytes: 0 };
const LIMITS = { resumeEntries: 10, resumeMs: 60_000, resumeBytes: Infinity };

class ManualClock implements Clock {
  ms = 0;

  now(): number {
    return 0;
  }

  monotonic(): number {
    return this.ms;
  }

  after(): () => void {
    throw new Error("retention uses no timer");
  }
}

describe("retention", () => {
  let clock: ManualClock;

  beforeEach(() => {
    clock = new ManualClock();
  });

  /** Commits entries of one actor, `perSecond` in each second. */
  function commit(
    partition: RetainedPartition,
    actor: ActorId,
    from: number,
    to: number,
    bytes = 1_000,
  ): void {
    for (let seq = from; seq <= to; seq += 1) {
      clock.ms += 100;
      partition.committed(actor, seq, bytes);
    }
  }

  it("keeps the entries of the last minutes", () => {
    const partition = new Retention(LIMITS, clock).open();
    partition.add(a, HEAD, EMPTY);
    commit(partition, a, 1, 1_000);
    // 600 entries are a minute; a position is recorded every three seconds.
    expect(partition.takeMoved([a, b]).get(a)).to.be.within(371, 401);
    expect(partition.takeMoved([a, b]).size, "a window that has not moved").to.equal(0);
    clock.ms += 30_000;
    expect(partition.takeMoved([a, b]).get(a)).to.be.within(671, 701);
  });

  it("keeps the last entries however old they are", () => {
    const partition = new Retention({ ...LIMITS, resumeEntries: 200 }, clock).open();
    partition.add(a, HEAD, EMPTY);
    commit(partition, a, 1, 1_000);
    clock.ms += 3_600_000;
    expect(partition.takeMoved([a, b]).get(a)).to.be.within(771, 801);
  });

  it("keeps the entries of ten minutes, and a thousand however old they are, unless the limits are others", () => {
    const partition = new Retention(SNAPSHOT_LIMITS, clock).open();
    partition.add(a, HEAD, EMPTY);
    commit(partition, a, 1, 10_000);
    // 6,000 entries are ten minutes; a position is recorded every 30 seconds.
    expect(partition.takeMoved([a]).get(a)).to.be.within(3_701, 4_001);
    clock.ms += 3_600_000;
    expect(partition.takeMoved([a]).get(a)).to.be.within(8_701, 9_001);
  });

  it("keeps less of the actors with the most bytes when all together pass the budget", () => {
    const budget = 100_000;
    const retention = new Retention({ ...LIMITS, resumeBytes: budget * PARTITIONS.length }, clock);
    const partition = retention.open();
    partition.add(a, HEAD, EMPTY);
    partition.add(b, HEAD, EMPTY);
    commit(partition, a, 1, 500);
    commit(partition, b, 1, 20);
    clock.ms += 1_000;
    const moved = partition.takeMoved([a, b]);
    expect(retention.bytes).to.be.within(80_000, budget);
    expect(moved.get(b), "the small actor keeps all").to.equal(1);
    expect(moved.get(a)).to.be.within(420, 440);
  });

  it("shares the budget between the partitions of all workers", () => {
    const retention = new Retention({ ...LIMITS, resumeBytes: 50_000 * PARTITIONS.length }, clock);
    const [first, second] = [retention.open(), retention.open()];
    for (const [partition, actor] of [
      [first, a],
      [second, b],
    ] as const) {
      partition.add(actor, HEAD, EMPTY);
      commit(partition, actor, 1, 500);
    }
    clock.ms += 1_000;
    for (const partition of [first, second]) partition.takeMoved([a, b]);
    expect(retention.bytes).to.be.within(80_000, 100_000);
    second.close();
    clock.ms += 1_000;
    first.takeMoved([a, b]);
    expect(retention.bytes, "the partition that is left").to.be.within(40_000, 50_000);
  });

  it("counts the entries that an earlier owner has left", () => {
    const retention = new Retention({ ...LIMITS, resumeBytes: 100_000 * PARTITIONS.length }, clock);
    const partition = retention.open();
    partition.add(a, { ...HEAD, seq: 5_000, snapshot: 4_500 }, { entries: 1_000, bytes: 1_000_000 });
    expect(partition.takeMoved([a, b]).get(a)).to.be.within(4_900, 4_951);
    expect(partition.needsSnapshot(a), "half of the bytes came after the snapshot").to.equal(true);
  });

  it("asks for snapshots of the actors whose entries since the last one take the most", () => {
    const retention = new Retention({ ...LIMITS, resumeBytes: 100_000 * PARTITIONS.length }, clock);
    const partition = retention.open();
    partition.add(a, HEAD, EMPTY);
    partition.add(b, HEAD, EMPTY);
    commit(partition, a, 1, 30);
    clock.ms += 1_000;
    expect(partition.needsSnapshot(a)).to.equal(false);
    commit(partition, b, 1, 40);
    clock.ms += 1_000;
    expect([partition.needsSnapshot(a), partition.needsSnapshot(b)]).to.deep.equal([true, true]);
    partition.snapshotBegins(b);
    partition.snapshotTaken(b);
    clock.ms += 1_000;
    expect([partition.needsSnapshot(a), partition.needsSnapshot(b)]).to.deep.equal([false, false]);
  });

  it("reports its bytes, and the age of the oldest snapshot", () => {
    const retention = new Retention(LIMITS, clock);
    const partition = retention.open();
    partition.add(a, HEAD, EMPTY);
    partition.add(b, HEAD, EMPTY);
    expect(retention.figures()).to.deep.equal({
      resume_window_bytes: 0,
      oldest_snapshot_seconds: 0,
    });
    commit(partition, a, 1, 100);
    commit(partition, b, 1, 50);
    const figures = retention.figures();
    expect(figures.resume_window_bytes).to.be.within(150_000, 170_000);
    expect(figures.oldest_snapshot_seconds).to.equal(15);
    partition.snapshotBegins(a);
    partition.snapshotBegins(b);
    partition.snapshotTaken(a);
    partition.snapshotTaken(b);
    expect(retention.figures()).to.include({ oldest_snapshot_seconds: 0 });
  });

  it("counts an actor from its load to its removal", () => {
    const retention = new Retention({ ...LIMITS, resumeBytes: 1_000_000 * PARTITIONS.length }, clock);
    const partition = retention.open();
    const left = { entries: 100, bytes: 400_000 };
    partition.add(a, { ...HEAD, seq: 100 }, left);
    partition.add(b, { ...HEAD, seq: 100 }, left);
    expect([retention.bytes, partition.totalSinceSnapshot]).to.deep.equal([800_000, 800_000]);
    partition.snapshotBegins(b);
    partition.snapshotTaken(b);
    commit(partition, b, 101, 110, 936);
    expect([retention.bytes, partition.totalSinceSnapshot]).to.deep.equal([810_000, 410_000]);
    partition.remove(a);
    expect([retention.bytes, partition.totalSinceSnapshot]).to.deep.equal([410_000, 10_000]);
    // An actor that is loaded again counts once.
    partition.add(b, { ...HEAD, seq: 110, snapshot: 110 }, left);
    expect([retention.bytes, partition.totalSinceSnapshot]).to.deep.equal([400_000, 0]);
    partition.remove(b);
    partition.remove(b);
    expect([retention.bytes, partition.totalSinceSnapshot]).to.deep.equal([0, 0]);
  });

  it("divides a budget so that small demands are met", () => {
    expect(largestShare([10, 20, 30], 60)).to.equal(Infinity);
    expect(largestShare([10, 50, 90], 100)).to.equal(45);
    expect(largestShare([100, 100], 50)).to.equal(25);
  });
});
