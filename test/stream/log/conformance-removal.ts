import { expect } from "chai";
import type { Notification, StoredActor } from "../../../stream/log/log.js";
import { until } from "../../support/until.js";
import { actor, deliveries, entryAt, type Fixture, partition, untouched } from "./conformance.js";

/** Conformance of the removal of actors and of their restoration. */
export function removalConformance(fixture: Fixture): void {
  describe("a removal", () => {
    const parts = [
      { hash: "p1", body: "part 1" },
      { hash: "p2", body: "part 2" },
    ];
    const snapshot = { seq: 2, cursor: "0-3", hash: "h2", body: "the state" };
    const live = { ...untouched, seq: 2, cursor: "0-3", relayed: 2, projected: 2 };
    const removed = { ...live, removed: "h2" };
    let epoch: number;
    let stored: StoredActor;

    /** Makes an actor that has applied three messages and has nothing left to do. */
    beforeEach(async () => {
      epoch = await fixture.take();
      await fixture.log.append(partition, deliveries(3));
      await fixture.commit(epoch, [entryAt(1, "0-2")]);
      await fixture.commit(epoch, [entryAt(2, "0-3")]);
      await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 2 }]);
      await fixture.log.markProjected(partition, [{ actor, seq: 2 }]);
      await fixture.log.writeParts(partition, epoch, actor, parts);
      await fixture.log.writeSnapshot(partition, epoch, actor, snapshot, ["p1", "p2"]);
      stored = (await fixture.log.readStored(partition, actor)) ?? expect.fail("there is no snapshot");
    });

    const remove = (hash = "h2"): Promise<boolean> => fixture.log.removeActor(partition, actor, hash);
    const head = async () => (await fixture.log.heads(partition, [actor]))[0];

    it("leaves the positions of the actor, and nothing else", async () => {
      expect(stored).to.deep.equal({ snapshot, parts });
      expect(await fixture.log.actors(partition)).to.deep.equal([actor]);
      expect(await remove()).to.equal(true);
      expect(await head()).to.deep.equal(removed);
      expect(await fixture.log.scan(partition)).to.deep.equal([]);
      expect(await fixture.log.actors(partition)).to.deep.equal([]);
      expect(await fixture.seqs(0)).to.equal(undefined);
      expect(await fixture.log.readSnapshot(partition, actor, "latest")).to.equal(undefined);
      expect(await fixture.log.readParts(partition, actor, ["p1"])).to.deep.equal([undefined]);
      expect(await remove(), "again").to.equal(true);
      expect(await remove("h1"), "with another snapshot").to.equal(false);
    });

    for (const [title, prepare] of [
      ["a message", () => fixture.log.append(partition, deliveries(1))],
      [
        "a deadline",
        () => fixture.commit(epoch, [{ ...entryAt(3, "0-3"), entry: undefined, deadlineMs: 9 }]),
      ],
      ["a later entry", () => fixture.commit(epoch, [entryAt(3, "0-3")])],
      [
        "a later snapshot",
        () => fixture.log.writeSnapshot(partition, epoch, actor, { ...snapshot, hash: "h3" }, []),
      ],
    ] as const) {
      it(`spares an actor with ${title}`, async () => {
        await prepare();
        const before = await head();
        expect(await remove()).to.equal(false);
        expect(await head()).to.deep.equal(before);
      });
    }

    it("removes an actor whose marks are above its last entry, because the log has lost entries since", async () => {
      await fixture.log.markProjected(partition, [{ actor, seq: 9 }]);
      await fixture.log.markRelayed(partition, epoch, [{ actor, seq: 8 }]);
      expect(await remove()).to.equal(true);
      expect(await head()).to.deep.equal({ ...removed, projected: 9, relayed: 8 });
    });

    it("rejects the commits and the snapshots of an owner that has the actor in memory", async () => {
      await remove();
      expect(await fixture.commit(epoch, [entryAt(3, "0-3")])).to.deep.equal({ kind: "removed", actor });
      expect(await fixture.log.writeSnapshot(partition, epoch, actor, snapshot, [])).to.equal(false);
      expect(await head()).to.deep.equal(removed);
    });

    it("is reported to the sender of a message, whose id goes on after the last one", async () => {
      await remove();
      expect(await fixture.log.wanted([partition])).to.deep.equal([]);
      expect(await fixture.log.append(partition, deliveries(2))).to.deep.equal(["removed", "appended"]);
      expect(await fixture.log.wanted([partition])).to.deep.equal([actor]);
      const found = await fixture.log.readMailboxes([{ partition, actor, after: "0-3" }], 9);
      expect(found.get(actor)?.map(({ id }) => id)).to.deep.equal(["0-4", "0-5"]);
    });

    it("is undone with its snapshot alone, and the seqs go on", async () => {
      await remove();
      await fixture.log.append(partition, deliveries(1));
      const wrong = { ...stored, snapshot: { ...snapshot, hash: "h1" } };
      expect(await fixture.log.restoreActor(partition, actor, wrong)).to.equal(false);
      const notified: Notification[] = [];
      const listener = fixture.log.listen("commands", (notification) => notified.push(notification));
      listener.watch([partition]);
      await until(() => notified.length > 0);
      expect(await fixture.log.restoreActor(partition, actor, stored)).to.equal(true);
      await until(() => notified.some(({ notices }) => notices.some((notice) => notice.actor === actor)));
      await listener.close();
      expect(await fixture.log.restoreActor(partition, actor, stored), "again").to.equal(false);
      expect(await fixture.log.wanted([partition])).to.deep.equal([]);
      expect(await fixture.log.readStored(partition, actor)).to.deep.equal(stored);
      expect(await fixture.log.scan(partition)).to.have.length(1);
      expect(await head()).to.deep.equal({ ...live, snapshot: 2 });
      expect(await fixture.commit(epoch, [entryAt(3, "0-4")])).to.deep.equal({ kind: "ok" });
      expect(await fixture.seqs(2)).to.deep.equal({ seqs: [3], gap: false });
    });
  });
}
