import { expect } from "chai";
import { marketActor } from "../../../actors/actor.js";
import { type Format } from "../../../actors/format.js";
import { type Clock, systemClock } from "../../../stream/log/clock.js";
import type { MemoryLog } from "../../support/log/memory-log.js";
import type { Worker } from "../../../stream/runtime/worker.js";
import { Keys } from "../../../stream/redis/keys.js";
import { counter, type CounterCommand } from "./counter.js";
import { a, b, Deployment, FaultyGate, partitionOfWorker, post, step } from "./deployment.js";
import { type Change } from "../../../stream/log/log.js";
import { packEntry, packEnvelope, parseEnvelope } from "../../../stream/log/packing.js";
import { counterInLog, takeFromAnyone } from "../log/support.js";
import { until } from "../../support/until.js";

const KEYS = new Keys("");

describe("a commit group", () => {
  let deployment: Deployment;
  let log: MemoryLog;
  let worker: Worker;

  beforeEach(async () => {
    deployment = new Deployment(true);
    log = deployment.connect();
    worker = deployment.worker(deployment.connect());
    await worker.beat();
  });

  afterEach(() => deployment.close());

  async function send(n: number): Promise<void> {
    await post(log, a, { kind: "send", to: b, numbers: [n] });
    partitionOfWorker(worker, "l1").markUnread(a);
    await step(worker, "l1");
  }

  const headOf = async (actor: typeof a) => (await log.heads(actor === a ? "l1" : "l2", [actor]))[0];
  const received = async () => (await counterInLog(log, b)).received;

  /** Sends the first message to an actor, which goes to its mailbox; the mailbox is empty afterwards. */
  async function warmUp(): Promise<void> {
    await send(1);
    await step(worker, "l1");
    await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1] });
  }

  it("hands a message over in the commit that sends it", async () => {
    await warmUp();
    const { cursor } = (await headOf(b)) ?? {};
    await send(2);
    expect(await received()).to.deep.equal({ [a]: [1, 2] });
    expect(await headOf(a)).to.include({ seq: 2, relayed: 2 });
    expect(await headOf(b)).to.include({ seq: 2, cursor });
    expect(worker.relay.destinations()).to.deep.equal([]);
  });

  it("lets no message overtake another one in the mailbox", async () => {
    await send(1);
    await send(2);
    await step(worker, "l1");
    await send(3);
    expect(await received()).to.deep.equal({ [a]: [1, 2, 3] });
    expect((await headOf(b))?.cursor, "the messages from the mailbox").to.equal("0-2");
  });

  it("runs an actor on many messages in one step, beside many other actors, and on fewer when they are long", async () => {
    const others = Array.from({ length: 20 }, (_, other) => marketActor(`other ${other}`));
    /** Sends 40 messages to an actor and one to each of the others, and runs a step on them. */
    const stepOn = async (text: string): Promise<void> => {
      const body = (): string => packEnvelope({ commands: [{ kind: "add", n: 1, text }] });
      await log.append(
        "l1",
        Array.from({ length: 40 }, () => ({ to: a, body: body() })),
      );
      partitionOfWorker(worker, "l1").markUnread(a);
      for (const to of others) {
        await log.append("l2", [{ to, body: body() }]);
        partitionOfWorker(worker, "l2").markUnread(to);
      }
      await worker.groupOf("l1").step();
    };
    const valueOfA = async (): Promise<number> => (await counterInLog(log, a)).value;
    await worker.groupOf("l1").step();
    await stepOn("");
    await Promise.all([...worker.held.values()].map((partition) => partition.loaded()));
    await worker.groupOf("l1").step();
    const [first, long] = [await valueOfA(), "x".repeat(4_000)];
    expect(first, "of the 40").to.equal(24);
    await stepOn(long);
    const second = await valueOfA();
    expect(second - first, "the other 16, and 8 long ones").to.equal(24);
    await stepOn(long);
    expect((await valueOfA()) - second).to.equal(16);
  });

  it("reads the mailbox of an actor that is due while many others have messages", async () => {
    const others = Array.from({ length: 64 }, (_, other) => marketActor(`other ${other}`));
    const partition = partitionOfWorker(worker, "l2");
    const toOthers = async (): Promise<void> => {
      for (const to of others) {
        await log.append("l2", [{ to, body: packEnvelope({ commands: [{ kind: "add", n: 1 }] }) }]);
        partition.markUnread(to);
      }
    };
    await toOthers();
    await step(worker, "l2");
    await post(log, b, { kind: "alarm", atMs: 5 });
    partition.markUnread(b);
    await step(worker, "l2");
    await toOthers();
    await post(log, b, { kind: "add", n: 1 });
    partition.markUnread(b);
    for (let i = 0; i < 3; i += 1) await step(worker, "l2");
    expect((await counterInLog(log, b)).value).to.equal(1);
  });

  it("gives every actor of a step the format that is active at its start", async () => {
    await worker.stop();
    const seen: (Format | undefined)[] = [];
    const observing: typeof counter = {
      ...counter,
      decide: (state, command, now, format) => {
        seen.push(format);
        return counter.decide(state, command, now, format);
      },
    };
    let active: Format = 1;
    const formats = { active: () => active };
    worker = deployment.worker(deployment.connect(), systemClock, observing, formats);
    await worker.beat();
    await warmUp();
    active = 2;
    const before = seen.length;
    await send(2);
    expect(seen.slice(0, before)).to.deep.equal(Array.from({ length: before }, () => 1));
    expect(seen.slice(before), "the sender and the receiver").to.deep.equal([2, 2]);
  });

  it("uses the mailbox again after the receiver was halted", async () => {
    await warmUp();
    const elsewhere = partitionOfWorker(worker, "l2");
    elsewhere.halt(b, new Error("halted by the test"));
    await send(2);
    await send(3);
    expect(await received()).to.deep.equal({ [a]: [1] });
    elsewhere.end(new Error("ended by the test"));
    await worker.beat();
    await worker.beat();
    for (let i = 0; i < 3; i += 1) await step(worker, "l2");
    await send(4);
    await step(worker, "l1");
    await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1, 2, 3, 4] });
  });

  it("commits neither turn when one of the two partitions has another owner", async () => {
    await warmUp();
    const other = deployment.connect();
    await takeFromAnyone(other, "l2", "other");
    await send(2);
    expect(await headOf(a)).to.include({ seq: 1 });
    expect(await received()).to.deep.equal({ [a]: [1] });
    for (const name of ["l1", "l2"])
      expect(String(partitionOfWorker(worker, name).endReason)).to.match(/l2 has another owner/);
    await takeFromAnyone(other, "l2", worker.id);
    await worker.beat();
    await worker.beat();
    for (let i = 0; i < 4; i += 1) await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1, 2] });
  });

  it("goes on with all other actors when one of a commit was removed from the log, and loads that one anew", async () => {
    await warmUp();
    const setRemoved = (hash: string | undefined): void =>
      deployment.store.operate(() => deployment.store.set(KEYS.head("l2", b), "removed", hash));
    const [sender, receiver] = ["l1", "l2"].map((name) => partitionOfWorker(worker, name));
    const senderBefore = sender?.hold(a);
    setRemoved("hash of its last snapshot");
    await send(2);
    expect([sender?.ended, receiver?.ended]).to.deep.equal([false, false]);
    expect(sender?.hold(a), "an actor that does not depend on the removed one").to.equal(senderBefore);
    expect(receiver?.hold(b)).to.equal(undefined);
    expect(await headOf(a), "the message waits in the mailbox").to.include({ seq: 2, relayed: 2 });
    await send(3);
    expect(await headOf(a)).to.include({ seq: 3 });
    setRemoved(undefined);
    receiver?.markUnread(b);
    await until(async () => {
      await step(worker, "l1");
      return (await received())[a]?.length === 3;
    });
    expect(await received()).to.deep.equal({ [a]: [1, 2, 3] });
    expect([sender?.ended, receiver?.ended]).to.deep.equal([false, false]);
  });

  it("records unfinished work that an actor begins as soon as it is loaded anew", async () => {
    await warmUp();
    deployment.store.operate(() => deployment.store.set(KEYS.head("l1", a), "removed", "hash"));
    await post(log, a, { kind: "send", to: b, numbers: [2] });
    partitionOfWorker(worker, "l1").markUnread(a);
    await worker.groupOf("l1").step();
    expect(partitionOfWorker(worker, "l2").hold(b), "its turn followed from the removed actor's").to.equal(
      undefined,
    );
    await post(log, b, { kind: "climb", n: 3 });
    await until(async () => {
      await worker.groupOf("l2").step();
      return (await counterInLog(log, b)).value > 0;
    });
    expect((await counterInLog(log, b)).value, "before the last piece").to.equal(1);
    const [status] = await log.scan("l2");
    expect(status, "so that the next owner runs the actor").to.include({ actor: b, deadlineMs: 0 });
  });

  it("lets unfinished work rest for twice the time of its step, and runs other actors meanwhile", async () => {
    await worker.stop();
    let nowMs = systemClock.now();
    let elapsedMs = 0;
    let stepMs = 0;
    const clock: Clock = { ...systemClock, now: () => nowMs, monotonic: () => elapsedMs };
    const slow: typeof counter = {
      ...counter,
      decide: (...args) => {
        elapsedMs += stepMs;
        return counter.decide(...args);
      },
    };
    worker = deployment.worker(deployment.connect(), clock, slow);
    await worker.beat();
    await warmUp();
    const group = worker.groupOf("l1");
    const valueOf = async (actor: typeof a) => (await counterInLog(log, actor)).value;

    stepMs = 40;
    await post(log, a, { kind: "climb", n: 2 });
    partitionOfWorker(worker, "l1").markUnread(a);
    await step(worker, "l1");
    expect(await valueOf(a)).to.equal(1);
    expect(group.nextDeadline()).to.equal(nowMs + 80);
    await post(log, a, { kind: "add", n: 10 });
    partitionOfWorker(worker, "l1").markUnread(a);
    expect(group.hasWork(nowMs), "the messages of the actor wait").to.equal(false);

    await post(log, b, { kind: "add", n: 5 });
    partitionOfWorker(worker, "l2").markUnread(b);
    expect(group.hasWork(nowMs)).to.equal(true);
    await step(worker, "l1");
    expect([await valueOf(a), await valueOf(b)]).to.deep.equal([1, 5]);

    nowMs += 80;
    expect(group.hasWork(nowMs)).to.equal(true);
    await step(worker, "l1");
    expect(await valueOf(a)).to.equal(12);
    expect(group.hasWork(nowMs)).to.equal(false);
  });

  it("leaves an actor halted that fails after an earlier turn of the same step", async () => {
    await warmUp();
    const partition = partitionOfWorker(worker, "l2");
    const instance = partition.hold(b);
    if (instance === undefined) throw new Error("the actor is not in memory");
    const run = instance.run.bind(instance);
    let turns = 0;
    instance.run = (...args) => {
      turns += 1;
      const turn = run(...args);
      return turns === 2 ? { ...turn, fault: new Error("the second turn fails") } : turn;
    };
    // The first turn sets a deadline that is due at once; the second one is on the message of the other actor.
    await post(log, b, { kind: "alarm", atMs: 5 });
    partition.markUnread(b);
    await send(2);
    expect(turns).to.equal(2);
    await until(async () => expect([...(await log.halted()).keys()]).to.deep.equal([b]));
    expect(partition.nextDeadline(), "a halted actor is not due").to.equal(undefined);
    expect(partition.hasWork(systemClock.now())).to.equal(false);
  });

  describe("with steps that overlap", () => {
    let faults: FaultyGate;
    /** Numbers of the commands that the actors have decided. */
    let decided: number[];

    const observed: typeof counter = {
      ...counter,
      decide: (state, command, now, format) => {
        if (command.kind === "receive" && command.n === 13) throw new Error("13 is not accepted");
        if (command.kind === "add") decided.push(command.n);
        return counter.decide(state, command, now, format);
      },
    };

    beforeEach(async () => {
      await worker.stop();
      decided = [];
      faults = new FaultyGate();
      deployment.overlaps = true;
      worker = deployment.worker(deployment.connect(faults.gate), systemClock, observed);
      await worker.beat();
      await warmUp();
      await worker.groupOf("l1").finished();
    });

    const unread = async (to: typeof a, command: CounterCommand): Promise<void> => {
      await post(log, to, command);
      partitionOfWorker(worker, to === a ? "l1" : "l2").markUnread(to);
    };
    const hasEnded = (): boolean[] => ["l1", "l2"].map((name) => partitionOfWorker(worker, name).ended);

    it("decides a step while the commit of the one before is on its way, and commits both in order", async () => {
      const group = worker.groupOf("l1");
      const letCommit = faults.hold("commit");
      await unread(a, { kind: "add", n: 1 });
      await group.step();
      await unread(a, { kind: "add", n: 2 });
      const second = group.step();
      await until(() => expect(decided).to.deep.equal([1, 2]));
      expect((await counterInLog(log, a)).value).to.equal(0);
      letCommit();
      await second;
      await group.finished();
      expect((await counterInLog(log, a)).value).to.equal(3);
    });

    it("hands no message over while another one is on its way to the same mailbox", async () => {
      const group = worker.groupOf("l1");
      // A partition that joins may have messages in any mailbox, so the next one goes to the mailbox.
      group.add(partitionOfWorker(worker, "l1"));
      const letCommit = faults.hold("commit");
      await unread(a, { kind: "send", to: b, numbers: [2] });
      await group.step();
      await unread(b, { kind: "add", n: 1 });
      await unread(a, { kind: "send", to: b, numbers: [3] });
      const second = group.step();
      await until(() => expect(decided).to.deep.equal([1]));
      letCommit();
      await second;
      for (let i = 0; i < 3; i += 1) await step(worker, "l1");
      await group.finished();
      expect(await received()).to.deep.equal({ [a]: [1, 2, 3] });
    });

    it("undoes the turns that follow from an undone turn of the step before", async () => {
      const setRemoved = (hash: string | undefined): void =>
        deployment.store.operate(() => deployment.store.set(KEYS.head("l2", b), "removed", hash));
      const group = worker.groupOf("l1");
      const [letCommit, letCommitRest] = [faults.hold("commit"), faults.hold("commit")];
      await unread(a, { kind: "send", to: b, numbers: [2] });
      await group.step();
      await unread(a, { kind: "send", to: b, numbers: [3] });
      const second = group.step();
      setRemoved("hash of its last snapshot");
      letCommit();
      await until(() => expect(faults.waiting("commit")).to.equal(0));
      setRemoved(undefined);
      letCommitRest();
      await second;
      await group.finished();
      expect(hasEnded()).to.deep.equal([false, false]);
      expect(await headOf(a)).to.include({ seq: 3, relayed: 3 });
      await until(async () => {
        await step(worker, "l1");
        await group.finished();
        return (await received())[a]?.length === 3;
      });
      expect(await received()).to.deep.equal({ [a]: [1, 2, 3] });
      expect(hasEnded()).to.deep.equal([false, false]);
    });

    it("does not run an actor that has failed in a step whose commit is on its way", async () => {
      const group = worker.groupOf("l1");
      const letCommit = faults.hold("commit");
      await unread(a, { kind: "send", to: b, numbers: [13] });
      await group.step();
      await unread(b, { kind: "add", n: 1 });
      await unread(a, { kind: "add", n: 2 });
      const second = group.step();
      await until(() => expect(decided).to.deep.equal([2]));
      letCommit();
      await second;
      await group.finished();
      expect(decided).to.deep.equal([2]);
      expect([...(await log.halted()).keys()]).to.deep.equal([b]);
    });
  });

  describe("in slices", () => {
    /** A clock on which only the messages take time. */
    const slowClock: Clock = { ...systemClock, monotonic: () => elapsedMs };
    let elapsedMs = 0;
    let messageMs: number;
    let onTurn: () => void;

    beforeEach(async () => {
      await worker.stop();
      onTurn = () => undefined;
      // Longer than a slice, which has 3 ms, and not late, as after 6.
      messageMs = 4;
      const observed: typeof counter = {
        ...counter,
        decide: (state, command, now, format) => {
          onTurn();
          elapsedMs += messageMs;
          return counter.decide(state, command, now, format);
        },
      };
      worker = deployment.worker(deployment.connect(), slowClock, observed);
      await worker.beat();
      await warmUp();
    });

    it("lets the event loop turn between two actors", async () => {
      const order: string[] = [];
      onTurn = () => {
        order.push("turn of an actor");
        setImmediate(() => order.push("turn of the event loop"));
      };
      await send(2);
      expect(order.slice(0, 3)).to.deep.equal([
        "turn of an actor",
        "turn of the event loop",
        "turn of an actor",
      ]);
      expect(await received()).to.deep.equal({ [a]: [1, 2] });
    });

    /** Sends fourteen messages to an actor, and checks that the event loop turns after every third, and the step ends after four. */
    async function expectFourTurns(text: string): Promise<void> {
      const order: string[] = [];
      onTurn = () => order.push("message");
      const body = packEnvelope({ commands: [{ kind: "add", n: 1, text }] });
      await log.append(
        "l1",
        Array.from({ length: 14 }, () => ({ to: a, body })),
      );
      partitionOfWorker(worker, "l1").markUnread(a);
      const { value } = await counterInLog(log, a);
      const seq = (await headOf(a))?.seq ?? 0;
      let runs = true;
      const watch = (): void => {
        order.push("|");
        if (runs) setImmediate(watch);
      };
      setImmediate(watch);
      await worker.groupOf("l1").step();
      runs = false;
      const turns = order
        .join("")
        .split("|")
        .filter((part) => part !== "");
      expect(turns).to.deep.equal(Array.from({ length: 4 }, () => "message".repeat(3)));
      expect((await counterInLog(log, a)).value - value).to.equal(12);
      expect(await headOf(a), "one entry for each turn").to.include({ seq: seq + 4 });
      await worker.groupOf("l1").step();
      expect((await counterInLog(log, a)).value - value).to.equal(14);
    }

    it("lets the event loop turn between the turns of an actor that has much to do, of which a step has four", async () => {
      messageMs = 1.5;
      await expectFourTurns("x".repeat(30_000));
    });

    it("does so after two slices too, however short the messages of a turn are", async () => {
      messageMs = 2.5;
      await expectFourTurns("x");
    });

    it("commits neither turn when an ownership ends between them", async () => {
      const ending = partitionOfWorker(worker, "l1");
      onTurn = () => void setImmediate(() => ending.end(new Error("ended by the test")));
      await send(2);
      expect(await received()).to.deep.equal({ [a]: [1] });
      expect(String(partitionOfWorker(worker, "l2").endReason)).to.match(/ended by the test/);
    });
  });

  it("keeps a message that halts its receiver in the mailbox, and the sender continues", async () => {
    await worker.stop();
    const failing: typeof counter = {
      ...counter,
      decide: (state, command, now) => {
        if (command.kind === "receive" && command.n === 13) throw new Error("13 is not accepted");
        return counter.decide(state, command, now);
      },
    };
    worker = deployment.worker(deployment.connect(), systemClock, failing);
    await worker.beat();
    await warmUp();
    await send(13);
    await send(14);
    await step(worker, "l1");
    expect(await headOf(a)).to.include({ seq: 3 });
    expect(await received()).to.deep.equal({ [a]: [1] });
    expect([...(await log.halted()).keys()]).to.deep.equal([b]);
    await worker.stop();
    worker = deployment.worker(deployment.connect());
    await worker.beat();
    for (let i = 0; i < 3; i += 1) await step(worker, "l1");
    expect(await received()).to.deep.equal({ [a]: [1, 13, 14] });
    await until(async () => expect([...(await log.halted())]).to.deep.equal([]));
  });

  it("runs on the messages in notifications, and reads the mailbox when one is missing", async () => {
    await warmUp();
    const partition = partitionOfWorker(worker, "l1");
    const bodies = ["2", "3", "4"].map((n) => JSON.stringify({ commands: [{ kind: "add", n: Number(n) }] }));
    await log.append(
      "l1",
      bodies.map((body) => ({ to: a, body })),
    );
    const notify = (position: number): void => {
      const inline = { position, body: bodies[position - 2] ?? "" };
      partition.notify({ partition: "l1", notices: [{ actor: a, inline }], scanAll: false });
    };
    notify(2);
    await step(worker, "l1");
    expect((await counterInLog(log, a)).value).to.equal(2);
    notify(2);
    notify(4);
    await step(worker, "l1");
    expect((await counterInLog(log, a)).value).to.equal(9);
    notify(3);
    await step(worker, "l1");
    expect((await counterInLog(log, a)).value).to.equal(9);
    expect((await headOf(a))?.cursor).to.equal("0-4");
  });

  it("sends the messages to actors of another worker with the commit that causes them", async () => {
    await takeReceiver();
    await worker.beat();
    await send(1);
    await send(2);
    expect(await headOf(a)).to.include({ seq: 2, relayed: 2 });
    expect(worker.relay.destinations()).to.deep.equal([]);
    expect(await sentTo(b)).to.deep.equal([1, 2]);
    await takeFromAnyone(log, "l1", "other");
    await send(3);
    expect(await sentTo(b), "by an owner that is fenced").to.deep.equal([1, 2]);
  });

  it("lets no message that leaves with a commit overtake those that the relay holds", async () => {
    const entries = 2_500;
    const epoch = await takeFromAnyone(log, "l1", "previous");
    await takeReceiver();
    const changes = Array.from({ length: entries }, (_, index): Change => {
      const batches = [{ ts: 1, deltas: [{ type: "sent", to: b, n: index + 1 }] }];
      const facts = { actor: a, seq: index + 1, cursor: "0-0", sources: {}, answers: [] };
      const entry = packEntry({ ...facts, batches });
      return { partition: "l1", actor: a, expectedSeq: index, cursor: "0-0", entry };
    });
    await log.commit({ ownerships: [{ partition: "l1", epoch }], changes });
    await log.release("l1", epoch);
    await worker.beat();
    await worker.beat();
    // The first steps relay what the previous owner has left, of which one append has a part.
    await send(entries + 1);
    await send(entries + 2);
    await send(entries + 3);
    expect(await sentTo(b)).to.deep.equal(Array.from({ length: entries + 3 }, (_, index) => index + 1));
    expect(worker.relay.destinations()).to.deep.equal([]);
    await worker.relay.flush();
    expect(await headOf(a)).to.include({ seq: entries + 3, relayed: entries + 3 });
  });

  /** Makes another worker the owner of the receiver. */
  async function takeReceiver(): Promise<void> {
    await log.heartbeat({ worker: "other", leaseMs: 60_000, takes: false });
    await takeFromAnyone(log, "l2", "other");
  }

  /** Returns the numbers in the messages that wait in the mailbox of an actor. */
  async function sentTo(actor: typeof a): Promise<readonly number[]> {
    const partition = actor === a ? "l1" : "l2";
    const found = await log.readMailboxes([{ partition, actor, after: "0-0" }], 10_000);
    return (found.get(actor) ?? []).flatMap(({ body }) =>
      parseEnvelope(body).commands.flatMap((command) => (command as { n: number }).n),
    );
  }
});
