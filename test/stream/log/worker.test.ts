import { expect } from "chai";
import { randomUUID } from "node:crypto";
import { type ActorId, ledgerActor, partitionOf } from "../../../actors/actor.js";
import { type Clock, systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import type { Log } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { type Gate, MemoryLog, type Operation } from "../../../stream/log/memory.js";
import { MemoryStore } from "../../../stream/log/memory-store.js";
import { packEntry, packEnvelope } from "../../../stream/log/packing.js";
import type { Partition } from "../../../stream/log/partition.js";
import { RedisLog } from "../../../stream/log/redis.js";
import { type AskOptions, Unavailable } from "../../../stream/log/types.js";
import { Worker } from "../../../stream/log/worker.js";
import { type FreshRedis, freshRedis } from "../../support/servers.js";
import { counter, type CounterCommand, type CounterReply } from "./counter.js";
import { counterInLog, eventually, ManualClock } from "./support.js";

const a = ledgerActor(1);
const b = ledgerActor(2);
const partitions = ["l1", "l2"];

/** A gate whose faults are set from outside: what to do with the next operations of a kind. */
class FaultyGate {
  readonly #faults = new Map<Operation, ((apply: () => unknown) => Promise<unknown>)[]>();

  readonly gate: Gate = async (operation, apply) => {
    const fault = this.#faults.get(operation)?.shift();
    await Promise.resolve();
    return fault === undefined ? apply() : (fault(apply) as ReturnType<typeof apply>);
  };

  #add(operation: Operation, fault: (apply: () => unknown) => Promise<unknown>): void {
    this.#faults.set(operation, [...(this.#faults.get(operation) ?? []), fault]);
  }

  /** The next one happens, and its answer is lost. */
  loseAnswer(operation: Operation): void {
    this.#add(operation, (apply) => {
      apply();
      return Promise.reject(new Error("connection lost"));
    });
  }

  /** The next one never arrives. */
  lose(operation: Operation): void {
    this.#add(operation, () => Promise.reject(new Error("connection lost")));
  }

  /** The next one waits until the returned function is called. */
  hold(operation: Operation): () => void {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#add(operation, async (apply) => {
      await released;
      return apply();
    });
    return release;
  }
}

class Deployment {
  readonly store = new MemoryStore();
  readonly #closing: { close(): Promise<void> }[] = [];
  readonly #workers: Worker[] = [];

  connect(gate?: Gate, clock: Clock = systemClock): MemoryLog {
    const log = new MemoryLog(this.store, { gate, clock });
    this.#closing.push(log);
    return log;
  }

  worker(log: Log, clock: Clock = systemClock, actor: typeof counter = counter): Worker {
    const options = { log, clock, actorOf: () => actor, logger: silentLogger, partitions };
    // Of the two partitions "first" is dealt l1 and "second" l2.
    const worker = new Worker({ ...options, id: ["first", "second"][this.#workers.length] ?? randomUUID() });
    this.#workers.push(worker);
    return worker;
  }

  async exchange(log: Log = this.connect(), capacity?: number): Promise<LogExchange> {
    const options = {
      log,
      clock: systemClock,
      logger: silentLogger,
      newId: randomUUID,
      mailboxCapacity: capacity,
    };
    const exchange = new LogExchange(options);
    this.#closing.unshift(exchange);
    await exchange.start();
    return exchange;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    for (const one of this.#closing) await one.close();
  }
}

async function tell(
  exchange: LogExchange,
  to: ActorId,
  command: CounterCommand,
  options?: AskOptions,
): Promise<number> {
  return ((await exchange.ask(to, command, options)) as CounterReply).value;
}

function partitionOfWorker(worker: Worker, name: string): Partition {
  const partition = worker.held.get(name);
  if (partition === undefined) throw new Error(`${worker.id} does not hold ${name}`);
  return partition;
}

/** Puts a command into a mailbox without anybody waiting for an answer. */
async function post(log: Log, to: ActorId, command: CounterCommand, id = randomUUID()): Promise<void> {
  await log.append(partitionOf(to), [{ to, body: packEnvelope({ id, commands: [command] }) }]);
}

async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof Unavailable) return error.message;
    throw error;
  }
  throw new Error("it was not refused");
}

describe("a worker", () => {
  let deployment: Deployment;

  beforeEach(() => {
    deployment = new Deployment();
  });

  afterEach(() => deployment.close());

  describe("stepped by hand", () => {
    let log: MemoryLog;
    let faults: FaultyGate;
    let worker: Worker;

    beforeEach(async () => {
      log = deployment.connect();
      faults = new FaultyGate();
      worker = deployment.worker(deployment.connect(faults.gate));
      await worker.beat();
    });

    it("commits what waits, once", async () => {
      await post(log, a, { kind: "add", n: 3 });
      const partition = partitionOfWorker(worker, "l1");
      expect(partition.hasWork(0)).to.equal(true);
      await partition.step();
      await partition.step();
      expect(partition.hasWork(Date.now())).to.equal(false);
      expect((await counterInLog(log, a)).value).to.equal(3);
      expect((await log.heads("l1", [a]))[0]).to.include({ seq: 1, cursor: "0-1" });
    });

    it("cannot commit after it was paused past its lease, and gives the partition up", async () => {
      await post(log, a, { kind: "add", n: 3 });
      const resume = faults.hold("commit");
      const paused = partitionOfWorker(worker, "l1");
      const step = paused.step();
      const successor = deployment.worker(deployment.connect());
      await log.leave(worker.id);
      await successor.beat();
      await partitionOfWorker(successor, "l1").step();
      await post(log, a, { kind: "add", n: 5 });
      resume();
      await step;
      expect(paused.dropped).to.equal(true);
      expect(String(paused.reason)).to.match(/has another owner/);
      expect((await counterInLog(log, a)).value).to.equal(3);
      await partitionOfWorker(successor, "l1").step();
      partitionOfWorker(successor, "l1").ring({ partition: "l1", actors: [a], lookAtAll: false });
      await partitionOfWorker(successor, "l1").step();
      expect((await counterInLog(log, a)).value).to.equal(8);
    });

    for (const happened of [true, false]) {
      it(`looks at the log after an unknown commit that ${happened ? "happened" : "did not happen"}`, async () => {
        await post(log, a, { kind: "add", n: 3 });
        if (happened) faults.loseAnswer("commit");
        else faults.lose("commit");
        const partition = partitionOfWorker(worker, "l1");
        await partition.step();
        expect(partition.dropped).to.equal(true);
        expect((await counterInLog(log, a)).value).to.equal(happened ? 3 : 0);
        await worker.beat();
        expect(partitionOfWorker(worker, "l1").epoch).to.equal(partition.epoch + 1);
        await partitionOfWorker(worker, "l1").step();
        expect((await counterInLog(log, a)).value).to.equal(3);
        expect((await log.heads("l1", [a]))[0]).to.include({ seq: 1, cursor: "0-1" });
      });
    }

    for (const fault of ["before the relay", "after the relay", "with the relay unknown"] as const) {
      it(`sends to other actors once when it dies ${fault}`, async () => {
        await post(log, a, { kind: "send", to: b, numbers: [1, 2] });
        await post(log, a, { kind: "send", to: b, numbers: [3] });
        await partitionOfWorker(worker, "l1").step();
        if (fault === "with the relay unknown") faults.loseAnswer("append");
        if (fault !== "before the relay") await worker.relay.step("l2");
        expect(partitionOfWorker(worker, "l1").dropped).to.equal(fault === "with the relay unknown");
        await log.leave(worker.id);
        const successor = deployment.worker(deployment.connect());
        await successor.beat();
        await partitionOfWorker(successor, "l1").step();
        await successor.relay.step("l2");
        await partitionOfWorker(successor, "l2").step();
        expect((await counterInLog(log, b)).received).to.deep.equal({ [a]: [1, 2, 3] });
        await successor.relay.flush();
        expect((await log.heads("l1", [a]))[0]).to.include({ seq: 1, relayed: 1 });
      });
    }

    it("stops an actor whose invariant broke, tells, and lets the others go on", async () => {
      await post(log, a, { kind: "add", n: 1 });
      await post(log, a, { kind: "break" });
      await post(log, a, { kind: "add", n: 1 });
      const neighbour = "ledger:01" as ActorId;
      await log.append("l1", [{ to: neighbour, body: packEnvelope({ commands: [{ kind: "add", n: 7 }] }) }]);
      const partition = partitionOfWorker(worker, "l1");
      await partition.step();
      partition.ring({ partition: "l1", actors: [a, neighbour], lookAtAll: true });
      await partition.step();
      expect(partition.dropped).to.equal(false);
      expect((await log.heads("l1", [a, neighbour])).map(({ seq, cursor }) => [seq, cursor])).to.deep.equal([
        [1, "0-1"],
        [1, "0-1"],
      ]);
      expect([...(await log.halted()).keys()]).to.deep.equal([a]);
      expect((await log.halted()).get(a)).to.match(/told to break/);

      // The next tenure gives it another chance; a mended program takes it.
      await worker.stop();
      const mended = {
        ...counter,
        decide: ((state, command, now) =>
          counter.decide(
            state,
            command.kind === "break" ? { kind: "read" } : command,
            now,
          )) as typeof counter.decide,
      };
      const successor = deployment.worker(deployment.connect(), systemClock, mended);
      await successor.beat();
      await partitionOfWorker(successor, "l1").step();
      expect((await counterInLog(log, a)).value).to.equal(2);
      await eventually(async () => expect([...(await log.halted())]).to.deep.equal([]));
    });

    it("stops nobody when it is a former owner whose state is old", async () => {
      await post(log, a, { kind: "break" });
      const successor = deployment.worker(deployment.connect());
      await log.leave(worker.id);
      await successor.beat();
      const partition = partitionOfWorker(worker, "l1");
      await partition.step();
      expect(partition.dropped).to.equal(true);
      expect([...(await log.halted())]).to.deep.equal([]);
    });

    it("skips a malformed message", async () => {
      await log.append("l1", [{ to: a, body: "{" }]);
      await post(log, a, { kind: "add", n: 1 });
      await partitionOfWorker(worker, "l1").step();
      expect((await counterInLog(log, a)).value).to.equal(1);
      expect((await log.look("l1"))[0]?.waiting).to.equal(0);
    });

    it("gives the partition up when an actor is not where it believed", async () => {
      await post(log, a, { kind: "add", n: 1 });
      const partition = partitionOfWorker(worker, "l1");
      await partition.step();
      // Nobody but the owner of the epoch can do this; it stands for whatever nobody thought of.
      const entry = packEntry({
        actor: a,
        seq: 2,
        cursor: "0-1",
        sources: {},
        answers: [],
        batches: [{ ts: 1, deltas: [{ type: "added", n: 10 }] }],
      });
      await log.commit("l1", partition.epoch, [{ actor: a, expectedSeq: 1, cursor: "0-1", entry }]);
      await post(log, a, { kind: "add", n: 100 });
      partition.ring({ partition: "l1", actors: [a], lookAtAll: false });
      await partition.step();
      expect(String(partition.reason)).to.match(/not where this worker believed/);
      await worker.beat();
      await partitionOfWorker(worker, "l1").step();
      expect((await counterInLog(log, a)).value).to.equal(111);
    });

    it("begins anew from the log when the log has lost its tail", async () => {
      await post(log, a, { kind: "add", n: 1 });
      await partitionOfWorker(worker, "l1").step();
      deployment.store.sync();
      await post(log, a, { kind: "add", n: 10 });
      const partition = partitionOfWorker(worker, "l1");
      partition.ring({ partition: "l1", actors: [a], lookAtAll: false });
      await partition.step();
      deployment.store.powerCut();
      expect(partition.dropped).to.equal(true);
      await post(log, a, { kind: "add", n: 100 });
      await worker.beat();
      await partitionOfWorker(worker, "l1").step();
      expect((await counterInLog(log, a)).value).to.equal(101);
    });

    it("takes one batch after the other when much waits", async () => {
      const bodies = Array.from({ length: 5_000 }, () => packEnvelope({ commands: [{ kind: "add", n: 1 }] }));
      await log.append(
        "l1",
        bodies.map((body) => ({ to: a, body })),
      );
      const partition = partitionOfWorker(worker, "l1");
      let steps = 0;
      for (; partition.hasWork(Date.now()); steps += 1) await partition.step();
      expect(steps).to.be.within(2, 10);
      expect((await counterInLog(log, a)).value).to.equal(5_000);
    });
  });

  describe("on a clock of the test", () => {
    it("snapshots a busy actor, trims what nobody needs, and recovers from there", async () => {
      const clock = new ManualClock();
      const log = deployment.connect(undefined, clock);
      const worker = deployment.worker(log, clock);
      await worker.beat();
      const partition = partitionOfWorker(worker, "l1");
      const addOne = async (): Promise<void> => {
        await post(log, a, { kind: "add", n: 1 });
        partition.ring({ partition: "l1", actors: [a], lookAtAll: false });
        await partition.step();
      };
      const head = async () => (await log.look("l1"))[0];
      for (let i = 0; i < 600; i += 1) await addOne();
      await partition.tidy();
      expect((await head())?.head.snapshot, "too early").to.equal(0);
      clock.advance(31_000);
      await addOne();
      await partition.tidy();
      expect((await head())?.head).to.include({ seq: 601, snapshot: 601, previous: 0 });

      // Ten minutes later the old entries are out of the resume window.
      for (let round = 0; round < 3; round += 1) {
        clock.advance(300_000);
        for (let i = 0; i < 600; i += 1) await addOne();
        await worker.relay.flush();
        await log.markProjected("l1", [{ actor: a, seq: (await head())?.head.seq ?? 0 }]);
        clock.advance(31_000);
        await addOne();
        await partition.tidy();
      }
      const after = await head();
      expect(after?.head.seq).to.equal(2_404);
      expect(after?.head.snapshot).to.be.within(1_900, 2_404);
      expect(after?.head.previous).to.be.within(1_300, after?.head.snapshot ?? 0);
      expect(after?.retained).to.be.within(601, 1_300);
      expect((await counterInLog(log, a)).value).to.equal(2_404);

      // An actor that is let go leaves nothing but its snapshot and last entry.
      clock.advance(1_000_000);
      await worker.relay.flush();
      await log.markProjected("l1", [{ actor: a, seq: 2_404 }]);
      await partition.tidy();
      expect(await head()).to.deep.include({ retained: 1 });
      expect((await counterInLog(log, a)).value).to.equal(2_404);
      await addOne();
      expect((await counterInLog(log, a)).value).to.equal(2_405);
      expect(partition.dropped).to.equal(false);
    });

    it("does not let go of an actor that has a deadline", async () => {
      const clock = new ManualClock();
      const log = deployment.connect(undefined, clock);
      const worker = deployment.worker(log, clock);
      await worker.beat();
      const partition = partitionOfWorker(worker, "l1");
      await post(log, a, { kind: "alarm", atMs: clock.now() + 10_000_000 });
      await partition.step();
      clock.advance(2_000_000);
      await partition.tidy();
      expect((await log.heads("l1", [a]))[0]?.snapshot).to.equal(0);
      expect(partition.nextDeadline()).to.equal(11_000_000);
      clock.advance(9_000_000);
      expect(partition.hasWork(clock.now())).to.equal(true);
      await partition.step();
      expect((await counterInLog(log, a)).rangMs).to.deep.equal([12_000_000]);
      expect(partition.nextDeadline()).to.equal(undefined);
    });
  });

  describe("asked", () => {
    it("answers", async () => {
      await deployment.worker(deployment.connect()).start();
      const exchange = await deployment.exchange();
      expect(await tell(exchange, a, { kind: "add", n: 2 })).to.equal(2);
      expect(await tell(exchange, b, { kind: "add", n: 1 })).to.equal(1);
      expect(await tell(exchange, a, { kind: "read" }, { rememberMs: 0 })).to.equal(2);
    });

    it("carries the same command out once, whoever asks how often", async () => {
      await deployment.worker(deployment.connect()).start();
      const exchanges = await Promise.all([deployment.exchange(), deployment.exchange()]);
      const asks = Array.from({ length: 50 }, (_, index) =>
        tell(exchanges[index % 2] ?? exchanges[0], a, { kind: "add", n: 1 }, { id: "same" }),
      );
      expect(new Set(await Promise.all(asks))).to.deep.equal(new Set([1]));
      expect(await tell(exchanges[0], a, { kind: "read" })).to.equal(1);
    });

    it("is asked again with the same id when the message may have been lost", async () => {
      await deployment.worker(deployment.connect()).start();
      const faults = new FaultyGate();
      const exchange = await deployment.exchange(deployment.connect(faults.gate));
      faults.loseAnswer("append");
      expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(1);
      faults.lose("append");
      expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(2);
    });

    it("is asked again with the same id when the answer was lost", async () => {
      const faults = new FaultyGate();
      await deployment.worker(deployment.connect(faults.gate)).start();
      const exchange = await deployment.exchange();
      faults.lose("publish");
      expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(1);
      faults.loseAnswer("commit");
      expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(2);
      expect(await tell(exchange, a, { kind: "read" })).to.equal(2);
    }).timeout(10_000);

    it("says that it is unavailable when nobody answers in time, and does nothing afterwards", async () => {
      const log = deployment.connect();
      const exchange = await deployment.exchange();
      expect(await refusal(tell(exchange, a, { kind: "add", n: 1 }, { timeoutMs: 50 }))).to.match(
        /no answer/,
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
      const worker = deployment.worker(deployment.connect());
      await worker.start();
      expect(await tell(exchange, a, { kind: "read" })).to.equal(0);
      expect((await counterInLog(log, a)).value).to.equal(0);
    });

    it("refuses what goes over the capacity of a mailbox", async () => {
      const log = deployment.connect();
      for (let i = 0; i < 3; i += 1) await post(log, a, { kind: "add", n: 1 });
      const exchange = await deployment.exchange(deployment.connect(), 3);
      expect(await refusal(tell(exchange, a, { kind: "add", n: 1 }))).to.equal("mailbox full");
    });

    it("refuses everything while the log is short of memory", async () => {
      const log = deployment.connect();
      log.memoryUse = () => Promise.resolve(0.71);
      const exchange = await deployment.exchange(log);
      expect(await refusal(tell(exchange, a, { kind: "add", n: 1 }))).to.match(/memory/);
    });

    it("rings when told to, within a few milliseconds", async () => {
      await deployment.worker(deployment.connect()).start();
      const exchange = await deployment.exchange();
      const atMs = Date.now() + 60;
      await tell(exchange, a, { kind: "alarm", atMs });
      await eventually(async () => {
        const { rangMs } = await counterInLog(deployment.connect(), a);
        expect(rangMs).to.have.length(1);
        expect((rangMs[0] ?? 0) - atMs).to.be.within(0, 40);
      });
    });
  });
});

describe("workers on Redis", () => {
  let redis: FreshRedis;
  let deployment: Deployment;
  const logs: RedisLog[] = [];

  beforeEach(async () => {
    redis = await freshRedis();
    deployment = new Deployment();
  });

  afterEach(async () => {
    await deployment.close();
    await Promise.all(logs.splice(0).map((log) => log.close()));
    await redis.drop();
  });

  async function connect(): Promise<RedisLog> {
    const log = await RedisLog.open({ url: redis.url, prefix: redis.prefix });
    logs.push(log);
    return log;
  }

  it("share the partitions, send to each other and answer", async () => {
    const [one, two] = [deployment.worker(await connect()), deployment.worker(await connect())];
    await Promise.all([one.start(), two.start()]);
    const exchange = await deployment.exchange(await connect());
    for (let n = 1; n <= 20; n += 1) {
      await tell(exchange, a, { kind: "send", to: b, numbers: [n] });
      await tell(exchange, b, { kind: "send", to: a, numbers: [n] });
    }
    await eventually(() =>
      expect([[...one.held.keys()], [...two.held.keys()]]).to.deep.equal([["l1"], ["l2"]]),
    );
    const all = Array.from({ length: 20 }, (_, index) => index + 1);
    const log = await connect();
    await eventually(async () => expect((await counterInLog(log, b)).received).to.deep.equal({ [a]: all }));
    await eventually(async () => expect((await counterInLog(log, a)).received).to.deep.equal({ [b]: all }));
  });

  it("take over within a second from one that died, and nothing is lost or repeated", async () => {
    const dying = await connect();
    const first = deployment.worker(dying);
    await first.start();
    const exchange = await deployment.exchange(await connect());
    await tell(exchange, a, { kind: "add", n: 1 });
    await deployment.worker(await connect()).start();
    await eventually(() => expect([...first.held.keys()]).to.deep.equal(["l1"]));
    // Its connections end and its heartbeats with them, as in a kill.
    await dying.close();
    const began = Date.now();
    const values = await Promise.all([
      tell(exchange, a, { kind: "add", n: 1 }),
      tell(exchange, b, { kind: "add", n: 1 }),
    ]);
    expect(Date.now() - began, "ms to the first answers").to.be.below(1_200);
    expect(values).to.deep.equal([2, 1]);
  });

  it("hand over at once when they are told to stop", async () => {
    const first = deployment.worker(await connect());
    await first.start();
    const exchange = await deployment.exchange(await connect());
    await tell(exchange, a, { kind: "add", n: 1 });
    const second = deployment.worker(await connect());
    await second.start();
    await first.stop();
    const began = Date.now();
    expect(await tell(exchange, a, { kind: "add", n: 1 })).to.equal(2);
    expect(Date.now() - began, "ms to the first answer").to.be.below(300);
    expect(second.held.size).to.equal(2);
  });

  it("go on after the connection was cut, with every command once", async () => {
    const worker = deployment.worker(await connect());
    await worker.start();
    const exchange = await deployment.exchange(await connect());
    const asks: Promise<number>[] = [];
    for (let round = 0; round < 5; round += 1) {
      for (let i = 0; i < 20; i += 1) asks.push(tell(exchange, a, { kind: "add", n: 1 }));
      await new Promise((resolve) => setTimeout(resolve, 30));
      await cut(redis.url);
    }
    const values = await Promise.all(asks);
    expect(values.sort((x, y) => x - y)).to.deep.equal(Array.from({ length: 100 }, (_, index) => index + 1));
  }).timeout(20_000);
});

/** Ends every connection to the test's database. */
async function cut(url: string): Promise<void> {
  const { Redis } = await import("ioredis");
  const admin = new Redis(url);
  const database = new URL(url).pathname.slice(1);
  for (const line of String(await admin.client("LIST")).split("\n")) {
    const id = /\bid=(\d+)/.exec(line)?.[1];
    if (id === undefined || !new RegExp(`\\bdb=${database}\\b`).test(line)) continue;
    await admin.client("KILL", "ID", id, "SKIPME", "yes").catch(() => undefined);
  }
  admin.disconnect();
}
