/** Conformance of a log: mailboxes, commits, positions, trimming and snapshots. */

import { expect } from "chai";
import { type ActorId, ledgerActor } from "../../../actors/actor.js";
import type { ActorNotice, Change, Departure, Snapshot } from "../../../stream/log/log.js";
import { actor, deliveries, entryAt, type Fixture, partition, untouched } from "./conformance.js";
import { commitIn, takeFromAnyone } from "./support.js";
import { until } from "../../support/until.js";

const rest = { retained: 0, deadlineMs: undefined };

export function dataConformance(fixture: Fixture): void {
  describe("mailboxes", () => {
    it("keep the messages of each actor in order, with contiguous ids", async () => {
      const other = "market:0-of-the-same-partition" as ActorId;
      const appended = await fixture.log.append(partition, [
        { to: actor, body: "a" },
        { to: other, body: "b" },
        { to: actor, body: "c" },
      ]);
      expect(appended).to.deep.equal(["appended", "appended", "appended"]);
      const reads = [
        { partition, actor, after: "0-0" },
        { partition, actor: other, after: "0-0" },
      ];
      const mailboxes = await fixture.log.readMailboxes(reads, 10);
      expect(mailboxes.get(actor)).to.deep.equal([
        { id: "0-1", body: "a" },
        { id: "0-2", body: "c" },
      ]);
      expect(mailboxes.get(other)).to.deep.equal([{ id: "0-1", body: "b" }]);
    });

    it("take no relayed message of an ownership before the fence, and every other one", async () => {
      const relayed = (epoch: number, sender = "m5") => ({
        to: actor,
        body: `epoch ${epoch}`,
        from: { partition: sender, epoch },
      });
      expect(await fixture.log.append(partition, [relayed(3)])).to.deep.equal(["appended"]);
      await fixture.log.append(partition, deliveries(1), 0, [{ partition: "m5", epoch: 4 }]);
      const sent = [relayed(3), relayed(4), relayed(3, "m6"), ...deliveries(1), relayed(2)];
      expect(await fixture.log.append(partition, sent)).to.deep.equal([
        "fenced",
        "appended",
        "appended",
        "appended",
        "fenced",
      ]);
      await fixture.log.append(partition, deliveries(1), 0, [{ partition: "m5", epoch: 2 }]);
      expect(await fixture.log.append(partition, [relayed(3)]), "a fence stays").to.deep.equal(["fenced"]);
      expect(await fixture.log.append("l4", [{ ...relayed(3), to: "ledger:4" }])).to.deep.equal(["appended"]);
    });

    it("are read after a cursor, up to a limit", async () => {
      await fixture.log.append(partition, deliveries(9));
      const mailboxes = await fixture.log.readMailboxes([{ partition, actor, after: "0-4" }], 3);
      expect(mailboxes.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-5", "0-6", "0-7"]);
      expect(await fixture.log.readMailboxes([{ partition, actor, after: "0-9" }], 3)).to.have.property(
        "size",
        0,
      );
    });

    it("reject messages over their capacity, and accept all without one", async () => {
      expect(await fixture.log.append(partition, deliveries(3), 4)).to.deep.equal([
        "appended",
        "appended",
        "appended",
      ]);
      expect(await fixture.log.append(partition, deliveries(3), 4)).to.deep.equal([
        "appended",
        "full",
        "full",
      ]);
      expect(await fixture.log.append(partition, deliveries(2))).to.deep.equal(["appended", "appended"]);
    });

    it("keep any text", async () => {
      const body = '\u0000 \ud83c\udfb2 "\\ \r\n €';
      await fixture.log.append(partition, [{ to: actor, body }]);
      const mailboxes = await fixture.log.readMailboxes([{ partition, actor, after: "0-0" }], 1);
      expect(mailboxes.get(actor)?.[0]?.body).to.equal(body);
    });
  });

  describe("commits", () => {
    it("add the entry, move the cursor and remove the applied messages from the mailbox", async () => {
      const epoch = await fixture.take();
      await fixture.log.append(partition, deliveries(3));
      expect(await fixture.commit(epoch, [entryAt(1, "0-2")])).to.deep.equal({ kind: "ok" });
      expect(await fixture.log.heads(partition, [actor])).to.deep.equal([
        { ...untouched, seq: 1, cursor: "0-2" },
      ]);
      const mailboxes = await fixture.log.readMailboxes([{ partition, actor, after: "0-0" }], 9);
      expect(mailboxes.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-3"]);
      const found = await fixture.log.readEntries([{ partition, actor, afterSeq: 0 }], 9);
      expect(found).to.deep.equal([{ actor, entries: [{ seq: 1, body: "entry 1" }], gap: false }]);
    });

    it("remove nothing from the mailbox of an actor whose cursor stays", async () => {
      const epoch = await fixture.take();
      await fixture.log.append(partition, deliveries(3));
      await fixture.commit(epoch, [entryAt(1, "0-1"), entryAt(2, "0-2")]);
      await fixture.commit(epoch, [entryAt(3, "0-2")]);
      const mailboxes = await fixture.log.readMailboxes([{ partition, actor, after: "0-0" }], 9);
      expect(mailboxes.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-3"]);
    });

    it("can move the cursor alone", async () => {
      const epoch = await fixture.take();
      await fixture.log.append(partition, deliveries(2));
      expect(await fixture.commit(epoch, [{ actor, expectedSeq: 0, cursor: "0-2" }])).to.deep.equal({
        kind: "ok",
      });
      expect(await fixture.log.heads(partition, [actor])).to.deep.equal([{ ...untouched, cursor: "0-2" }]);
      expect(await fixture.seqs(0)).to.equal(undefined);
    });

    it("continue the numbering of messages when all are applied", async () => {
      const epoch = await fixture.take();
      await fixture.log.append(partition, deliveries(2));
      await fixture.commit(epoch, [entryAt(1, "0-2")]);
      await fixture.log.append(partition, deliveries(1));
      const mailboxes = await fixture.log.readMailboxes([{ partition, actor, after: "0-2" }], 9);
      expect(mailboxes.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-3"]);
    });

    it("are fenced with an old epoch, and write nothing", async () => {
      const old = await fixture.take("w1");
      await fixture.take("w2");
      expect(await fixture.commit(old, [entryAt(1)])).to.deep.equal({ kind: "fenced", partition });
      expect(await fixture.log.heads(partition, [actor])).to.deep.equal([untouched]);
      expect(await fixture.seqs(0)).to.equal(undefined);
    });

    it("write the first entry of an incarnation with its own seq, and the next ones after it", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 2);
      const resumed = { seq: 9_000, lineage: "b@2@9000" };
      await fixture.commit(epoch, [{ ...entryAt(3), resumed }, entryAt(9_001)]);
      expect(await fixture.seqs(2)).to.deep.equal({ seqs: [9_000, 9_001], gap: true });
      const head = { ...untouched, seq: 9_001, lineage: resumed.lineage };
      expect(await fixture.log.heads(partition, [actor])).to.deep.equal([head]);
    });

    it("are fenced with an epoch that was never given", async () => {
      expect(await fixture.commit(1, [entryAt(1)])).to.deep.equal({ kind: "fenced", partition });
    });

    it("write nothing when one actor is at another seq, and name that actor", async () => {
      const epoch = await fixture.take();
      const other = "market:other" as ActorId;
      await fixture.log.append(partition, [...deliveries(1), ...deliveries(1, other)]);
      const outcome = await fixture.commit(epoch, [
        entryAt(1, "0-1"),
        { actor: other, expectedSeq: 7, cursor: "0-1", entry: "x" },
      ]);
      expect(outcome).to.deep.equal({ kind: "conflict", actor: other });
      expect(await fixture.log.heads(partition, [actor, other])).to.deep.equal([untouched, untouched]);
      const mailboxes = await fixture.log.readMailboxes([{ partition, actor, after: "0-0" }], 9);
      expect(mailboxes.get(actor)).to.have.length(1);
      expect(await fixture.seqs(0)).to.equal(undefined);
    });

    it("write several entries of an actor, and publish the answers", async () => {
      const epoch = await fixture.take();
      const published: string[] = [];
      await fixture.log.subscribe("f", { onBody: (body) => published.push(body), onMissed: () => undefined });
      const changes = [entryAt(1), { ...entryAt(2), relayed: true }, { ...entryAt(3) }];
      const ownerships = [{ partition, epoch }];
      const publications = [{ feed: "f", body: "done" }];
      expect(await fixture.log.commit({ ownerships, changes, publications })).to.deep.equal({ kind: "ok" });
      expect(await fixture.seqs(0)).to.deep.equal({ seqs: [1, 2, 3], gap: false });
      expect((await fixture.log.heads(partition, [actor]))[0]).to.include({ seq: 3, relayed: 2 });
      await until(() => expect(published).to.deep.equal(["done"]));
      const late = { ownerships: [{ partition, epoch: epoch - 1 }], changes: [entryAt(4)], publications };
      expect(await fixture.log.commit(late)).to.deep.equal({ kind: "fenced", partition });
      expect(await fixture.log.commit({ ownerships, changes: [entryAt(4), entryAt(4)] })).to.deep.equal({
        kind: "conflict",
        actor,
      });
      expect(await fixture.seqs(3)).to.equal(undefined);
      expect(published).to.deep.equal(["done"]);
    });

    it("take effect once when they arrive twice", async () => {
      const epoch = await fixture.take();
      await fixture.commit(epoch, [entryAt(1)]);
      expect(await fixture.commit(epoch, [entryAt(1)])).to.deep.equal({
        kind: "conflict",
        actor,
      });
      expect(await fixture.seqs(0)).to.deep.equal({ seqs: [1], gap: false });
    });
  });

  describe("the scan of a partition", () => {
    it("returns every actor with its waiting messages, retained entries and deadline", async () => {
      const epoch = await fixture.take();
      await fixture.log.append(partition, deliveries(3));
      expect(await fixture.log.scan(partition)).to.deep.equal([
        { actor, head: untouched, waiting: 3, ...rest },
      ]);
      await fixture.commit(epoch, [{ ...entryAt(1, "0-2"), deadlineMs: 1_700_000_000_123 }]);
      expect(await fixture.log.scan(partition)).to.deep.equal([
        {
          actor,
          head: { ...untouched, seq: 1, cursor: "0-2" },
          waiting: 1,
          retained: 1,
          deadlineMs: 1_700_000_000_123,
        },
      ]);
      await fixture.commit(epoch, [entryAt(2, "0-2")]);
      expect((await fixture.log.scan(partition))[0]?.deadlineMs).to.equal(1_700_000_000_123);
      await fixture.commit(epoch, [{ ...entryAt(3, "0-2"), deadlineMs: null }]);
      expect((await fixture.log.scan(partition))[0]?.deadlineMs).to.equal(undefined);
    });

    it("returns nothing for an empty partition", async () => {
      expect(await fixture.log.scan("m63")).to.deep.equal([]);
      expect(await fixture.log.heads("m63", [])).to.deep.equal([]);
    });
  });

  describe("positions and trims", () => {
    it("move a position forward only", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 5);
      await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 4 }]);
      await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 2 }]);
      await fixture.log.markProjected(partition, [{ actor, seq: 3 }]);
      expect(await fixture.log.heads(partition, [actor])).to.deep.equal([
        { ...untouched, seq: 5, relayed: 4, projected: 3 },
      ]);
    });

    it("tell which actors the read model is behind, and by which entries", async () => {
      expect(await fixture.log.unprojected(partition)).to.deep.equal([]);
      const epoch = await fixture.take();
      await fixture.log.append(partition, deliveries(1));
      await fixture.commitEntries(epoch, 3);
      expect(await fixture.log.unprojected(partition)).to.deep.equal([{ actor, seq: 3, projected: 0 }]);
      await fixture.log.markProjected(partition, [{ actor, seq: 2 }]);
      expect(await fixture.log.unprojected(partition)).to.deep.equal([{ actor, seq: 3, projected: 2 }]);
      await fixture.log.markProjected(partition, [{ actor, seq: 3 }]);
      expect(await fixture.log.unprojected(partition)).to.deep.equal([]);
    });

    it("take the progress of the relay from the owner alone", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 2);
      expect(await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 1 }])).to.equal(true);
      const next = await fixture.take("w2");
      expect(await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 2 }])).to.equal(false);
      expect((await fixture.log.heads(partition, [actor]))[0]?.relayed).to.equal(1);
      expect(await fixture.log.markRelayed(partition, next, [{ actor, seq: 2 }])).to.equal(true);
    });

    async function snapshotAt(epoch: number, seq: number): Promise<void> {
      expect(
        await fixture.log.writeSnapshot(partition, epoch, actor, {
          seq,
          cursor: "0-0",
          hash: "h",
          body: "b",
        }),
      ).to.equal(true);
    }

    it("keep every entry that a snapshot, the relay or the projector still needs", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 10);
      const kept = async (): Promise<number[]> => {
        await fixture.log.trim(partition, [{ actor, seq: 9 }]);
        return (await fixture.seqs(0))?.seqs ?? [];
      };
      expect(await kept()).to.have.length(10);
      await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 10 }]);
      await fixture.log.markProjected(partition, [{ actor, seq: 6 }]);
      expect(await kept()).to.have.length(10);
      await snapshotAt(epoch, 3);
      expect(await kept(), "without a previous snapshot").to.have.length(10);
      await snapshotAt(epoch, 9);
      expect(await kept(), "down to the previous snapshot").to.deep.equal([4, 5, 6, 7, 8, 9, 10]);
      await snapshotAt(epoch, 10);
      expect(await kept(), "down to the projector").to.deep.equal([7, 8, 9, 10]);
      await fixture.log.markProjected(partition, [{ actor, seq: 10 }]);
      expect(await kept(), "down to the given seq").to.deep.equal([9, 10]);
      await snapshotAt(epoch, 10);
      await fixture.log.trim(partition, [{ actor, seq: 99 }]);
      expect((await fixture.seqs(0))?.seqs, "the last entry stays").to.deep.equal([10]);
    });

    it("remove the entries before the window as soon as the relay and the projector have passed them", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 10);
      await snapshotAt(epoch, 10);
      await snapshotAt(epoch, 10);
      await fixture.log.trim(partition, [{ actor, seq: 9 }]);
      const kept = async (): Promise<number[]> => (await fixture.seqs(0))?.seqs ?? [];
      await fixture.log.markProjected(partition, [{ actor, seq: 7 }]);
      expect(await kept(), "the relay needs all").to.have.length(10);
      await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 10 }]);
      expect(await kept(), "down to the projector").to.deep.equal([8, 9, 10]);
      await fixture.log.markProjected(partition, [{ actor, seq: 10 }]);
      expect(await kept(), "down to the window").to.deep.equal([9, 10]);
      await fixture.log.trim(partition, [{ actor, seq: 2 }]);
      await fixture.commit(epoch, [{ actor, expectedSeq: 10, cursor: "0-0", entry: "e", relayed: true }]);
      await fixture.log.markProjected(partition, [{ actor, seq: 11 }]);
      expect(await kept(), "the window does not go back").to.deep.equal([9, 10, 11]);
    });

    it("report a gap to a reader whose next entry was trimmed, and to no other", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 6);
      await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 6 }]);
      await fixture.log.markProjected(partition, [{ actor, seq: 6 }]);
      await snapshotAt(epoch, 6);
      await snapshotAt(epoch, 6);
      await fixture.log.trim(partition, [{ actor, seq: 5 }]);
      expect(await fixture.seqs(2)).to.deep.equal({ seqs: [5, 6], gap: true });
      expect(await fixture.seqs(3)).to.deep.equal({ seqs: [5, 6], gap: true });
      expect(await fixture.seqs(4)).to.deep.equal({ seqs: [5, 6], gap: false });
      expect(await fixture.seqs(6)).to.equal(undefined);
    });

    it("know the room that an actor takes", async () => {
      const epoch = await fixture.take();
      const entry = "x".repeat(1_000);
      for (let seq = 0; seq < 50; seq += 1) {
        await fixture.commit(epoch, [{ actor, expectedSeq: seq, cursor: "0-0", entry, relayed: true }]);
      }
      await fixture.log.append(partition, deliveries(3));
      await fixture.log.writeParts(partition, epoch, actor, [{ hash: "h", body: "x".repeat(5_000) }]);
      const other = "market:nobody" as ActorId;
      const [size, none] = await fixture.log.sizes(partition, [actor, other]);
      expect(size?.deltas.entries).to.equal(50);
      expect(size?.deltas.bytes).to.be.within(50_000, 80_000);
      expect(size?.mailbox.entries).to.equal(3);
      expect(size?.snapshotBytes).to.be.within(5_000, 8_000);
      const nothing = { entries: 0, bytes: 0 };
      expect(none).to.deep.equal({ deltas: nothing, mailbox: nothing, snapshotBytes: 0 });
    });

    it("leave entries to be read in pages, of many actors at once", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 5);
      const other = "market:other" as ActorId;
      await fixture.commit(epoch, [{ actor: other, expectedSeq: 0, cursor: "0-0", entry: "o" }]);
      const reads = [
        { partition, actor, afterSeq: 1 },
        { partition, actor: other, afterSeq: 0 },
        { partition, actor: "market:nobody" as ActorId, afterSeq: 0 },
      ];
      const found = await fixture.log.readEntries(reads, 2);
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

    it("are kept: the latest and the previous one", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 3);
      expect(await fixture.log.readSnapshot(partition, actor, "latest")).to.equal(undefined);
      expect(await fixture.log.writeSnapshot(partition, epoch, actor, snapshot(1))).to.equal(true);
      expect(await fixture.log.readSnapshot(partition, actor, "latest")).to.deep.equal(snapshot(1));
      expect(await fixture.log.readSnapshot(partition, actor, "previous")).to.equal(undefined);
      expect(await fixture.log.writeSnapshot(partition, epoch, actor, snapshot(3))).to.equal(true);
      expect(await fixture.log.readSnapshot(partition, actor, "latest")).to.deep.equal(snapshot(3));
      expect(await fixture.log.readSnapshot(partition, actor, "previous")).to.deep.equal(snapshot(1));
      expect(await fixture.log.heads(partition, [actor])).to.deep.equal([
        { ...untouched, seq: 3, snapshot: 3, previous: 1 },
      ]);
    });

    it("share parts, which are removed when no snapshot names them", async () => {
      const { log } = fixture;
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 5);
      const part = (name: string) => ({ hash: name, body: `part ${name}` });
      const stored = async (): Promise<readonly string[]> => {
        const names = ["a", "b", "c", "d"];
        const bodies = await log.readParts(partition, actor, names);
        for (const [index, body] of bodies.entries())
          expect(body ?? `part ${names[index] ?? ""}`).to.equal(`part ${names[index] ?? ""}`);
        return names.filter((_, index) => bodies[index] !== undefined);
      };
      expect(await stored()).to.deep.equal([]);
      expect(await log.writeParts(partition, epoch, actor, [part("a"), part("b")])).to.equal(true);
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(1), ["a", "b"])).to.equal(true);
      await log.writeParts(partition, epoch, actor, [part("c")]);
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(2), ["b", "c"])).to.equal(true);
      expect(await log.removeParts(partition, epoch, actor, 10)).to.equal(0);
      expect(await stored(), "of the latest and the previous").to.deep.equal(["a", "b", "c"]);
      await log.writeParts(partition, epoch, actor, [part("d")]);
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(3), ["d"])).to.equal(true);
      await log.writeSnapshot(partition, epoch, actor, snapshot(3), ["d"]);
      expect(await log.removeParts(partition, epoch - 1, actor, 10), "of another epoch").to.equal(0);
      expect(await stored()).to.deep.equal(["a", "b", "c", "d"]);
      expect(await log.removeParts(partition, epoch, actor, 2)).to.equal(1);
      expect(await log.removeParts(partition, epoch, actor, 2)).to.equal(0);
      expect(await stored()).to.deep.equal(["d"]);
    });

    it("are rejected when a part is missing, and parts when the epoch is fenced", async () => {
      const { log } = fixture;
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 2);
      await log.writeSnapshot(partition, epoch, actor, snapshot(1));
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(2), ["a"])).to.equal(false);
      expect(await log.writeParts(partition, epoch + 1, actor, [{ hash: "a", body: "a" }])).to.equal(false);
      expect(await log.writeSnapshot(partition, epoch, actor, snapshot(2), ["a"])).to.equal(false);
      expect(await log.readSnapshot(partition, actor, "latest")).to.deep.equal(snapshot(1));
    });

    it("are rejected when older, of another epoch, or of entries that were never committed", async () => {
      const epoch = await fixture.take();
      await fixture.commitEntries(epoch, 3);
      await fixture.log.writeSnapshot(partition, epoch, actor, snapshot(2));
      expect(await fixture.log.writeSnapshot(partition, epoch, actor, snapshot(1))).to.equal(false);
      expect(await fixture.log.writeSnapshot(partition, epoch, actor, snapshot(4))).to.equal(false);
      await fixture.take("w2");
      expect(await fixture.log.writeSnapshot(partition, epoch, actor, snapshot(3))).to.equal(false);
      expect(await fixture.log.readSnapshot(partition, actor, "latest")).to.deep.equal(snapshot(2));
    });
  });
}

/** Tests for a log with more than one partition in a commit group. */
export function commitGroupConformance(fixture: Fixture): void {
  it("writes all partitions of a commit group or none", async () => {
    const [first, second] = ["l3", "l4"];
    const neighbor = ledgerActor(4);
    const epoch = await fixture.take();
    const other = await takeFromAnyone(fixture.log, second, "w1");
    const ownerships = [
      { partition: first, epoch },
      { partition: second, epoch: other },
    ];
    const changeAt = (seq: number): Change => ({ ...entryAt(seq), partition: second, actor: neighbor });
    const changes = [entryAt(1), changeAt(1), entryAt(2)];
    expect(await fixture.log.commit({ ownerships, changes })).to.deep.equal({ kind: "ok" });
    expect((await fixture.log.heads(first, [actor]))[0]?.seq).to.equal(2);
    expect((await fixture.log.heads(second, [neighbor]))[0]?.seq).to.equal(1);
    await takeFromAnyone(fixture.log, second, "w2");
    expect(await fixture.log.commit({ ownerships, changes: [entryAt(3), changeAt(2)] })).to.deep.equal({
      kind: "fenced",
      partition: second,
    });
    expect((await fixture.log.heads(first, [actor]))[0]?.seq).to.equal(2);
  });
  describe("messages that leave with a commit", () => {
    const second = "l4";
    const neighbor = ledgerActor(4);
    const other = "market:of-the-neighbor" as ActorId;
    const departure = (to: ActorId, body: string) => ({ partition: second, to, body });
    let epoch: number;

    beforeEach(async () => {
      epoch = await fixture.take();
    });

    const commit = (seq: number, departures: readonly Departure[]) =>
      fixture.log.commit({ ownerships: [{ partition, epoch }], changes: [entryAt(seq)], departures });

    async function mailbox(to: ActorId): Promise<readonly string[]> {
      const found = await fixture.log.readMailboxes([{ partition: second, actor: to, after: "0-0" }], 9);
      return found.get(to)?.map(({ id, body }) => `${id} ${body}`) ?? [];
    }

    it("are in the mailboxes in order, and their actors are in the scan", async () => {
      await fixture.log.append(second, [{ to: neighbor, body: "first" }]);
      const departures = [departure(neighbor, "a"), departure(other, "b"), departure(neighbor, "c")];
      expect(await commit(1, departures)).to.deep.equal({ kind: "ok" });
      expect(await mailbox(neighbor)).to.deep.equal(["0-1 first", "0-2 a", "0-3 c"]);
      expect(await mailbox(other)).to.deep.equal(["0-1 b"]);
      const waiting = (await fixture.log.scan(second)).map((status) => [status.actor, status.waiting]);
      expect(waiting).to.deep.equal([
        [neighbor, 3],
        [other, 1],
      ]);
    });

    it("are not appended by a commit that is refused, or that comes again", async () => {
      const departures = [departure(neighbor, "a")];
      expect((await commit(2, departures)).kind).to.equal("conflict");
      const late = { ownerships: [{ partition, epoch: epoch - 1 }], changes: [entryAt(1)], departures };
      expect((await fixture.log.commit(late)).kind).to.equal("fenced");
      expect(await mailbox(neighbor)).to.deep.equal([]);
      await commit(1, departures);
      expect((await commit(1, departures)).kind).to.equal("conflict");
      expect(await mailbox(neighbor)).to.deep.equal(["0-1 a"]);
    });

    it("are in a notification, which names the actors alone when a message is long", async () => {
      const notices: ActorNotice[] = [];
      const scans: boolean[] = [];
      const listener = fixture.log.listen("commands", (notification) => {
        notices.push(...notification.notices);
        scans.push(notification.scanAll);
      });
      listener.watch([second]);
      await until(() => expect(scans).to.deep.equal([true]));
      await commit(1, [departure(neighbor, "a"), departure(other, "b")]);
      const inline = (position: number, body: string) => ({ position, body });
      const short = [
        { actor: neighbor, inline: inline(1, "a") },
        { actor: other, inline: inline(1, "b") },
      ];
      await until(() => expect(notices).to.deep.equal(short));
      notices.length = 0;
      await commit(2, [departure(neighbor, "x".repeat(20_000)), departure(other, "b")]);
      const long = [neighbor, other].map((named) => ({ actor: named, inline: undefined }));
      await until(() => expect(notices).to.deep.equal(long));
      await listener.close();
    });

    for (const applied of [0, 1]) {
      it(`wake a removed actor that had ${applied} messages, and their ids go on after them`, async () => {
        const otherEpoch = await takeFromAnyone(fixture.log, second, "w2");
        const cursor = `0-${applied}`;
        if (applied > 0) await fixture.log.append(second, [{ to: neighbor, body: "first" }]);
        const change = { actor: neighbor, expectedSeq: 0, cursor, entry: "e", relayed: true };
        await commitIn(fixture.log, { partition: second, epoch: otherEpoch }, [change]);
        await fixture.log.markProjected(second, [{ actor: neighbor, seq: 1 }]);
        await fixture.log.writeSnapshot(second, otherEpoch, neighbor, {
          seq: 1,
          cursor,
          hash: "h",
          body: "b",
        });
        expect(await fixture.log.removeActor(second, neighbor, "h")).to.equal(true);
        await commit(1, [departure(neighbor, "a"), departure(neighbor, "b")]);
        expect(await fixture.log.wanted([second])).to.deep.equal([neighbor]);
        expect(await mailbox(neighbor)).to.deep.equal([`0-${applied + 1} a`, `0-${applied + 2} b`]);
      });
    }
  });
}
