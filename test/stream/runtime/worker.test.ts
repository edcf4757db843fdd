import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { expect } from "chai";
import { type ActorId, ledgerActor } from "../../../actors/actor.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LATEST_FORMAT, latestFormat } from "../../../actors/format.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { type MemoryLog } from "../../support/log/memory-log.js";
import { packEntry, packEnvelope, parseEnvelope, parseQuarantined } from "../../../stream/log/packing.js";
import { SNAPSHOT_LIMITS } from "../../../stream/runtime/snapshot-policy.js";
import type { Snapshots } from "../../../stream/runtime/snapshots/snapshots.js";
import { restAfter, Worker } from "../../../stream/runtime/worker.js";
import { counter } from "./counter.js";
import { a, b, Deployment, FaultyGate, partitionOfWorker, post, sendCommand, step } from "./deployment.js";
import { commitIn, counterInLog, ManualClock, microtasksDone, pause } from "../log/support.js";
import { until, untilWithin } from "../../support/until.js";
import { stopwatch } from "../../support/stopwatch.js";

describe("a worker", () => {
  let deployment: Deployment;

  beforeEach(() => {
    deployment = new Deployment();
  });

  afterEach(() => deployment.close());

  describe("stepped by the test", () => {
    let log: MemoryLog;
    let faults: FaultyGate;
    let worker: Worker;

    beforeEach(async () => {
      log = deployment.connect();
      faults = new FaultyGate();
      worker = deployment.worker(deployment.connect(faults.gate));
      await worker.beat();
    });

    it("commits a waiting message once", async () => {
      await post(log, a, { kind: "add", n: 3 });
      const partition = partitionOfWorker(worker, "l1");
      expect(partition.hasWork(0)).to.equal(true);
      await step(worker, "l1");
      await step(worker, "l1");
      expect(partition.hasWork(Date.now())).to.equal(false);
      expect((await counterInLog(log, a)).value).to.equal(3);
      expect((await log.heads("l1", [a]))[0]).to.include({ seq: 1, cursor: "0-1" });
    });

    it("is fenced after a pause longer than its lease, and its ownership ends", async () => {
      await post(log, a, { kind: "add", n: 1 });
      await step(worker, "l1");
      await post(log, a, { kind: "add", n: 3 });
      const paused = partitionOfWorker(worker, "l1");
      paused.markUnread(a);
      const resume = faults.hold("commit");
      const stepping = step(worker, "l1");
      const successor = deployment.worker(deployment.connect());
      await log.leave(worker.id);
      await successor.beat();
      await step(successor, "l1");
      await post(log, a, { kind: "add", n: 5 });
      resume();
      await stepping;
      expect(paused.ended).to.equal(true);
      expect(String(paused.endReason)).to.match(/has another owner/);
      expect((await counterInLog(log, a)).value).to.equal(4);
      partitionOfWorker(successor, "l1").markUnread(a);
      await step(successor, "l1");
      expect((await counterInLog(log, a)).value).to.equal(9);
    });

    for (const written of [true, false]) {
      it(`recovers from the log after an unknown commit that ${written ? "was" : "was not"} written`, async () => {
        await post(log, a, { kind: "add", n: 3 });
        if (written) faults.loseAnswer("commit");
        else faults.lose("commit");
        const partition = partitionOfWorker(worker, "l1");
        await step(worker, "l1");
        expect(partition.ended).to.equal(true);
        expect((await counterInLog(log, a)).value).to.equal(written ? 3 : 0);
        await worker.beat();
        expect(partitionOfWorker(worker, "l1").epoch).to.equal(partition.epoch + 1);
        await step(worker, "l1");
        expect((await counterInLog(log, a)).value).to.equal(3);
        expect((await log.heads("l1", [a]))[0]).to.include({ seq: 1, cursor: "0-1" });
      });
    }

    for (const fault of ["before the relay", "after the relay", "with the relay unknown"] as const) {
      it(`relays messages once when it dies ${fault}`, async () => {
        await post(log, a, { kind: "send", to: b, numbers: [1, 2] });
        await post(log, a, { kind: "send", to: b, numbers: [3] });
        await step(worker, "l1");
        if (fault === "with the relay unknown") faults.loseAnswer("append");
        if (fault !== "before the relay") await worker.relay.step("l2");
        expect(partitionOfWorker(worker, "l1").ended).to.equal(fault === "with the relay unknown");
        await log.leave(worker.id);
        const successor = deployment.worker(deployment.connect());
        await successor.beat();
        await step(successor, "l1");
        await successor.relay.step("l2");
        await step(successor, "l2");
        expect((await counterInLog(log, b)).received).to.deep.equal({ [a]: [1, 2, 3] });
        await successor.relay.flush();
        expect((await log.heads("l1", [a]))[0]).to.include({ seq: 1, relayed: 1 });
      });
    }

    it("reaches a receiver that has applied messages which the sender's partition has lost", async () => {
      const send = async (n: number): Promise<void> => {
        await post(log, a, { kind: "send", to: b, numbers: [n] });
        partitionOfWorker(worker, "l1").markUnread(a);
        await step(worker, "l1");
        await worker.relay.step("l2");
        partitionOfWorker(worker, "l2").markUnread(b);
        await step(worker, "l2");
      };
      await send(1);
      await worker.relay.flush();
      const goBack = deployment.store.keep("l1");
      await send(2);
      await worker.relay.flush();
      const [before] = await log.heads("l1", [a]);
      goBack();
      await worker.beat();
      await worker.beat();
      await send(3);
      expect((await counterInLog(log, b)).received).to.deep.equal({ [a]: [1, 2, 3] });
      const [after] = await log.heads("l1", [a]);
      expect(after?.seq).to.be.above((before?.seq ?? 0) + 1_000);
      expect(after?.lineage).to.match(/^\w+@1@\d+$/);
    });

    it("halts an actor with a broken invariant, records the reason, and continues with the others", async () => {
      await post(log, a, { kind: "add", n: 1 });
      const broken = packEnvelope({ source: b, seq: 1, commands: [{ kind: "break" }] });
      await log.append("l1", [{ to: a, body: broken }]);
      await post(log, a, { kind: "add", n: 1 });
      const neighbor = "ledger:01" as ActorId;
      await log.append("l1", [{ to: neighbor, body: packEnvelope({ commands: [{ kind: "add", n: 7 }] }) }]);
      const partition = partitionOfWorker(worker, "l1");
      await step(worker, "l1");
      partition.notify({ partition: "l1", notices: [], scanAll: true });
      await step(worker, "l1");
      expect(partition.ended).to.equal(false);
      expect((await log.heads("l1", [a, neighbor])).map(({ seq, cursor }) => [seq, cursor])).to.deep.equal([
        [1, "0-1"],
        [1, "0-1"],
      ]);
      expect([...(await log.halted()).keys()]).to.deep.equal([a]);
      expect((await log.halted()).get(a)).to.match(/broken on request/);

      // The next owner runs the actor again; a repaired program succeeds.
      await worker.stop();
      const repaired = {
        ...counter,
        decide: ((state, command, now) =>
          counter.decide(
            state,
            command.kind === "break" ? { kind: "read" } : command,
            now,
          )) as typeof counter.decide,
      };
      const successor = deployment.worker(deployment.connect(), systemClock, repaired);
      await successor.beat();
      await step(successor, "l1");
      expect((await counterInLog(log, a)).value).to.equal(2);
      await until(async () => expect([...(await log.halted())]).to.deep.equal([]));
    });

    it("puts a command that breaks an invariant into the quarantine, and the actor goes on", async () => {
      await post(log, a, { kind: "alarm", atMs: 5_000 });
      await post(log, a, { kind: "break" }, "poison");
      await post(log, a, { kind: "add", n: 1 });
      const partition = partitionOfWorker(worker, "l1");
      await step(worker, "l1");
      // The deadline says at once, until the actor has run again: the failed state has none to trust.
      expect((await log.scan("l1"))[0]?.deadlineMs).to.equal(0);
      await step(worker, "l1");
      await step(worker, "l1");
      expect(partition.ended).to.equal(false);
      expect((await log.heads("l1", [a]))[0]).to.include({ cursor: "0-3" });
      expect((await counterInLog(log, a)).value).to.equal(1);
      expect([...(await log.halted())]).to.deep.equal([]);
      expect(await log.quarantineSize()).to.equal(1);
      const [message] = (await log.quarantine()).map(({ body }) => parseQuarantined(body));
      expect(message).to.deep.include({ actor: a, reason: "the invariant is broken on request" });
      expect(parseEnvelope(message?.body ?? "")).to.deep.include({
        id: "poison",
        commands: [{ kind: "break" }],
      });
      expect((await log.scan("l1"))[0]?.deadlineMs).to.not.equal(0);

      // A repeat is answered from memory, and is not executed again.
      await post(log, a, { kind: "break" }, "poison");
      partition.markUnread(a);
      await step(worker, "l1");
      expect(await log.quarantineSize()).to.equal(1);
    });

    it("puts what is left of a command into the quarantine when a later piece fails, also after a take-over", async () => {
      await post(log, a, { kind: "climb", n: 4, breaksAt: 2 }, "poison");
      await post(log, a, { kind: "add", n: 10 });
      await step(worker, "l1");
      expect((await counterInLog(log, a)).value).to.equal(1);
      await worker.stop();
      const successor = deployment.worker(deployment.connect());
      await successor.beat();
      await until(async () => {
        await step(successor, "l1");
        return (await log.heads("l1", [a]))[0]?.cursor === "0-2";
      });
      expect((await counterInLog(log, a)).value, "two pieces, and the next command").to.equal(12);
      expect([...(await log.halted())]).to.deep.equal([]);
      const [message, ...others] = (await log.quarantine()).map(({ body }) => parseQuarantined(body));
      expect(others).to.deep.equal([]);
      expect(parseEnvelope(message?.body ?? "")).to.deep.include({
        id: "poison",
        commands: [{ kind: "climb", n: 2, breaksAt: 2 }],
      });
    });

    it("quarantines nothing as a former owner with an old state", async () => {
      await post(log, a, { kind: "break" });
      const successor = deployment.worker(deployment.connect());
      await log.leave(worker.id);
      await successor.beat();
      const partition = partitionOfWorker(worker, "l1");
      await step(worker, "l1");
      expect(partition.ended).to.equal(true);
      expect(await log.quarantineSize()).to.equal(0);
    });

    it("halts no actor as a former owner with an old state", async () => {
      const broken = packEnvelope({ source: b, seq: 1, commands: [{ kind: "break" }] });
      await log.append("l1", [{ to: a, body: broken }]);
      const successor = deployment.worker(deployment.connect());
      await log.leave(worker.id);
      await successor.beat();
      const partition = partitionOfWorker(worker, "l1");
      await step(worker, "l1");
      expect(partition.ended).to.equal(true);
      expect([...(await log.halted())]).to.deep.equal([]);
    });

    it("takes entries that its successor has trimmed for no corrupt log", async () => {
      for (const id of ["first", "second"]) {
        const commands = Array.from({ length: 20_000 }, () => ({ kind: "add", n: 1 }));
        await log.append("l1", [{ to: a, body: packEnvelope({ id, commands }) }]);
      }
      for (let entry = 1; entry <= 2; entry += 1) await step(worker, "l1");
      const partition = partitionOfWorker(worker, "l1");
      const readEntries = faults.hold("readEntries");
      const preparing = partition.prepareMove(true);
      await pause(50);
      await log.leave(worker.id);
      await deployment.worker(deployment.connect()).beat();
      const [head] = await log.heads("l1", [a]);
      const { epoch = 0 } = (await log.leases(["l1"])).get("l1") ?? {};
      await log.markProjected("l1", [{ actor: a, seq: 2 }]);
      const snapshot = { seq: 2, cursor: head?.cursor ?? "", hash: "h", body: "b" };
      for (let copy = 0; copy < 2; copy += 1) await log.writeSnapshot("l1", epoch, a, snapshot);
      await log.trim("l1", [{ actor: a, seq: 2 }]);
      readEntries();
      await preparing;
      expect(partition.ended).to.equal(true);
    });

    const POISON = 1_000;
    const withoutRoutes: typeof counter = {
      ...counter,
      route: (id, batch) => {
        if (batch.deltas.some((delta) => delta.type === "added" && delta.n === POISON))
          throw new Error("routing fails");
        return counter.route(id, batch);
      },
    };
    const withoutDeadline: typeof counter = {
      ...counter,
      deadline: (state) => {
        if (state.value >= POISON) throw new Error("the deadline fails");
        return counter.deadline(state);
      },
    };
    for (const [failure, actor] of [
      ["fails to return its messages", withoutRoutes],
      ["fails to return its deadline", withoutDeadline],
    ] as const) {
      it(`puts the command into the quarantine after which an actor ${failure}, and no other`, async () => {
        await worker.stop();
        const broken = deployment.worker(deployment.connect(), systemClock, actor);
        await broken.beat();
        for (const n of [1, 1, POISON, 1, 1]) await post(log, a, { kind: "add", n });
        const partition = partitionOfWorker(broken, "l1");
        await until(async () => {
          await step(broken, "l1");
          return (await log.heads("l1", [a]))[0]?.cursor === "0-5";
        });
        expect((await counterInLog(log, a)).value).to.equal(4);
        expect(partition.ended).to.equal(false);
        expect([...(await log.halted())]).to.deep.equal([]);
        const quarantined = (await log.quarantine()).map(({ body }) => parseQuarantined(body));
        expect(quarantined.map(({ body }) => parseEnvelope(body).commands)).to.deep.equal([
          [{ kind: "add", n: POISON }],
        ]);
      });

      it(`halts an actor that ${failure} after the message of another actor, and no other actor`, async () => {
        await worker.stop();
        const body = packEnvelope({ source: b, seq: 1, commands: [{ kind: "add", n: POISON }] });
        await log.append("l1", [{ to: a, body }]);
        for (const round of [1, 2]) {
          const broken = deployment.worker(deployment.connect(), systemClock, actor);
          await broken.beat();
          await post(log, a, { kind: "add", n: 1 });
          await log.append("l1", [
            { to: "ledger:01", body: packEnvelope({ commands: [{ kind: "add", n: 7 }] }) },
          ]);
          const partition = partitionOfWorker(broken, "l1");
          await until(async () => {
            await step(broken, "l1");
            return (await log.halted()).size > 0 && partition.hold("ledger:01")?.seq === round;
          });
          expect(partition.ended).to.equal(false);
          expect((await log.heads("l1", [a]))[0]).to.include({ seq: 0, cursor: "0-0" });
          expect([...(await log.halted()).keys()]).to.deep.equal([a]);
          await broken.stop();
        }
      });
    }

    it("notices without a command that another worker had its partition", async () => {
      const partition = partitionOfWorker(worker, "l1");
      await worker.beat();
      expect(partition.ended).to.equal(false);
      await log.leave(worker.id);
      const successor = deployment.worker(deployment.connect());
      await successor.beat();
      await post(log, a, { kind: "alarm", atMs: Date.now() });
      await step(successor, "l1");
      await successor.stop();
      // A worker looks at the leases once a second.
      await pause(1_000);
      await worker.beat();
      expect(partition.ended).to.equal(true);
      await worker.beat();
      await step(worker, "l1");
      expect((await counterInLog(log, a)).tickedMs).to.have.length(1);
    });

    it("skips a malformed message", async () => {
      await log.append("l1", [{ to: a, body: "{" }]);
      await post(log, a, { kind: "add", n: 1 });
      await step(worker, "l1");
      expect((await counterInLog(log, a)).value).to.equal(1);
      expect((await log.scan("l1"))[0]?.waiting).to.equal(0);
    });

    it("ends its ownership when an actor is at another seq in the log", async () => {
      await post(log, a, { kind: "add", n: 1 });
      const partition = partitionOfWorker(worker, "l1");
      await step(worker, "l1");
      // Only the owner of the epoch can commit this entry; it stands for an error in the runtime.
      const entry = packEntry({
        actor: a,
        seq: 2,
        cursor: "0-1",
        sources: {},
        answers: [],
        batches: [{ ts: 1, deltas: [{ type: "added", n: 10 }] }],
      });
      const change = { actor: a, expectedSeq: 1, cursor: "0-1", entry };
      await commitIn(log, { partition: "l1", epoch: partition.epoch }, [change]);
      await post(log, a, { kind: "add", n: 100 });
      partition.markUnread(a);
      await step(worker, "l1");
      expect(String(partition.endReason)).to.match(/is at another seq in the log/);
      await worker.beat();
      await step(worker, "l1");
      expect((await counterInLog(log, a)).value).to.equal(111);
    });

    it("recovers from the log after a power cut of the log", async () => {
      await post(log, a, { kind: "add", n: 1 });
      await step(worker, "l1");
      deployment.store.sync();
      await post(log, a, { kind: "add", n: 10 });
      const partition = partitionOfWorker(worker, "l1");
      partition.markUnread(a);
      await step(worker, "l1");
      deployment.store.powerCut();
      expect(partition.ended).to.equal(true);
      await post(log, a, { kind: "add", n: 100 });
      await worker.beat();
      await step(worker, "l1");
      expect((await counterInLog(log, a)).value).to.equal(101);
    });

    it("counts the messages that wait for the next step", async () => {
      const group = worker.groupOf("l1");
      await step(worker, "l1");
      const partition = partitionOfWorker(worker, "l1");
      const notices = [1, 2].map((position) => ({ actor: a, inline: { position, body: "" } }));
      partition.notify({ partition: "l1", notices, scanAll: false });
      expect(group.waiting).to.equal(2);
      partition.markUnread(a);
      expect(group.waiting, "an unread mailbox").to.equal(1);
      partition.end(new Error("no owner any more"));
      expect(group.waiting, "an ended ownership").to.equal(0);
    });

    it("counts no message of an actor that has work to finish", async () => {
      await post(log, a, { kind: "climb", n: 3 });
      await step(worker, "l1");
      partitionOfWorker(worker, "l1").markUnread(a);
      expect(worker.groupOf("l1").waiting).to.equal(0);
    });

    it("processes many waiting messages in several steps", async () => {
      const bodies = Array.from({ length: 5_000 }, () => packEnvelope({ commands: [{ kind: "add", n: 1 }] }));
      await log.append(
        "l1",
        bodies.map((body) => ({ to: a, body })),
      );
      const partition = partitionOfWorker(worker, "l1");
      let steps = 0;
      for (; partition.hasWork(Date.now()); steps += 1) {
        await step(worker, "l1");
        if (partition.hasWork(Date.now())) expect(worker.groupOf("l1").waiting, "behind").to.equal(Infinity);
      }
      expect(worker.groupOf("l1").waiting, "no longer behind").to.equal(0);
      expect(steps).to.be.within(2, 10);
      expect((await counterInLog(log, a)).value).to.equal(5_000);
    });
  });

  it("is notified of messages in the partitions that it took beside one that it could not take", async () => {
    const log = deployment.connect();
    const take = log.take.bind(log);
    log.take = (...of) => (of[0] === "l1" ? Promise.reject(new Error("connection lost")) : take(...of));
    const worker = deployment.worker(log);
    await worker.start();
    // The scan of a new owner is over, so it reads a mailbox only after a notification.
    await until(() => !partitionOfWorker(worker, "l2").hasWork(0));
    const exchange = await deployment.exchange();
    expect(await sendCommand(exchange, b, { kind: "add", n: 3 }, { timeoutMs: 1_500 })).to.equal(3);
  });

  it("rests for the time of a long step up to 20 ms, while 2 to 15 messages wait", () => {
    const rest = (tookMs: number, waiting: number): number => restAfter(tookMs, () => waiting);
    expect([rest(7.9, 2), rest(8, 2), rest(8, 15), rest(19, 4), rest(500, 4)]).to.deep.equal([
      0, 8, 8, 19, 20,
    ]);
    expect([rest(8, 0), rest(8, 1), rest(8, 16), rest(500, Infinity)]).to.deep.equal([0, 0, 0, 0]);
  });

  it("rests after a long step when several messages wait, so that one step takes what comes meanwhile", async () => {
    const log = deployment.connect();
    const commit = log.commit.bind(log);
    let commits = 0;
    log.commit = async (...of) => {
      commits += 1;
      await pause(40);
      return commit(...of);
    };
    const worker = deployment.worker(log);
    await worker.start();
    const exchange = await deployment.exchange();
    const add = (): Promise<number> => sendCommand(exchange, a, { kind: "add", n: 1 });
    await add();
    commits = 0;
    const first = add();
    await until(() => commits === 1);
    const during = [add(), add()];
    await first;
    await setImmediate();
    expect(await Promise.all([...during, add()])).to.deep.equal([3, 4, 5]);
    expect(commits).to.equal(2);
  });

  it("takes a snapshot of an actor with many entries before its partition moves, and runs it meanwhile", async () => {
    const faults = new FaultyGate();
    const log = deployment.connect(faults.gate);
    const giver = deployment.worker(log);
    await giver.start();
    const exchange = await deployment.exchange();
    const add = (n: number): Promise<number> => sendCommand(exchange, a, { kind: "add", n });
    const commands = Array.from({ length: 20_000 }, () => ({ kind: "add", n: 1 }));
    const addMany = async (id: string, sum: number): Promise<void> => {
      await log.append("l1", [{ to: a, body: packEnvelope({ id, commands }) }]);
      await until(async () => expect((await counterInLog(log, a)).value).to.equal(sum));
    };
    const snapshotSeq = async () => (await log.heads("l1", [a]))[0]?.snapshot;

    await addMany("to the first owner", 20_000);
    const writeSnapshot = faults.hold("writeSnapshot");
    const taker = deployment.worker(deployment.connect());
    await taker.start();
    // A worker gets its share after two seconds.
    await pause(2_500);
    expect(await add(1)).to.equal(20_001);
    expect(giver.held.has("l1")).to.equal(true);
    writeSnapshot();
    await until(() => taker.held.has("l1"));
    expect(await snapshotSeq()).to.be.within(1, 2);

    await addMany("to the second owner", 40_001);
    await taker.stop();
    await until(() => giver.held.has("l1"));
    expect(await snapshotSeq()).to.equal(3);
    expect(await add(1)).to.equal(40_002);
  });

  it("prepares a move again, whose taker had left when it was prepared", async () => {
    const faults = new FaultyGate();
    const log = deployment.connect(faults.gate);
    const giver = deployment.worker(log);
    await giver.start();
    const addMany = async (id: string, sum: number): Promise<void> => {
      const commands = Array.from({ length: 20_000 }, () => ({ kind: "add", n: 1 }));
      await log.append("l1", [{ to: a, body: packEnvelope({ id, commands }) }]);
      await until(async () => expect((await counterInLog(log, a)).value).to.equal(sum));
    };
    const snapshotSeq = async () => (await log.heads("l1", [a]))[0]?.snapshot;

    await addMany("before the first taker", 20_000);
    const writeSnapshot = faults.hold("writeSnapshot");
    const first = deployment.worker(deployment.connect());
    await first.start();
    await until(() => faults.waiting("writeSnapshot") === 0);
    await first.stop();
    // The giver learns of it with its next heartbeat.
    await pause(500);
    writeSnapshot();
    await until(async () => expect(await snapshotSeq()).to.equal(1));
    await pause(500);
    expect(giver.held.has("l1")).to.equal(true);
    await addMany("before the second taker", 40_000);

    const second = deployment.worker(deployment.connect());
    await second.start();
    await untilWithin(10_000, () => second.held.has("l1"));
    expect(await snapshotSeq()).to.equal(2);
  });

  it("is no longer notified of the partitions that it has handed over", async () => {
    const log = deployment.connect();
    const giver = deployment.worker(log);
    let watched: readonly string[] = [];
    const listen = log.listen.bind(log);
    log.listen = (...of) => {
      const listener = listen(...of);
      const watch = listener.watch.bind(listener);
      listener.watch = (partitions) => watch((watched = partitions));
      return listener;
    };
    await giver.start();
    expect([...watched].sort()).to.deep.equal([...giver.held.keys()].sort());
    const taker = deployment.worker(deployment.connect());
    await taker.start();
    await untilWithin(10_000, () => taker.held.size > 0);
    await untilWithin(5_000, () => !watched.some((partition) => taker.held.has(partition)));
    expect([...watched].sort()).to.deep.equal([...giver.held.keys()].sort());
  });

  it("hands over its partitions for four seconds at most, however long the others need to take them", async () => {
    const shards = Array.from({ length: 12 }, (_, n) => n + 1);
    const names = shards.map((shard) => `l${shard}`);
    const log = deployment.connect();
    const workerOn = (of: MemoryLog): Worker =>
      deployment.worker(of, systemClock, counter, latestFormat, names);
    const [giver, taker] = [workerOn(deployment.connect()), workerOn(log)];
    await Promise.all([giver.start(), taker.start()]);
    await untilWithin(15_000, () => giver.held.size === 6 && taker.held.size === 6);
    const exchange = await deployment.exchange();
    for (const shard of shards) await sendCommand(exchange, ledgerActor(shard), { kind: "add", n: 1 });
    const given = [...giver.held.keys()];
    const take = log.take.bind(log);
    log.take = (...of) => pause(1_800).then(() => take(...of));
    const beganMs = performance.now();
    await giver.stop();
    expect(performance.now() - beganMs).to.be.within(3_000, 6_000);
    const owners = [...(await deployment.connect().leases(given)).values()].map(({ owner }) => owner);
    expect(owners).to.have.length(6);
    expect(owners).to.not.include(giver.id);
    expect(owners, "the first is taken before the others are released").to.include(taker.id);
    expect(owners, "the rest are released at once").to.include(undefined);
  }).timeout(40_000);

  it("prepares those with most entries first when it stops, each while the one before is being taken", async () => {
    const shards = [1, 2, 3, 4];
    const names = shards.map((shard) => `l${shard}`);
    const asked: { readonly partition: string; readonly taken: readonly string[] }[] = [];
    const snapshots: Snapshots = {
      take: async ({ partition, isUrgent }) => {
        if (isUrgent) asked.push({ partition, taken: [...taker.held.keys()] });
        await pause(100);
        return undefined;
      },
      hurry: () => undefined,
      close: () => Promise.resolve(),
    };
    const log = deployment.connect();
    const ports = { log, actorOf: () => counter, clock: systemClock, logger: silentLogger };
    const giver = new Worker({ ...ports, id: "giver", partitions: names, snapshots });
    await giver.start();
    await until(() => giver.held.size === shards.length);
    for (const shard of shards) {
      const commands = Array.from({ length: 20_000 * shard }, () => ({ kind: "add", n: 1 }));
      const actor = ledgerActor(shard);
      await log.append(`l${shard}`, [{ to: actor, body: packEnvelope({ id: `to ${shard}`, commands }) }]);
      await until(async () => expect((await counterInLog(log, actor)).value).to.equal(commands.length));
    }
    const slow = deployment.connect();
    const take = slow.take.bind(slow);
    slow.take = (...of) => pause(200).then(() => take(...of));
    const taker = deployment.worker(slow, systemClock, counter, latestFormat, names);
    await Promise.all([taker.start(), giver.beat()]);
    await giver.stop();
    expect(asked).to.deep.equal([
      { partition: "l4", taken: [] },
      { partition: "l3", taken: [] },
      { partition: "l2", taken: ["l4"] },
      { partition: "l1", taken: ["l4", "l3"] },
    ]);
    expect(taker.held.size).to.equal(shards.length);
  }).timeout(20_000);

  it("waits for the snapshots of a move that it prepares when it stops, and takes none of them twice", async () => {
    const asked: { readonly partition: string; readonly isUrgent: boolean }[] = [];
    let end: () => void = () => undefined;
    const hurried = new Promise<void>((resolve) => (end = resolve));
    const snapshots: Snapshots = {
      take: async ({ partition, isUrgent, isForMove }) => {
        if (isForMove) asked.push({ partition, isUrgent });
        await hurried;
        return undefined;
      },
      hurry: (isForMove) => isForMove && end(),
      close: () => Promise.resolve(),
    };
    const log = deployment.connect();
    const ports = { log, actorOf: () => counter, clock: systemClock, logger: silentLogger };
    const giver = new Worker({ ...ports, id: "giver", partitions: ["l1", "l2"], snapshots });
    await giver.start();
    await until(() => giver.held.size === 2);
    for (const shard of [1, 2]) {
      const commands = Array.from({ length: 20_000 }, () => ({ kind: "add", n: 1 }));
      const actor = ledgerActor(shard);
      await log.append(`l${shard}`, [{ to: actor, body: packEnvelope({ id: `to ${shard}`, commands }) }]);
      await until(async () => expect((await counterInLog(log, actor)).value).to.equal(commands.length));
    }
    const taker = deployment.worker(deployment.connect(), systemClock, counter, latestFormat, ["l1", "l2"]);
    await Promise.all([taker.start(), giver.beat()]);
    await until(() => asked.length === 1);
    await giver.stop();
    const [first] = asked;
    const other = first?.partition === "l1" ? "l2" : "l1";
    expect(asked).to.have.deep.members([
      { partition: first?.partition, isUrgent: false },
      { partition: other, isUrgent: true },
    ]);
  }).timeout(20_000);

  it("takes no ordinary snapshot of a partition while it prepares a move", async () => {
    const areForMoves: boolean[] = [];
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const snapshots: Snapshots = {
      take: async ({ isForMove }) => {
        areForMoves.push(isForMove);
        if (isForMove) await ended;
        return undefined;
      },
      hurry: () => undefined,
      close: () => Promise.resolve(),
    };
    const log = deployment.connect();
    const ports = { log, actorOf: () => counter, clock: systemClock, logger: silentLogger };
    const snapshotLimits = { ...SNAPSHOT_LIMITS, snapshotEntries: 1, snapshotPause: 0, moveBytes: 1 };
    const worker = new Worker({ ...ports, id: "worker", partitions: ["l1"], snapshots, snapshotLimits });
    await worker.beat();
    await post(log, a, { kind: "add", n: 1 });
    await step(worker, "l1");
    expect((await log.heads("l1", [a]))[0]).to.include({ seq: 1 });
    const partition = partitionOfWorker(worker, "l1");
    const preparing = partition.prepareMove(false);
    await partition.maintain();
    expect(areForMoves).to.deep.equal([true]);
    end();
    await preparing;
    await partition.maintain();
    expect(areForMoves).to.deep.equal([true, false]);
    await worker.stop();
  });

  it("does not wait for others to take its partitions when they stop too", async () => {
    const names = Array.from({ length: 20 }, (_, n) => `l${n + 1}`);
    const workers = [0, 1].map(() =>
      deployment.worker(deployment.connect(), systemClock, counter, latestFormat, names),
    );
    await Promise.all(workers.map((worker) => worker.start()));
    await untilWithin(15_000, () => workers.every(({ held }) => held.size === 10));
    const elapsedMs = stopwatch();
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(elapsedMs()).to.be.below(2_000);
  }).timeout(20_000);

  it("takes no partitions while another worker reads data that it cannot, says so once, and goes on after it", async () => {
    const said: string[] = [];
    const say = (_fields: object, message: string): unknown => said.push(message);
    const logger = { ...silentLogger, error: say, info: say };
    let unreadable: number | undefined = LATEST_FORMAT + 1;
    const formats = { ...latestFormat, unreadable: () => unreadable };
    const older = deployment.worker(deployment.connect(), systemClock, counter, formats, undefined, logger);
    const healthy = deployment.worker(deployment.connect());
    await older.start();
    await healthy.start();
    await until(() => healthy.held.size === 2);
    // A worker that takes partitions gets its share after two seconds.
    await pause(2_500);
    expect([older.held.size, healthy.held.size]).to.deep.equal([0, 2]);
    expect(said).to.have.length(1);
    expect(said[0]).to.match(/takes no partitions/);

    await healthy.stop();
    unreadable = undefined;
    await until(() => older.held.size === 2);
    const exchange = await deployment.exchange();
    expect(await sendCommand(exchange, a, { kind: "add", n: 3 })).to.equal(3);

    unreadable = LATEST_FORMAT + 1;
    const restarted = deployment.worker(deployment.connect());
    await restarted.start();
    await until(() => restarted.held.size === 2);
    expect(older.held.size).to.equal(0);
    expect(await sendCommand(exchange, a, { kind: "add", n: 1 })).to.equal(4);
    expect(said.filter((message) => message.includes("takes no partitions"))).to.have.length(2);
  }).timeout(20_000);

  it("runs a deadline within a second or two of a jump of engine time that makes it due, though it is idle", async () => {
    let jumpMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + jumpMs };
    const worker = deployment.worker(deployment.connect(), clock);
    await worker.start();
    const exchange = await deployment.exchange();
    const log = deployment.connect();
    await sendCommand(exchange, a, { kind: "alarm", atMs: systemClock.now() + 1_800_000 });
    await pause(100);
    jumpMs = 3_600_000;
    await untilWithin(5_000, async () =>
      expect((await counterInLog(log, a)).tickedMs, "ticks").to.have.length(1),
    );
  });

  it("takes the snapshots that are due of actors that committed while the snapshot of another took long", async () => {
    const faults = new FaultyGate();
    const log = deployment.connect(faults.gate);
    const worker = deployment.worker(log, systemClock, counter, latestFormat, undefined, silentLogger, {
      ...SNAPSHOT_LIMITS,
      snapshotEntries: 2,
      roundActors: 1,
    });
    await worker.beat();
    const partition = partitionOfWorker(worker, "l1");
    const ids = Array.from({ length: 8 }, (_, n) => ledgerActor(10 + n));
    const commit = async (to: ActorId): Promise<void> => {
      await log.append("l1", [
        { to, body: packEnvelope({ id: randomUUID(), commands: [{ kind: "add", n: 1 }] }) },
      ]);
      partition.markUnread(to);
      await step(worker, "l1");
    };
    const snapshots = async () => (await log.heads("l1", ids)).map(({ snapshot }) => snapshot);
    for (const id of ids) await commit(id);
    await partition.maintain();
    const [first = a, last = a] = [ids[0], ids.at(-1)];
    await commit(first);
    const writeSnapshot = faults.hold("writeSnapshot");
    const slow = partition.maintain();
    await microtasksDone();
    await commit(last);
    const meanwhile = partition.maintain();
    await microtasksDone();
    writeSnapshot();
    await Promise.all([slow, meanwhile]);
    expect(await snapshots()).to.deep.equal([2, 0, 0, 0, 0, 0, 0, 0]);
    await partition.maintain();
    expect(await snapshots()).to.deep.equal([2, 0, 0, 0, 0, 0, 0, 2]);
    expect(partition.ended).to.equal(false);
  });

  describe("on a manual clock", () => {
    it("writes snapshots of a busy actor, trims its old entries, and recovers it", async () => {
      const clock = new ManualClock();
      const log = deployment.connect(undefined, clock);
      const worker = deployment.worker(log, clock);
      await worker.beat();
      const partition = partitionOfWorker(worker, "l1");
      const addOne = async (): Promise<void> => {
        await post(log, a, { kind: "add", n: 1 });
        partition.markUnread(a);
        await step(worker, "l1");
      };
      const head = async () => (await log.scan("l1"))[0];
      for (let i = 0; i < 600; i += 1) await addOne();
      await partition.maintain();
      expect((await head())?.head.snapshot, "too early").to.equal(0);
      clock.advance(31_000);
      await addOne();
      await partition.maintain();
      expect((await head())?.head).to.include({ seq: 601, snapshot: 601, previous: 0 });

      // Ten minutes later the old entries are out of the resume window.
      for (let round = 0; round < 3; round += 1) {
        clock.advance(300_000);
        for (let i = 0; i < 600; i += 1) await addOne();
        await worker.relay.flush();
        await log.markProjected("l1", [{ actor: a, seq: (await head())?.head.seq ?? 0 }]);
        clock.advance(31_000);
        await addOne();
        await partition.maintain();
      }
      const after = await head();
      expect(after?.head.seq).to.equal(2_404);
      expect(after?.head.snapshot).to.be.within(1_900, 2_404);
      expect(after?.head.previous).to.be.within(1_300, after?.head.snapshot ?? 0);
      expect(after?.retained).to.be.within(601, 1_300);
      expect((await counterInLog(log, a)).value).to.equal(2_404);

      // An evicted actor leaves only its snapshots and its last entry.
      clock.advance(1_000_000);
      await worker.relay.flush();
      await log.markProjected("l1", [{ actor: a, seq: 2_404 }]);
      await partition.maintain();
      expect(await head()).to.deep.include({ retained: 1 });
      expect((await counterInLog(log, a)).value).to.equal(2_404);
      await addOne();
      expect((await counterInLog(log, a)).value).to.equal(2_405);
      expect(partition.ended).to.equal(false);
    });

    it("keeps an idle actor that is used again while its eviction takes a snapshot", async () => {
      const clock = new ManualClock();
      const faults = new FaultyGate();
      const log = deployment.connect(faults.gate, clock);
      const worker = deployment.worker(log, clock);
      await worker.beat();
      const partition = partitionOfWorker(worker, "l1");
      const group = worker.groupOf("l1");
      for (let i = 0; i < 3; i += 1) {
        await post(log, a, { kind: "add", n: 1 });
        partition.markUnread(a);
        await step(worker, "l1");
      }
      clock.advance(1_000_000);
      await worker.relay.flush();
      await log.markProjected("l1", [{ actor: a, seq: 3 }]);
      const writeSnapshot = faults.hold("writeSnapshot");
      const maintaining = partition.maintain();
      await microtasksDone();
      await post(log, a, { kind: "add", n: 10 });
      partition.markUnread(a);
      await group.step();
      writeSnapshot();
      await maintaining;
      expect(partition.hold(a)?.seq).to.equal(4);
      expect([...(await log.halted())]).to.deep.equal([]);
      expect((await counterInLog(log, a)).value).to.equal(13);
    });

    it("does not evict an actor that has a deadline", async () => {
      const clock = new ManualClock();
      const log = deployment.connect(undefined, clock);
      const worker = deployment.worker(log, clock);
      await worker.beat();
      const partition = partitionOfWorker(worker, "l1");
      await post(log, a, { kind: "alarm", atMs: clock.now() + 10_000_000 });
      await step(worker, "l1");
      clock.advance(2_000_000);
      await partition.maintain();
      expect((await log.heads("l1", [a]))[0]?.snapshot).to.equal(0);
      expect(partition.nextDeadline()).to.equal(11_000_000);
      clock.advance(9_000_000);
      expect(partition.hasWork(clock.now())).to.equal(true);
      await step(worker, "l1");
      expect((await counterInLog(log, a)).tickedMs).to.deep.equal([12_000_000]);
      expect(partition.nextDeadline()).to.equal(undefined);
    });
  });
});
