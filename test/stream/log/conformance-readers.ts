/** Conformance of a log: leases, notifications, feeds, halted actors and the installation. */

import { expect } from "chai";
import { type ActorId, PARTITIONS } from "../../../actors/actor.js";
import type { FeedReader, Notification } from "../../../stream/log/log.js";
import { actor, deliveries, entryAt, type Fixture, partition } from "./conformance.js";
import { commitIn, pause, takeFromAnyone } from "./support.js";
import { until } from "../../support/until.js";

export function readerConformance(fixture: Fixture): void {
  describe("leases", () => {
    it("get a higher epoch each time they are taken", async () => {
      const first = await fixture.take("w1");
      const second = await fixture.take("w1");
      const third = await fixture.take("w2");
      expect([second, third]).to.deep.equal([first + 1, first + 2]);
    });

    it("name their owner, and are taken only by a worker that has read the present epoch", async () => {
      const lease = async () => (await fixture.log.leases([partition, "m9"])).get(partition);
      expect(await lease()).to.deep.equal({ owner: undefined, epoch: 0 });
      expect(await fixture.log.take(partition, "w1", 0)).to.deep.equal({
        kind: "taken",
        epoch: 1,
        incarnation: "",
      });
      expect(await lease()).to.deep.equal({ owner: "w1", epoch: 1 });
      expect(await fixture.log.take(partition, "w2", 0)).to.deep.equal({ kind: "changed" });
      expect(await fixture.commit(1, [entryAt(1)])).to.deep.equal({ kind: "ok" });
      expect(await fixture.log.take(partition, "w2", 1)).to.deep.equal({
        kind: "taken",
        epoch: 2,
        incarnation: "",
      });
    });

    it("are released once, and then fence their old epoch", async () => {
      const epoch = await fixture.take();
      await fixture.log.release(partition, epoch);
      expect(await fixture.commit(epoch, [entryAt(1)])).to.deep.equal({ kind: "fenced", partition });
      const released = (await fixture.log.leases([partition])).get(partition);
      expect(released).to.deep.equal({ owner: undefined, epoch: epoch + 1 });
      await fixture.take("w2");
      await fixture.log.release(partition, epoch);
      expect((await fixture.log.leases([partition])).get(partition)?.owner).to.equal("w2");
    });
  });

  describe("heartbeats", () => {
    const LEASE_MS = 60;

    async function beat(worker: string, takes = true): Promise<readonly string[]> {
      const live = await fixture.log.heartbeat({ worker, leaseMs: LEASE_MS, takes });
      return live.map(({ name }) => name).sort();
    }

    /** Sends heartbeats of a worker, one each 10 ms, for a time. Returns the live workers at the end. */
    async function beatFor(worker: string, ms: number): Promise<readonly string[]> {
      const endMs = performance.now() + ms;
      let live: readonly string[] = [];
      while (performance.now() < endMs) {
        live = await beat(worker);
        await pause(10);
      }
      return live;
    }

    it("keep a worker live, until it leaves", async () => {
      expect(await beat("w1")).to.deep.equal(["w1"]);
      expect(await beat("w2")).to.deep.equal(["w1", "w2"]);
      await fixture.log.leave("w1");
      expect(await beat("w2")).to.deep.equal(["w2"]);
    });

    it("tell how long a worker has been live, and whether it takes partitions", async () => {
      await beat("w1");
      await beatFor("w1", 100);
      const [worker] = await fixture.log.heartbeat({ worker: "w1", leaseMs: LEASE_MS, takes: false });
      expect(worker).to.include({ name: "w1", takes: false });
      expect(worker?.liveMs).to.be.within(40, 400);
    });

    it("end the life of a worker that sends none for its lease, and begin another", async () => {
      await beat("w1");
      await until(async () => expect(await beat("w2")).to.deep.equal(["w2"]));
      await beat("w1");
      const live = await fixture.log.heartbeat({ worker: "w2", leaseMs: LEASE_MS, takes: true });
      expect(live.find(({ name }) => name === "w1")?.liveMs).to.be.below(LEASE_MS);
    });

    it("let no lease expire in a time in which the log answered none", async () => {
      await beat("w1");
      await beat("w2");
      await pause(8 * LEASE_MS);
      expect(await beat("w2")).to.deep.equal(["w1", "w2"]);
      await until(async () => expect(await beat("w2")).to.deep.equal(["w2"]));
    });

    it("give a worker whose heartbeats come late a longer lease", async () => {
      for (let n = 0; n < 3; n += 1) {
        await beat("w1");
        await beatFor("w2", 45);
      }
      await beat("w1");
      expect(await beatFor("w2", 80), "after 80 ms").to.deep.equal(["w1", "w2"]);
      expect(await beatFor("w2", 400), "after 480 ms").to.deep.equal(["w2"]);
    });
  });

  describe("the record of engine time", () => {
    const time = (engineMs?: number, confirmed = 0) =>
      fixture.log.time({ name: "w1", engineMs, confirmed, hostDifferenceMs: undefined });

    it("has the engine time of the last report before", async () => {
      const first = await time(5_000);
      expect(first).to.include({ heldMs: 0, confirmed: 0, engineMs: undefined, lastJump: undefined });
      expect(Math.abs(first.logMs - Date.now())).to.be.below(5_000);
      expect(await time(6_000)).to.include({ engineMs: 5_000 });
      expect(await time()).to.include({ engineMs: 6_000 });
      expect(await time()).to.include({ engineMs: 6_000 });
    });

    it("holds a difference once, until it is confirmed", async () => {
      const read = await time(5_000);
      expect(await fixture.log.holdTime(read, -7_000)).to.equal(true);
      expect(await fixture.log.holdTime(read, -8_000), "by a process that is late").to.equal(false);
      expect(await time()).to.include({ heldMs: -7_000, confirmed: 0 });
      expect((await fixture.log.clockReport()).heldMs).to.equal(-7_000);
      await fixture.log.confirmTime();
      const confirmed = await time(5_000);
      expect(confirmed).to.include({ heldMs: 0, confirmed: 1, engineMs: undefined });
      expect(confirmed.lastJump).to.include({ heldMs: -7_000 });
      expect(confirmed.lastJump?.atMs).to.be.within(read.logMs, confirmed.logMs);
      expect(await time(5_000, 1), "of a process that had not seen it").to.include({ engineMs: undefined });
      expect(await fixture.log.holdTime(read, -9_000)).to.equal(false);
      expect(await time()).to.include({ heldMs: 0, confirmed: 1, engineMs: 5_000 });
    });

    it("keeps a larger jump that was confirmed shortly before, and confirms none that is not held", async () => {
      const hold = async (heldMs: number) => fixture.log.holdTime(await time(), heldMs);
      await hold(-700_000);
      await fixture.log.confirmTime();
      const first = await time();
      expect(first.lastJump).to.include({ heldMs: -700_000 });
      await fixture.log.confirmTime();
      expect(await time()).to.deep.include({ confirmed: 1, lastJump: first.lastJump });
      await hold(9_000);
      await fixture.log.confirmTime();
      expect(await time()).to.deep.include({ confirmed: 2, heldMs: 0, lastJump: first.lastJump });
      await hold(800_000);
      await fixture.log.confirmTime();
      expect((await time()).lastJump).to.include({ heldMs: 800_000 });
    });

    it("has the processes whose host has another time", async () => {
      const report = (name: string, hostDifferenceMs?: number) =>
        fixture.log.time({ name, confirmed: 0, hostDifferenceMs });
      await report("w1", 7_000);
      await report("w2", -3_600_000);
      expect((await fixture.log.clockReport()).hosts).to.deep.equal({ w1: 7_000, w2: -3_600_000 });
      await report("w1");
      expect((await fixture.log.clockReport()).hosts).to.deep.equal({ w2: -3_600_000 });
    });
  });

  describe("notifications", () => {
    /** Listens, and waits until the subscription has begun. */
    async function listen(
      kind: "commands" | "deltas",
      from = fixture.log,
      partitions = [partition],
    ): Promise<Notification[]> {
      const notifications: Notification[] = [];
      from.listen(kind, (notification) => notifications.push(notification)).watch(partitions);
      await until(() =>
        expect(notifications.filter(({ scanAll }) => scanAll)).to.have.length(partitions.length),
      );
      notifications.length = 0;
      return notifications;
    }

    const actorsIn = (notifications: readonly Notification[]): ActorId[] =>
      notifications.flatMap(({ notices }) => notices.map((notice) => notice.actor));

    it("name the actors that received commands, once per append", async () => {
      const notifications = await listen("commands");
      const other = "market:other" as ActorId;
      await fixture.log.append(partition, [...deliveries(2), ...deliveries(1, other)]);
      await until(() => expect(actorsIn(notifications)).to.deep.equal([actor, actor, other]));
      expect(notifications).to.have.length(1);
      expect(notifications[0]).to.deep.include({ partition, scanAll: false });
      expect(notifications[0]?.notices[1]).to.deep.equal({
        actor,
        inline: { position: 2, body: "message 2" },
      });
    });

    it("do not name an actor whose message was rejected", async () => {
      await fixture.log.append(partition, deliveries(1), 1);
      const notifications = await listen("commands");
      const other = "market:other" as ActorId;
      await fixture.log.append(partition, deliveries(1), 1);
      await fixture.log.append(partition, deliveries(1, other), 1);
      await until(() => expect(actorsIn(notifications)).to.deep.equal([other]));
    });

    it("name the actors that committed entries", async () => {
      const notifications = await listen("deltas");
      const epoch = await fixture.take();
      const other = "market:other" as ActorId;
      await fixture.commit(epoch, [entryAt(1), { actor: other, expectedSeq: 0, cursor: "0-0" }]);
      await fixture.commit(epoch, [{ actor: other, expectedSeq: 0, cursor: "0-0", entry: "x" }]);
      await until(() => expect(actorsIn(notifications)).to.deep.equal([actor, other]));
    });

    it("arrive for the watched partitions, also for those added later", async () => {
      const notifications: Notification[] = [];
      const listener = fixture.log.listen("commands", (notification) => notifications.push(notification));
      listener.watch([partition]);
      await until(() => expect(notifications).to.deep.equal([{ partition, notices: [], scanAll: true }]));
      const began = Date.now();
      listener.watch([partition, "m9"]);
      await until(() =>
        expect(notifications.at(-1)).to.deep.equal({ partition: "m9", notices: [], scanAll: true }),
      );
      expect(Date.now() - began, "ms until a new partition is watched").to.be.below(2_000);
      listener.watch(["m9"]);
      notifications.length = 0;
      await fixture.log.append(partition, deliveries(1));
      await fixture.log.append("m9", deliveries(1, "market:nine"));
      await until(() => expect(actorsIn(notifications)).to.deep.equal(["market:nine"]));
    });

    it("arrive for all partitions at once", async () => {
      const notifications = await listen("deltas", fixture.log, [...PARTITIONS]);
      for (const name of ["l0", "m0", "m63"]) {
        const epoch = await takeFromAnyone(fixture.log, name, "w");
        await commitIn(fixture.log, { partition: name, epoch }, [
          { actor: `market:${name}`, expectedSeq: 0, cursor: "0-0", entry: "x" },
        ]);
      }
      await until(() =>
        expect(actorsIn(notifications)).to.have.members(["market:l0", "market:m0", "market:m63"]),
      );
    });

    it("request a scan after a lost connection", async () => {
      const notifications = await listen("commands");
      await fixture.subject.cut(fixture.log);
      await until(() => expect(notifications.some(({ scanAll }) => scanAll)).to.equal(true));
      notifications.length = 0;
      await until(async () => {
        await (await fixture.subject.open()).append(partition, deliveries(1));
        expect(actorsIn(notifications)).to.include(actor);
      });
    });
  });

  describe("feeds", () => {
    class RecordingReader implements FeedReader {
      readonly bodies: string[] = [];
      missed = 0;
      onBody(body: string): void {
        this.bodies.push(body);
      }
      onMissed(): void {
        this.missed += 1;
      }
    }

    it("send each subscriber the messages published after it subscribed", async () => {
      await fixture.log.publish({ feed: "f", body: "before the first subscription" });
      const [one, two] = [new RecordingReader(), new RecordingReader()];
      await fixture.log.subscribe("f", one);
      await fixture.log.publish({ feed: "f", body: "1" });
      // On a cluster, a message can still be on its way from node to node when the next reader subscribes.
      await until(() => expect(one.bodies).to.include("1"));
      await (await fixture.subject.open()).subscribe("f", two);
      await fixture.log.publish({ feed: "f", body: "2" });
      await fixture.log.publish({ feed: "g", body: "in another feed" });
      await fixture.log.publish({ feed: "f", body: "3" });
      await until(() => {
        // On a cluster, messages of one publisher can take different ways and lose their order.
        expect(one.bodies).to.have.members(["1", "2", "3"]);
        expect(two.bodies).to.have.members(["2", "3"]);
      });
      expect([one.missed, two.missed]).to.deep.equal([0, 0]);
    });

    it("send nothing after a subscription is closed", async () => {
      const [one, two] = [new RecordingReader(), new RecordingReader()];
      const subscription = await fixture.log.subscribe("f", one);
      await fixture.log.subscribe("f", two);
      await subscription.close();
      await fixture.log.publish({ feed: "f", body: "1" });
      await until(() => expect(two.bodies).to.deep.equal(["1"]));
      expect(one.bodies).to.deep.equal([]);
    });
  });

  describe("other records", () => {
    it("keep the reasons of halted actors", async () => {
      await fixture.log.markHalted(actor, "broken");
      await fixture.log.markHalted("market:m", "worse");
      await fixture.log.markHalted(actor, undefined);
      expect([...(await fixture.log.halted())]).to.deep.equal([["market:m", "worse"]]);
    });

    it("keep the messages in the quarantine until they are dismissed", async () => {
      const epoch = await fixture.take();
      for (const quarantined of ["one", "two"]) {
        await fixture.commit(epoch, [{ actor, expectedSeq: 0, cursor: "0-0", quarantined }]);
      }
      const records = await fixture.log.quarantine();
      expect(records.map(({ partition, body }) => [partition, body])).to.deep.equal([
        ["l3", "one"],
        ["l3", "two"],
      ]);
      const [one = { partition: "", id: "" }] = records;
      expect(await fixture.log.dismiss(one)).to.equal(true);
      expect(await fixture.log.dismiss(one)).to.equal(false);
      expect((await fixture.log.quarantine()).map(({ body }) => body)).to.deep.equal(["two"]);
      expect(await fixture.log.quarantineSize()).to.equal(1);
    });

    it("keep the facts of the first start", async () => {
      expect(await fixture.log.installation({ a: "1" })).to.deep.equal({ a: "1" });
      expect(await fixture.log.installation({ a: "2", b: "3" })).to.deep.equal({ a: "1", b: "3" });
    });

    it("include the room that the log has left", async () => {
      const { memoryUse, fault, disk } = await fixture.log.condition();
      expect(memoryUse).to.be.within(0, 1);
      expect([fault, disk]).to.deep.equal([undefined, undefined]);
    });

    it("keep the report of a disk that is nearly full until it is removed", async () => {
      await fixture.log.reportDisk("the disk has 10 MB left", 60_000);
      expect((await fixture.log.condition()).disk).to.equal("the disk has 10 MB left");
      await fixture.log.reportDisk(undefined, 60_000);
      expect((await fixture.log.condition()).disk).to.equal(undefined);
    });

    it("are available again after a loss of the connection, which is reported", async () => {
      let lost = 0;
      fixture.log.onLost(() => {
        lost += 1;
      });
      await fixture.subject.cut(fixture.log);
      await until(() => expect(lost).to.be.above(0));
      await until(async () => {
        expect(await fixture.log.installation({})).to.deep.equal({});
      });
    });
  });
}
