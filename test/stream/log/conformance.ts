/** What every `Log` must do. Run against the one in memory and the one on Redis. */

import { expect } from "chai";
import { type ActorId, ledgerActor, PARTITIONS } from "../../../actors/actor.js";
import type { Change, FeedReader, Log, Ring, Snapshot } from "../../../stream/log/log.js";
import { eventually } from "./support.js";

/** Short bells and feeds, so that falling behind is quick: about ten messages are kept. */
export interface LogUnderTest {
  /** A connection to the same data as every other one of the test. */
  open(): Promise<Log>;
  /** Cuts the connection of a log once; it comes back by itself. */
  cut(log: Log): Promise<void>;
  close(): Promise<void>;
}

const actor = ledgerActor(3);
const partition = "l3";
const rest = { retained: 0, deadlineMs: undefined };
const untouched = { seq: 0, cursor: "0-0", relayed: 0, projected: 0, snapshot: 0, previous: 0 };

function deliveries(count: number, to: ActorId = actor): { to: ActorId; body: string }[] {
  return Array.from({ length: count }, (_, index) => ({ to, body: `message ${index + 1}` }));
}

function entryAt(seq: number, cursor = "0-0"): Change {
  return { actor, expectedSeq: seq - 1, cursor, entry: `entry ${seq}` };
}

export function conformance(create: () => Promise<LogUnderTest>): void {
  let subject: LogUnderTest;
  let log: Log;

  beforeEach(async () => {
    subject = await create();
    log = await subject.open();
  });

  afterEach(() => subject.close());

  async function take(worker = "w1", live: string[] = []): Promise<number> {
    const outcome = await log.take(partition, worker, live, false);
    if (outcome.kind !== "taken") throw new Error(`held by ${outcome.owner}`);
    return outcome.epoch;
  }

  /** Commits entries `1..count`, a bit at a time. */
  async function commitEntries(epoch: number, count: number): Promise<void> {
    for (let seq = 1; seq <= count; seq += 1) {
      expect(await log.commit(partition, epoch, [entryAt(seq)])).to.deep.equal({ kind: "ok" });
    }
  }

  async function seqs(afterSeq: number): Promise<{ seqs: number[]; gap: boolean } | undefined> {
    const [found] = await log.readEntries(partition, [{ actor, afterSeq }], 1_000);
    return found && { seqs: found.entries.map(({ seq }) => seq), gap: found.gap };
  }

  describe("mailboxes", () => {
    it("keeps messages in order, with contiguous ids, apart for each actor", async () => {
      const other = "market:0-of-the-same-partition" as ActorId;
      const taken = await log.append(partition, [
        { to: actor, body: "a" },
        { to: other, body: "b" },
        { to: actor, body: "c" },
      ]);
      expect(taken).to.deep.equal([true, true, true]);
      const reads = [
        { actor, after: "0-0" },
        { actor: other, after: "0-0" },
      ];
      const mail = await log.readMailboxes(partition, reads, 10);
      expect(mail.get(actor)).to.deep.equal([
        { id: "0-1", body: "a" },
        { id: "0-2", body: "c" },
      ]);
      expect(mail.get(other)).to.deep.equal([{ id: "0-1", body: "b" }]);
    });

    it("reads after a cursor and not more than asked", async () => {
      await log.append(partition, deliveries(9));
      const mail = await log.readMailboxes(partition, [{ actor, after: "0-4" }], 3);
      expect(mail.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-5", "0-6", "0-7"]);
      expect(await log.readMailboxes(partition, [{ actor, after: "0-9" }], 3)).to.have.property("size", 0);
    });

    it("refuses what goes over the capacity, and takes all without one", async () => {
      expect(await log.append(partition, deliveries(3), 4)).to.deep.equal([true, true, true]);
      expect(await log.append(partition, deliveries(3), 4)).to.deep.equal([true, false, false]);
      expect(await log.append(partition, deliveries(2))).to.deep.equal([true, true]);
    });

    it("keeps any text", async () => {
      const body = '\u0000 \ud83c\udfb2 "\\ \r\n €';
      await log.append(partition, [{ to: actor, body }]);
      const mail = await log.readMailboxes(partition, [{ actor, after: "0-0" }], 1);
      expect(mail.get(actor)?.[0]?.body).to.equal(body);
    });
  });

  describe("commits", () => {
    it("adds the entry, moves the cursor and takes what was applied out of the mailbox", async () => {
      const epoch = await take();
      await log.append(partition, deliveries(3));
      expect(await log.commit(partition, epoch, [entryAt(1, "0-2")])).to.deep.equal({ kind: "ok" });
      expect(await log.heads(partition, [actor])).to.deep.equal([{ ...untouched, seq: 1, cursor: "0-2" }]);
      const mail = await log.readMailboxes(partition, [{ actor, after: "0-0" }], 9);
      expect(mail.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-3"]);
      const found = await log.readEntries(partition, [{ actor, afterSeq: 0 }], 9);
      expect(found).to.deep.equal([{ actor, entries: [{ seq: 1, body: "entry 1" }], gap: false }]);
    });

    it("can move only the cursor", async () => {
      const epoch = await take();
      await log.append(partition, deliveries(2));
      expect(await log.commit(partition, epoch, [{ actor, expectedSeq: 0, cursor: "0-2" }])).to.deep.equal({
        kind: "ok",
      });
      expect(await log.heads(partition, [actor])).to.deep.equal([{ ...untouched, cursor: "0-2" }]);
      expect(await seqs(0)).to.equal(undefined);
    });

    it("numbers new messages on after all have been applied", async () => {
      const epoch = await take();
      await log.append(partition, deliveries(2));
      await log.commit(partition, epoch, [entryAt(1, "0-2")]);
      await log.append(partition, deliveries(1));
      const mail = await log.readMailboxes(partition, [{ actor, after: "0-2" }], 9);
      expect(mail.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-3"]);
    });

    it("refuses an epoch that is over, and writes nothing", async () => {
      const old = await take("w1");
      await take("w2");
      expect(await log.commit(partition, old, [entryAt(1)])).to.deep.equal({ kind: "fenced" });
      expect(await log.heads(partition, [actor])).to.deep.equal([untouched]);
      expect(await seqs(0)).to.equal(undefined);
    });

    it("refuses an epoch that never was", async () => {
      expect(await log.commit(partition, 1, [entryAt(1)])).to.deep.equal({ kind: "fenced" });
    });

    it("writes nothing when one actor is elsewhere, and says which", async () => {
      const epoch = await take();
      const other = "market:other" as ActorId;
      await log.append(partition, [...deliveries(1), ...deliveries(1, other)]);
      const outcome = await log.commit(partition, epoch, [
        entryAt(1, "0-1"),
        { actor: other, expectedSeq: 7, cursor: "0-1", entry: "x" },
      ]);
      expect(outcome).to.deep.equal({ kind: "conflict", actor: other });
      expect(await log.heads(partition, [actor, other])).to.deep.equal([untouched, untouched]);
      const mail = await log.readMailboxes(partition, [{ actor, after: "0-0" }], 9);
      expect(mail.get(actor)).to.have.length(1);
      expect(await seqs(0)).to.equal(undefined);
    });

    it("takes effect once when it arrives twice", async () => {
      const epoch = await take();
      await log.commit(partition, epoch, [entryAt(1)]);
      expect(await log.commit(partition, epoch, [entryAt(1)])).to.deep.equal({ kind: "conflict", actor });
      expect(await seqs(0)).to.deep.equal({ seqs: [1], gap: false });
    });
  });

  describe("looking at a partition", () => {
    it("finds every actor with what waits, what is retained and when it is due", async () => {
      const epoch = await take();
      await log.append(partition, deliveries(3));
      expect(await log.look(partition)).to.deep.equal([{ actor, head: untouched, waiting: 3, ...rest }]);
      await log.commit(partition, epoch, [{ ...entryAt(1, "0-2"), deadlineMs: 1_700_000_000_123 }]);
      expect(await log.look(partition)).to.deep.equal([
        {
          actor,
          head: { ...untouched, seq: 1, cursor: "0-2" },
          waiting: 1,
          retained: 1,
          deadlineMs: 1_700_000_000_123,
        },
      ]);
      await log.commit(partition, epoch, [entryAt(2, "0-2")]);
      expect((await log.look(partition))[0]?.deadlineMs).to.equal(1_700_000_000_123);
      await log.commit(partition, epoch, [{ ...entryAt(3, "0-2"), deadlineMs: null }]);
      expect((await log.look(partition))[0]?.deadlineMs).to.equal(undefined);
    });

    it("finds nothing in an empty one", async () => {
      expect(await log.look("m63")).to.deep.equal([]);
      expect(await log.heads("m63", [])).to.deep.equal([]);
    });
  });

  describe("positions and trimming", () => {
    it("moves a position forward only", async () => {
      const epoch = await take();
      await commitEntries(epoch, 5);
      await log.markRelayed(partition, [{ actor, seq: 4 }]);
      await log.markRelayed(partition, [{ actor, seq: 2 }]);
      await log.markProjected(partition, [{ actor, seq: 3 }]);
      expect(await log.heads(partition, [actor])).to.deep.equal([
        { ...untouched, seq: 5, relayed: 4, projected: 3 },
      ]);
    });

    async function snapshotAt(epoch: number, seq: number): Promise<void> {
      expect(
        await log.writeSnapshot(partition, epoch, actor, { seq, cursor: "0-0", hash: "h", body: "b" }),
      ).to.equal(true);
    }

    it("never trims what a snapshot, the relay or the projector still needs", async () => {
      const epoch = await take();
      await commitEntries(epoch, 10);
      const kept = async (): Promise<number[]> => {
        await log.trim(partition, actor, 9);
        return (await seqs(0))?.seqs ?? [];
      };
      expect(await kept()).to.have.length(10);
      await log.markRelayed(partition, [{ actor, seq: 10 }]);
      await log.markProjected(partition, [{ actor, seq: 6 }]);
      expect(await kept()).to.have.length(10);
      await snapshotAt(epoch, 3);
      expect(await kept(), "without a previous snapshot").to.have.length(10);
      await snapshotAt(epoch, 9);
      expect(await kept(), "down to the previous snapshot").to.deep.equal([4, 5, 6, 7, 8, 9, 10]);
      await snapshotAt(epoch, 10);
      expect(await kept(), "down to the projector").to.deep.equal([7, 8, 9, 10]);
      await log.markProjected(partition, [{ actor, seq: 10 }]);
      expect(await kept(), "down to what was asked").to.deep.equal([9, 10]);
      await snapshotAt(epoch, 10);
      await log.trim(partition, actor, 99);
      expect((await seqs(0))?.seqs, "the last entry stays").to.deep.equal([10]);
    });

    it("tells a reader that there is a hole, and only then", async () => {
      const epoch = await take();
      await commitEntries(epoch, 6);
      await log.markRelayed(partition, [{ actor, seq: 6 }]);
      await log.markProjected(partition, [{ actor, seq: 6 }]);
      await snapshotAt(epoch, 6);
      await snapshotAt(epoch, 6);
      await log.trim(partition, actor, 5);
      expect(await seqs(2)).to.deep.equal({ seqs: [5, 6], gap: true });
      expect(await seqs(3)).to.deep.equal({ seqs: [5, 6], gap: true });
      expect(await seqs(4)).to.deep.equal({ seqs: [5, 6], gap: false });
      expect(await seqs(6)).to.equal(undefined);
    });

    it("reads entries in pages, of many actors at once", async () => {
      const epoch = await take();
      await commitEntries(epoch, 5);
      const other = "market:other" as ActorId;
      await log.commit(partition, epoch, [{ actor: other, expectedSeq: 0, cursor: "0-0", entry: "o" }]);
      const reads = [
        { actor, afterSeq: 1 },
        { actor: other, afterSeq: 0 },
        { actor: "market:nobody" as ActorId, afterSeq: 0 },
      ];
      const found = await log.readEntries(partition, reads, 2);
      expect(found.map((one) => [one.actor, one.entries.map(({ seq }) => seq)])).to.deep.equal([
        [actor, [2, 3]],
        [other, [1]],
      ]);
    });
  });

  describe("snapshots", () => {
    const snapshot = (seq: number): Snapshot => ({
      seq,
      cursor: `0-${seq}`,
      hash: `hash ${seq}`,
      body: `body ${seq}`,
    });

    it("keeps the latest and the one before", async () => {
      const epoch = await take();
      await commitEntries(epoch, 3);
      expect(await log.readSnapshot(partition, actor, "latest")).to.equal(undefined);
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(1))).to.equal(true);
      expect(await log.readSnapshot(partition, actor, "latest")).to.deep.equal(snapshot(1));
      expect(await log.readSnapshot(partition, actor, "previous")).to.equal(undefined);
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(3))).to.equal(true);
      expect(await log.readSnapshot(partition, actor, "latest")).to.deep.equal(snapshot(3));
      expect(await log.readSnapshot(partition, actor, "previous")).to.deep.equal(snapshot(1));
      expect(await log.heads(partition, [actor])).to.deep.equal([
        { ...untouched, seq: 3, snapshot: 3, previous: 1 },
      ]);
    });

    it("keeps none that is older, of another epoch, or of entries that were never committed", async () => {
      const epoch = await take();
      await commitEntries(epoch, 3);
      await log.writeSnapshot(partition, epoch, actor, snapshot(2));
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(1))).to.equal(false);
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(4))).to.equal(false);
      await take("w2");
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(3))).to.equal(false);
      expect(await log.readSnapshot(partition, actor, "latest")).to.deep.equal(snapshot(2));
    });
  });

  describe("leases", () => {
    it("raises the epoch with every taking", async () => {
      const first = await take("w1");
      const second = await take("w1");
      const third = await take("w2");
      expect([second, third]).to.deep.equal([first + 1, first + 2]);
    });

    it("leaves a partition with a live owner, unless forced", async () => {
      const epoch = await take("w1");
      expect(await log.take(partition, "w2", ["w1", "w2"], false)).to.deep.equal({
        kind: "held",
        owner: "w1",
      });
      expect(await log.commit(partition, epoch, [entryAt(1)])).to.deep.equal({ kind: "ok" });
      expect(await log.take(partition, "w2", ["w2"], false)).to.have.property("kind", "taken");
      expect(await log.take(partition, "w3", ["w2", "w3"], true)).to.have.property("kind", "taken");
    });

    it("gives up once, and fences its old self", async () => {
      const epoch = await take("w1");
      await log.release(partition, epoch);
      expect(await log.commit(partition, epoch, [entryAt(1)])).to.deep.equal({ kind: "fenced" });
      const next = await log.take(partition, "w2", ["w1", "w2"], false);
      expect(next).to.have.property("kind", "taken");
      await log.release(partition, epoch);
      expect(await log.take(partition, "w1", ["w1", "w2"], false)).to.deep.equal({
        kind: "held",
        owner: "w2",
      });
    });

    it("knows who lives by heartbeats", async () => {
      expect(await log.heartbeat("w1", 60_000)).to.deep.equal(["w1"]);
      expect([...(await log.heartbeat("w2", 60_000))].sort()).to.deep.equal(["w1", "w2"]);
      await log.leave("w1");
      expect(await log.heartbeat("w2", 60_000)).to.deep.equal(["w2"]);
    });

    it("forgets who has not beaten within the lease", async () => {
      await log.heartbeat("w1", 60_000);
      await eventually(async () => {
        expect(await log.heartbeat("w2", 20)).to.deep.equal(["w2"]);
      });
    });
  });

  describe("bells", () => {
    /** Listens, and waits until the listener has begun. */
    async function listen(
      kind: "commands" | "deltas",
      from = log,
      partitions = [partition],
    ): Promise<Ring[]> {
      const rings: Ring[] = [];
      from.listen(kind, (ring) => rings.push(ring)).watch(partitions);
      await eventually(() =>
        expect(rings.filter(({ lookAtAll }) => lookAtAll)).to.have.length(partitions.length),
      );
      rings.length = 0;
      return rings;
    }

    const rung = (rings: readonly Ring[]): ActorId[] => rings.flatMap(({ actors }) => actors);

    it("ring with the actors that got commands, once per append", async () => {
      const rings = await listen("commands");
      const other = "market:other" as ActorId;
      await log.append(partition, [...deliveries(2), ...deliveries(1, other)]);
      await eventually(() => expect(rung(rings)).to.deep.equal([actor, other]));
      expect(rings.some(({ lookAtAll }) => lookAtAll)).to.equal(false);
    });

    it("do not ring for messages that were refused", async () => {
      await log.append(partition, deliveries(1), 1);
      const rings = await listen("commands");
      const other = "market:other" as ActorId;
      await log.append(partition, deliveries(1), 1);
      await log.append(partition, deliveries(1, other), 1);
      await eventually(() => expect(rung(rings)).to.deep.equal([other]));
    });

    it("ring with the actors that committed entries", async () => {
      const rings = await listen("deltas");
      const epoch = await take();
      const other = "market:other" as ActorId;
      await log.commit(partition, epoch, [entryAt(1), { actor: other, expectedSeq: 0, cursor: "0-0" }]);
      await log.commit(partition, epoch, [{ actor: other, expectedSeq: 0, cursor: "0-0", entry: "x" }]);
      await eventually(() => expect(rung(rings)).to.deep.equal([actor, other]));
    });

    it("are heard in the partitions that are watched, also those added later", async () => {
      const rings: Ring[] = [];
      const listener = log.listen("commands", (ring) => rings.push(ring));
      listener.watch([partition]);
      await eventually(() => expect(rings).to.deep.equal([{ partition, actors: [], lookAtAll: true }]));
      const began = Date.now();
      listener.watch([partition, "m9"]);
      await eventually(() =>
        expect(rings.at(-1)).to.deep.equal({ partition: "m9", actors: [], lookAtAll: true }),
      );
      expect(Date.now() - began, "ms until a new partition is heard").to.be.below(500);
      listener.watch(["m9"]);
      rings.length = 0;
      await log.append(partition, deliveries(1));
      await log.append("m9", deliveries(1, "market:nine"));
      await eventually(() => expect(rung(rings)).to.deep.equal(["market:nine"]));
    });

    it("can all be heard at once", async () => {
      const rings = await listen("deltas", log, [...PARTITIONS]);
      for (const name of ["l0", "m0", "m63"]) {
        const outcome = await log.take(name, "w", [], false);
        if (outcome.kind !== "taken") throw new Error("not taken");
        await log.commit(name, outcome.epoch, [
          { actor: `market:${name}`, expectedSeq: 0, cursor: "0-0", entry: "x" },
        ]);
      }
      await eventually(() => expect(rung(rings)).to.have.members(["market:l0", "market:m0", "market:m63"]));
    });

    it("say that all must be looked at when the connection was lost", async () => {
      const rings = await listen("commands");
      await subject.cut(log);
      await eventually(() => expect(rings.some(({ lookAtAll }) => lookAtAll)).to.equal(true));
      rings.length = 0;
      await eventually(async () => {
        await (await subject.open()).append(partition, deliveries(1));
        expect(rung(rings)).to.include(actor);
      });
    });
  });

  describe("feeds", () => {
    class Heard implements FeedReader {
      readonly bodies: string[] = [];
      missed = 0;
      onBodies(bodies: readonly string[]): void {
        this.bodies.push(...bodies);
      }
      onMissed(): void {
        this.missed += 1;
      }
    }

    it("give every subscriber what is published from then on, in order", async () => {
      await log.publish("f", "before anybody listens");
      const [one, two] = [new Heard(), new Heard()];
      await log.subscribe("f", one);
      await log.publish("f", "1");
      await (await subject.open()).subscribe("f", two);
      await log.publish("f", "2");
      await log.publish("g", "elsewhere");
      await log.publish("f", "3");
      await eventually(() => {
        expect(one.bodies).to.deep.equal(["1", "2", "3"]);
        expect(two.bodies).to.deep.equal(["2", "3"]);
      });
      expect([one.missed, two.missed]).to.deep.equal([0, 0]);
    });

    it("stop with their subscription", async () => {
      const [one, two] = [new Heard(), new Heard()];
      const subscription = await log.subscribe("f", one);
      await log.subscribe("f", two);
      await subscription.close();
      await log.publish("f", "1");
      await eventually(() => expect(two.bodies).to.deep.equal(["1"]));
      expect(one.bodies).to.deep.equal([]);
    });
  });

  describe("the rest", () => {
    it("remembers why actors were stopped", async () => {
      await log.markHalted(actor, "broken");
      await log.markHalted("market:m", "worse");
      await log.markHalted(actor, undefined);
      expect([...(await log.halted())]).to.deep.equal([["market:m", "worse"]]);
    });

    it("keeps the facts of the first start", async () => {
      expect(await log.installation({ a: "1" })).to.deep.equal({ a: "1" });
      expect(await log.installation({ a: "2", b: "3" })).to.deep.equal({ a: "1", b: "3" });
    });

    it("tells how full it is", async () => {
      const use = await log.memoryUse();
      expect(use).to.be.within(0, 1);
    });

    it("tells when its connection was lost", async () => {
      let lost = 0;
      log.onLost(() => {
        lost += 1;
      });
      await subject.cut(log);
      await eventually(() => expect(lost).to.be.above(0));
      await eventually(async () => {
        expect(await log.installation({})).to.deep.equal({});
      });
    });
  });
}
