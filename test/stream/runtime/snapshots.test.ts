import { expect } from "chai";
import fc from "fast-check";
import { type ActorId, ledgerActor, partitionOf } from "../../../actors/actor.js";
import { type Format, LATEST_FORMAT, OLDEST_FORMAT } from "../../../actors/format.js";
import { systemClock } from "../../../stream/log/clock.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { packEntry } from "../../../stream/log/packing.js";
import type { Entry } from "../../../stream/log/ports.js";
import { Keys } from "../../../stream/redis/keys.js";
import { loadState } from "../../../stream/runtime/recovery.js";
import { MeasuredSnapshots } from "../../../stream/runtime/snapshots/measured-snapshots.js";
import { SnapshotLanes } from "../../../stream/runtime/snapshots/snapshot-lanes.js";
import type {
  SnapshotRequest,
  Snapshots,
  SnapshotTaken,
} from "../../../stream/runtime/snapshots/snapshots.js";
import { SnapshotWriter } from "../../../stream/runtime/snapshots/snapshot-writer.js";
import { type Gate, MemoryLog, type Operation } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { ManualClock, pause } from "../log/support.js";
import { until } from "../../support/until.js";
import { FaultyGate } from "./deployment.js";
import { counter, type CounterDelta, type CounterState } from "./counter.js";

const actor = ledgerActor(1);
const partition = partitionOf(actor);
const sources: readonly ActorId[] = ["market:a", "market:b", "market:c"];
const KEYS = new Keys("");
const PARTS = KEYS.parts(partition, actor);

describe("snapshots from the log", () => {
  let store: MemoryStore;
  let log: MemoryLog;
  let writer: Snapshots;
  let epoch: number;
  let seq: number;
  let errors: string[];
  /** Called before each operation of the writer. */
  let before: (operation: Operation) => void;

  const logger = { ...silentLogger, error: (_fields: object, message: string) => void errors.push(message) };
  const connect = (): MemoryLog => {
    const gate: Gate = (operation, apply) =>
      new Promise((resolve) => {
        before(operation);
        resolve(apply());
      });
    return new MemoryLog(store, { gate });
  };
  const open = (isPaced = false): SnapshotWriter =>
    new SnapshotWriter({ log, actorOf: () => counter, logger, clock: systemClock, isPaced });

  beforeEach(async () => {
    before = () => undefined;
    errors = [];
    store = new MemoryStore();
    log = connect();
    writer = open();
    seq = 0;
    epoch = 0;
    await take();
  });

  async function take(): Promise<void> {
    const outcome = await log.take(partition, "worker", epoch);
    if (outcome.kind === "taken") epoch = outcome.epoch;
  }

  /** Commits an entry in which the actor receives a number. */
  async function receive(from: ActorId, n: number, answer: unknown = n): Promise<void> {
    const delta: CounterDelta = { type: "received", from, n };
    seq += 1;
    const entry = packEntry({
      actor,
      seq,
      cursor: "0-0",
      sources: { [from]: n },
      answers: [{ id: `command ${n}`, reply: answer, untilMs: 5_000 }],
      batches: [{ ts: 1_000 + n, deltas: [delta] }],
    });
    const change = { partition, actor, expectedSeq: seq - 1, cursor: "0-0", entry };
    const outcome = await log.commit({ ownerships: [{ partition, epoch }], changes: [change] });
    expect(outcome.kind).to.equal("ok");
  }

  function snapshot(
    format: Format = LATEST_FORMAT,
    { both = false, isForMove = false, isUrgent = false, nowMs = 2_000 } = {},
  ): Promise<SnapshotTaken | undefined> {
    return writer.take({ partition, epoch, actor, format, nowMs, both, isForMove, isUrgent });
  }

  /** Removes the entries of the actor up to the last snapshot, so that a recovery needs that snapshot. */
  function forgetEntries(): void {
    store.trim(KEYS.deltas(partition, actor), Number(store.get(KEYS.head(partition, actor), "snapshot")) + 1);
  }

  async function recovered(): Promise<Readonly<Record<string, readonly number[]>>> {
    const { state } = await loadState({ log, actorOf: () => counter, logger }, actor);
    return (state as CounterState).received;
  }

  /** Commits five entries, with a snapshot after the third. */
  async function lived(): Promise<void> {
    for (const [index, from] of sources.entries()) await receive(from, index + 1);
    await snapshot();
    await receive("market:a", 4);
    await receive("market:a", 5);
  }

  const all = { "market:a": [1, 4, 5], "market:b": [2], "market:c": [3] };

  it("leave out the answers that have expired, also when nothing else has happened since", async () => {
    const refused = "x".repeat(1_000);
    await receive("market:a", 1);
    const quiet = await snapshot();
    const answerOnly = async (n: number, untilMs: number): Promise<void> => {
      seq += 1;
      const answers = [{ id: `refused ${n}`, reply: refused, untilMs }];
      const entry = packEntry({ actor, seq, cursor: "0-0", sources: {}, answers, batches: [] });
      const change = { partition, actor, expectedSeq: seq - 1, cursor: "0-0", entry };
      await log.commit({ ownerships: [{ partition, epoch }], changes: [change] });
    };
    for (let n = 0; n < 50; n += 1) await answerOnly(n, 20_000);
    const full = await snapshot(LATEST_FORMAT, { nowMs: 10_000 });
    expect(full?.bytes).to.be.above(50 * refused.length);
    await answerOnly(50, 40_000);
    const later = await snapshot(LATEST_FORMAT, { nowMs: 30_000 });
    expect(later?.bytes).to.be.within(quiet?.bytes ?? 0, (quiet?.bytes ?? 0) + 2 * refused.length);
  });

  for (const kept of [true, false]) {
    const what = kept ? "kept in memory" : "restored from the log";
    it(`write only the parts that have changed, of an actor ${what}`, async () => {
      await lived();
      if (!kept) writer = open();
      const written: number[] = [];
      before = (operation) => {
        if (operation === "writeParts") written.push(1);
      };
      const taken = await snapshot();
      expect(taken?.seq).to.equal(5);
      expect(taken?.writtenBytes).to.be.below((taken?.bytes ?? 0) / 1.3);
      expect(written).to.have.length(1);
      forgetEntries();
      expect(await recovered()).to.deep.equal(all);
      expect(errors).to.deep.equal([]);
    });
  }

  it("rest, unless one of those that were asked for is urgent", async () => {
    const answer = "x".repeat(10_000);
    for (let n = 1; n <= 400; n += 1) await receive("market:a", n, answer);
    const rests: number[] = [];
    for (const urgent of [[false], [true], [false, true]]) {
      writer = open(true);
      const taken = await Promise.all(urgent.map((isUrgent) => snapshot(LATEST_FORMAT, { isUrgent })));
      rests.push(...taken.map((one) => one?.restedMs ?? NaN));
    }
    const [relaxed, ...hurried] = rests;
    expect(relaxed).to.be.above(6);
    expect(hurried).to.deep.equal([0, 0, 0]);
  });

  it("rest no more once they are hurried, and know the rests for which they have waited", async () => {
    const answer = "x".repeat(10_000);
    for (let n = 1; n <= 400; n += 1) await receive("market:a", n, answer);
    writer = open(true);
    const [first, second] = await Promise.all([snapshot(), snapshot()]);
    expect(first?.restedMs).to.be.above(6);
    expect(second?.restedMs).to.be.at.least(first?.restedMs ?? NaN);
    expect(second?.durationMs).to.be.below(second?.restedMs ?? NaN);
    writer = open(true);
    const asked = snapshot();
    writer.hurry(false);
    expect((await asked)?.restedMs).to.equal(0);
  });

  it("for moves are hurried apart from the others", async () => {
    const hurried: string[] = [];
    const lane = (name: string): Snapshots => ({
      take: () => Promise.resolve(undefined),
      hurry: () => hurried.push(name),
      close: () => Promise.resolve(),
    });
    const both = new SnapshotLanes(lane("moves"), lane("others"));
    both.hurry(false);
    both.hurry(true);
    expect(hurried).to.deep.equal(["others", "moves"]);
    await both.close();
  });

  /** Returns lanes whose operations pass these gates. */
  function lanes(moves: Gate, others: Gate): SnapshotLanes {
    const lane = (gate: Gate): SnapshotWriter =>
      new SnapshotWriter({
        log: new MemoryLog(store, { gate }),
        actorOf: () => counter,
        logger,
        clock: systemClock,
      });
    return new SnapshotLanes(lane(moves), lane(others));
  }

  it("for a move wait for no other, and the log refuses one whose parts another has removed", async () => {
    await lived();
    const moves = new FaultyGate();
    const others = new FaultyGate();
    writer = lanes(moves.gate, others.gate);
    const [letMove, letOther] = [moves.hold("writeParts"), others.hold("writeSnapshot")];
    const move = snapshot(LATEST_FORMAT, { isForMove: true });
    await until(() => moves.waiting("writeParts") === 0);
    await receive("market:b", 6);
    const other = snapshot();
    await until(() => others.waiting("writeSnapshot") === 0);
    letMove();
    expect((await move)?.seq).to.equal(5);
    letOther();
    expect(await other).to.equal(undefined);
    expect((await snapshot())?.seq).to.equal(6);
    forgetEntries();
    expect(await recovered()).to.deep.equal({ ...all, "market:b": [2, 6] });
  });

  it("that are taken of an actor at once leave it sound, whatever the order of their operations", async () => {
    const step = fc.record({ isForMove: fc.boolean(), operations: fc.nat(12) });
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(step, { minLength: 2, maxLength: 8 }),
        async (scheduler, steps) => {
          const gate: Gate = (operation, apply) =>
            scheduler.schedule(Promise.resolve(), operation).then(apply);
          writer = lanes(gate, gate);
          errors = [];
          const taking: Promise<unknown>[] = [];
          for (const { isForMove, operations } of steps) {
            await receive("market:a", seq + 1);
            taking.push(snapshot(LATEST_FORMAT, { isForMove }));
            for (let n = 0; n < operations && scheduler.count() > 0; n += 1) await scheduler.waitNext(1);
          }
          await scheduler.waitFor(Promise.all(taking));
          const expected = await recovered();
          const named = (["latest", "previous"] as const).flatMap((which) =>
            (store.get(KEYS.snapshot(partition, actor, which), "parts") ?? "").split(" "),
          );
          expect(named.filter((part) => part !== "" && !store.fields(PARTS).has(part))).to.deep.equal([]);
          forgetEntries();
          expect(await recovered()).to.deep.equal(expected);
          expect(errors).to.deep.equal([]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("name the parts of the latest and the previous snapshot, and the log has no others", async () => {
    await lived();
    for (let n = 6; n < 20; n += 1) {
      await receive("market:b", n);
      await snapshot();
    }
    const named = new Set(
      (["latest", "previous"] as const).flatMap((which) =>
        (store.get(KEYS.snapshot(partition, actor, which), "parts") ?? "").split(" "),
      ),
    );
    expect(new Set(store.fields(PARTS).keys())).to.deep.equal(named);
  });

  it("fall back to the previous one when a part is wrong or missing, and then write that part again", async () => {
    for (const damage of ["wrong", undefined]) {
      await take();
      await receive("market:a", 6);
      await snapshot();
      await receive("market:b", 7);
      const others = new Set(store.fields(PARTS).keys());
      await snapshot();
      const added = [...store.fields(PARTS).keys()].filter((hash) => !others.has(hash));
      expect(added).to.not.equal([]);
      const expected = await recovered();
      errors = [];
      store.set(PARTS, added[0] ?? "", damage);
      expect(await recovered()).to.deep.equal(expected);
      expect(errors).to.deep.equal(["a snapshot cannot be used; an earlier one is tried"]);
      // The next owner finds the damage, and its snapshot is sound.
      await take();
      await receive("market:c", 8);
      await snapshot();
      forgetEntries();
      errors = [];
      expect((await recovered())["market:c"]?.at(-1)).to.equal(8);
      expect(errors).to.deep.equal([]);
    }
  });

  it("are read some pages ahead, so that a load waits for few answers of a busy log", async () => {
    const answer = "x".repeat(20_000);
    for (let n = 1; n <= 400; n += 1) await receive("market:a", n, answer);
    await snapshot();
    let [reading, mostAtOnce, waits] = [0, 0, 0];
    const gate: Gate = async (operation, apply) => {
      if (operation !== "readParts") return apply();
      if (reading === 0) waits += 1;
      reading += 1;
      mostAtOnce = Math.max(mostAtOnce, reading);
      await pause(1);
      reading -= 1;
      return apply();
    };
    const expected = await recovered();
    log = new MemoryLog(store, { gate });
    expect(await recovered()).to.deep.equal(expected);
    const parts = store.get(KEYS.snapshot(partition, actor, "latest"), "parts")?.split(" ").length ?? 0;
    expect(parts).to.be.above(100);
    expect(mostAtOnce).to.equal(8);
    expect(waits).to.be.below(parts / 32);
  });

  it("leave the former snapshot in place when the writer dies between the parts and the switch", async () => {
    await lived();
    before = (operation) => {
      if (operation === "writeSnapshot") throw new Error("the process dies");
    };
    await snapshot().then(
      () => expect.fail("the snapshot was taken"),
      () => undefined,
    );
    before = () => undefined;
    expect(store.get(KEYS.head(partition, actor), "snapshot")).to.equal("3");
    expect(await recovered()).to.deep.equal(all);
    const orphans = store.fields(PARTS).size;
    await log.removeParts(partition, epoch, actor, 100);
    expect(store.fields(PARTS).size).to.be.below(orphans);
    writer = open();
    await snapshot();
    forgetEntries();
    expect(await recovered()).to.deep.equal(all);
  });

  it("do not share a part that was damaged after it was written", async () => {
    await lived();
    await snapshot();
    const named = store.get(KEYS.snapshot(partition, actor, "latest"), "parts")?.split(" ");
    const damaged = named?.at(-1) ?? "";
    store.set(PARTS, damaged, "damaged");
    await receive("market:b", 6);
    await snapshot();
    forgetEntries();
    expect(await recovered()).to.deep.equal({ ...all, "market:b": [2, 6] });
    expect(errors).to.deep.equal([]);
  });

  it("become the same, when they are asked to, without a part that is not sound", async () => {
    await lived();
    await snapshot();
    const [damaged = ""] = (store.get(KEYS.snapshot(partition, actor, "latest"), "parts") ?? "").split(" ");
    store.set(PARTS, damaged, "damaged");
    await snapshot(LATEST_FORMAT, { both: true });
    const head = { snapshot: "5", previous: "5" };
    for (const [field, value] of Object.entries(head))
      expect(store.get(KEYS.head(partition, actor), field)).to.equal(value);
    forgetEntries();
    errors = [];
    expect(await recovered()).to.deep.equal(all);
    expect(errors).to.deep.equal([]);
  });

  it("are measured for the report of the worker", async () => {
    const clock = new ManualClock();
    const measured = new MeasuredSnapshots(writer, clock);
    const request = (): SnapshotRequest => ({
      partition,
      epoch,
      actor,
      format: LATEST_FORMAT,
      nowMs: 2_000,
      both: false,
      isForMove: false,
      isUrgent: false,
    });
    await measured.take({ ...request(), epoch: epoch - 1 });
    expect(measured.figures()).to.include({ snapshots_total: 0, snapshot_bytes: 0 });
    for (const [index, from] of sources.entries()) await receive(from, index + 1);
    const first = await measured.take(request());
    await receive("market:a", 4);
    const second = await measured.take(request());
    const written = (first?.writtenBytes ?? 0) + (second?.writtenBytes ?? 0);
    const total = { snapshots_total: 2, snapshot_written_bytes_total: written };
    expect(measured.figures()).to.include({ ...total, snapshot_bytes: second?.bytes });
    clock.advance(600_001);
    expect(measured.figures()).to.include({ ...total, snapshot_bytes: 0 });
  });

  it("need no entries from before a snapshot that another writer has taken", async () => {
    await lived();
    const rest = { nowMs: 2_000, both: false, isForMove: false, isUrgent: false };
    await open().take({ partition, epoch, actor, format: LATEST_FORMAT, ...rest });
    forgetEntries();
    await receive("market:a", 6);
    expect((await snapshot())?.seq).to.equal(6);
    expect(await recovered()).to.deep.equal({ ...all, "market:a": [1, 4, 5, 6] });
  });

  it("are refused under an epoch that has ended", async () => {
    await lived();
    const former = epoch;
    await take();
    expect(
      await writer.take({
        partition,
        epoch: former,
        actor,
        format: LATEST_FORMAT,
        nowMs: 2_000,
        both: false,
        isForMove: false,
        isUrgent: false,
      }),
    ).to.equal(undefined);
    expect(store.get(KEYS.head(partition, actor), "snapshot")).to.equal("3");
  });

  it("are not written from entries that the log has lost", async () => {
    await lived();
    await snapshot();
    store.sync();
    await receive("market:b", 6);
    before = (operation) => {
      if (operation !== "writeParts") return;
      before = () => undefined;
      // The log loses the entry and gets another one, under the same seq and the same epoch.
      store.powerCut();
    };
    await snapshot().catch(() => undefined);
    seq = 5;
    await receive("market:c", 7);
    await snapshot();
    forgetEntries();
    expect(await recovered()).to.deep.equal({ ...all, "market:c": [3, 7] });
  });

  const latestBody = (): object =>
    JSON.parse(store.get(KEYS.snapshot(partition, actor, "latest"), "body") ?? "{}") as object;

  it("have the form of the earlier build as long as a process of that build runs", async () => {
    for (const [index, from] of sources.entries()) await receive(from, index + 1);
    await snapshot(OLDEST_FORMAT);
    await receive("market:a", 4);
    await receive("market:a", 5);
    await snapshot(OLDEST_FORMAT);
    expect(latestBody()).to.have.all.keys("state", "inbox", "lastTs");
    forgetEntries();
    expect(await recovered()).to.deep.equal(all);
    await receive("market:b", 6);
    await snapshot(LATEST_FORMAT);
    expect(latestBody()).to.include({ format: LATEST_FORMAT });
    forgetEntries();
    expect(await recovered()).to.deep.equal({ ...all, "market:b": [2, 6] });
  });

  it("keep the format of the one before, so that an older build that joins does not read half of a state", async () => {
    await lived();
    writer = open();
    await snapshot(OLDEST_FORMAT);
    expect(latestBody()).to.include({ format: LATEST_FORMAT });
    await receive("market:b", 6);
    await snapshot(OLDEST_FORMAT);
    expect(latestBody(), "of an actor kept in memory").to.include({ format: LATEST_FORMAT });
    forgetEntries();
    expect(await recovered()).to.deep.equal({ ...all, "market:b": [2, 6] });
  });

  it("keep the format of the entries, such as those with unfinished work", async () => {
    for (const [index, from] of sources.entries()) await receive(from, index + 1);
    await snapshot(OLDEST_FORMAT);
    const base = { actor, cursor: "0-0", sources: {}, answers: [], batches: [] };
    const unfinished = [{ kind: "climb", n: 2 }];
    const entries: readonly Entry<unknown>[] = [
      { ...base, seq: 4, unfinished, format: LATEST_FORMAT },
      { ...base, seq: 5, format: OLDEST_FORMAT },
    ];
    for (const entry of entries) {
      const expectedSeq = entry.seq - 1;
      const change = { partition, actor, expectedSeq, cursor: "0-0", entry: packEntry(entry) };
      await log.commit({ ownerships: [{ partition, epoch }], changes: [change] });
      expect(await snapshot(OLDEST_FORMAT)).to.include({ seq: entry.seq });
      expect(latestBody()).to.include({ format: LATEST_FORMAT });
    }
  });
});
