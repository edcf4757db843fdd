import { expect } from "chai";
import { type ActorId, ledgerActor, marketActor, partitionOf } from "../../../actors/actor.js";
import { systemClock } from "../../../stream/log/clock.js";
import { LogExchange } from "../../../stream/log/exchange.js";
import { WriteRefused } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { packEnvelope, packSnapshot } from "../../../stream/log/packing.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { loadActor, loadState } from "../../../stream/runtime/recovery.js";
import {
  findUndoneRemovals,
  removeActor,
  restoreActor,
  restoreWanted,
} from "../../../stream/runtime/removal/removal.js";
import { SNAPSHOT_LIMITS } from "../../../stream/runtime/snapshot-policy.js";
import { Worker, type WorkerOptions } from "../../../stream/runtime/worker.js";
import { MemoryArchive } from "../../support/log/memory-archive.js";
import { freshRedis, type FreshRedis } from "../../support/servers.js";
import { until } from "../../support/until.js";
import { sendCommand } from "./deployment.js";
import { counter, type CounterState } from "./counter.js";

const LIMITS = { ...SNAPSHOT_LIMITS, idleMs: 50 };

describe("a removed actor", function () {
  this.timeout(60_000);
  const actor = marketActor("00000000-0000-4000-8000-000000000001");
  const partition = partitionOf(actor);
  let redis: FreshRedis;
  let log: RedisLog;
  let archive: MemoryArchive;
  let exchange: LogExchange;
  let canRestore: boolean;
  const workers: Worker[] = [];
  let ids = 0;

  beforeEach(async () => {
    redis = await freshRedis();
    log = await RedisLog.open({ url: redis.url, prefix: redis.prefix });
    archive = new MemoryArchive();
    canRestore = true;
    exchange = new LogExchange({
      log,
      clock: systemClock,
      logger: silentLogger,
      newId: () => `id ${(ids += 1)}`,
      restore: async (id) =>
        canRestore ? restoreActor(log, archive, id) : Promise.reject(new Error("away")),
    });
    await exchange.start();
  });
  afterEach(async () => {
    await exchange.close();
    for (const worker of workers.splice(0)) await worker.stop();
    await log.close();
    await redis.drop();
  });

  async function startWorker(options: Partial<WorkerOptions> = {}): Promise<Worker> {
    const worker = new Worker({
      id: `worker ${(ids += 1)}`,
      log,
      actorOf: () => counter,
      clock: systemClock,
      logger: silentLogger,
      partitions: [partition, "l0"],
      snapshotLimits: LIMITS,
      ...options,
    });
    workers.push(worker);
    await worker.start();
    return worker;
  }

  /** Returns other actors of the same partition. */
  const others = (count: number): readonly ActorId[] =>
    Array.from({ length: count * 1_000 }, (_, index) =>
      marketActor(`00000000-0000-4000-8000-2${String(index).padStart(11, "0")}`),
    )
      .filter((id) => partitionOf(id) === partition)
      .slice(0, count);
  /** Returns the log with other operations for some of its own. */
  const logWith = (changes: Partial<Pick<RedisLog, "readStored" | "restoreActor">>) => ({
    heads: log.heads.bind(log),
    readStored: log.readStored.bind(log),
    removeActor: log.removeActor.bind(log),
    restoreActor: log.restoreActor.bind(log),
    wanted: log.wanted.bind(log),
    ...changes,
  });
  const add = (n: number): Promise<unknown> => sendCommand(exchange, actor, { kind: "add", n });
  const headOf = async () => (await log.heads(partition, [actor]))[0] ?? expect.fail();
  const total = async () =>
    (await loadState({ log, actorOf: () => counter, logger: silentLogger, archive }, actor)).state;

  /** Waits until the owner has taken the last snapshot, as it does for an idle actor. */
  async function whenIdle(): Promise<void> {
    const { seq } = await headOf();
    await log.markProjected(partition, [{ actor, seq }]);
    await until(async () => (await headOf()).snapshot === seq);
  }

  it("is restored by the sender of a command, and its seqs and its state go on", async () => {
    await startWorker();
    await add(1);
    await add(2);
    await whenIdle();
    const before = await total();
    expect(await removeActor(log, archive, actor)).to.equal(true);
    expect(await total(), "read from the archive").to.deep.equal(before);
    await add(4);
    const head = await headOf();
    expect(head).to.include({ seq: 3 }).and.not.to.have.property("removed");
    await whenIdle();
    expect(await removeActor(log, archive, actor)).to.equal(true);
    expect(archive.marks.map((hash) => hash !== undefined)).to.deep.equal([true, false, false, true]);
  });

  it("stays live while its last snapshot is damaged", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    const damaged: typeof log.readStored = async (...of) => {
      const stored = (await log.readStored(...of)) ?? expect.fail("there is no snapshot");
      return { ...stored, snapshot: { ...stored.snapshot, body: `${stored.snapshot.body} ` } };
    };
    expect(await removeActor(logWith({ readStored: damaged }), archive, actor)).to.equal(false);
    expect(await headOf()).not.to.have.property("removed");
  });

  it("stays live when a command arrives between the archive and the removal", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    const racing = new MemoryArchive();
    racing.keep = async () => {
      await log.append(partition, [{ to: actor, body: "not read" }]);
    };
    for (const worker of workers.splice(0)) await worker.stop();
    expect(await removeActor(log, racing, actor)).to.equal(false);
    expect(await headOf()).not.to.have.property("removed");
  });

  it("is removed by the next run after a crash between the archive and the removal, or before its record", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    const crashing = new MemoryArchive();
    crashing.keep = () => Promise.reject(new Error("the process ends"));
    await removeActor(log, crashing, actor).catch(() => undefined);
    expect(await headOf()).not.to.have.property("removed");
    archive.mark = () => Promise.reject(new Error("the process ends"));
    await removeActor(log, archive, actor).catch(() => undefined);
    expect(await headOf()).to.have.property("removed");
    archive.mark = (_actor, removed) => Promise.resolve(void archive.marks.push(removed));
    expect(await removeActor(log, archive, actor)).to.equal(true);
    expect(archive.marks).to.have.length(1);
  });

  it("is not recorded as removed when it is restored before the record", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    const mark = archive.mark.bind(archive);
    archive.mark = async (id, removed) => {
      if (removed !== undefined) await restoreActor(log, archive, id);
      await mark(id, removed);
    };
    expect(await removeActor(log, archive, actor)).to.equal(true);
    expect(await headOf()).not.to.have.property("removed");
    expect(await archive.removedOf([actor])).to.deep.equal([]);
  });

  it("is not recorded as removed when that is recorded during its restoration", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    await removeActor(log, archive, actor);
    const { removed } = await headOf();
    const restoreLate: typeof log.restoreActor = async (...of) => {
      await archive.mark(actor, removed);
      return log.restoreActor(...of);
    };
    await restoreActor(logWith({ restoreActor: restoreLate }), archive, actor);
    expect(await headOf()).not.to.have.property("removed");
    expect(await archive.removedOf([actor])).to.deep.equal([]);
  });

  it("is found and removed again after a power loss of the log has undone its removal", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    const stored = (await log.readStored(partition, actor)) ?? expect.fail("there is no snapshot");
    await removeActor(log, archive, actor);
    await findUndoneRemovals(log, archive);
    expect(await archive.removedOf([actor]), "a removal that stands").to.deep.equal([actor]);
    // The power loss undoes the removal, and leaves the record of it in the archive.
    await log.restoreActor(partition, actor, stored);
    await findUndoneRemovals(log, archive);
    expect(await archive.removedOf([actor])).to.deep.equal([]);
    expect(await removeActor(log, archive, actor)).to.equal(true);
    await findUndoneRemovals(log, archive);
    expect(await archive.removedOf([actor])).to.deep.equal([actor]);
  });

  it("stays removed in the archive while messages wait for its restoration", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    await removeActor(log, archive, actor);
    await log.append(partition, [{ to: actor, body: "not read" }]);
    expect(await log.actors(partition)).to.include(actor);
    await findUndoneRemovals(log, archive);
    expect(await archive.removedOf([actor])).to.deep.equal([actor]);
  });

  it("receives a message whose sender could not restore it, also from a new owner", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    await removeActor(log, archive, actor);
    canRestore = false;
    const answer = add(2);
    await until(async () => (await log.wanted([partition])).length === 1);
    for (const worker of workers.splice(0)) await worker.stop();
    await startWorker();
    await restoreWanted(log, archive);
    await answer;
    expect(await headOf()).to.include({ seq: 2 });
  });

  it("is restored although the archive has lost the snapshot of another one", async () => {
    const restored: string[] = [];
    const lost = marketActor("00000000-0000-4000-8000-000000000002");
    const twoWanted: Parameters<typeof restoreWanted>[0] = {
      wanted: () => Promise.resolve([lost, actor]),
      heads: (_partition, actors) =>
        Promise.resolve(
          actors.map((id) => ({
            seq: 1,
            cursor: "",
            relayed: 1,
            projected: 1,
            snapshot: 1,
            previous: 0,
            lineage: "",
            removed: `hash of ${id}`,
          })),
        ),
      restoreActor: (_partition, id) => Promise.resolve(restored.push(id) > 0),
      readStored: () => expect.fail(),
      removeActor: () => expect.fail(),
    };
    const snapshot = { seq: 1, cursor: "", hash: `hash of ${actor}`, body: "" };
    await archive.keep(actor, { snapshot, parts: [] });
    const error: unknown = await restoreWanted(twoWanted, archive).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(AggregateError);
    expect(restored).to.deep.equal([actor]);
  });

  it("receives a message whose notification came while its owner was loading the removed actor", async () => {
    await startWorker();
    await add(1);
    await whenIdle();
    await removeActor(log, archive, actor);
    for (const worker of workers.splice(0)) await worker.stop();
    await startWorker();
    // The scans of a new owner are over, so it reads a mailbox only after a notification.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const heads = log.heads.bind(log);
    let restored = false;
    log.heads = async (...of) => {
      const found = await heads(...of);
      if (restored) return found;
      restored = true;
      await restoreActor(log, archive, actor);
      // The owner receives the notification of the restoration before it receives this head.
      await new Promise((resolve) => setTimeout(resolve, 100));
      return found;
    };
    await log.append(partition, [{ to: actor, body: JSON.stringify({ commands: [{ kind: "add", n: 1 }] }) }]);
    await until(async () => (await heads(partition, [actor]))[0]?.seq === 2);
  });

  it("is forgotten by the actors that it has sent messages to, and its late messages are refused", async () => {
    const reviewLimits = { minSources: 1, sources: 10, intervalMs: 100 };
    const former = await log.take(partition, "former owner", 0);
    const formerEpoch = former.kind === "taken" ? former.epoch : expect.fail("the lease was not taken");
    await log.release(partition, formerEpoch);
    await startWorker({ reviewLimits });
    // An actor with a deadline stays in memory.
    await sendCommand(exchange, ledgerActor(0), { kind: "alarm", atMs: Date.now() + 60_000 });
    const live = others(2);
    for (const source of [actor, ...live])
      await sendCommand(exchange, source, { kind: "send", to: ledgerActor(0), numbers: [1] });
    const sources = async () =>
      (await loadActor({ log, actorOf: () => counter, logger: silentLogger }, "l0", ledgerActor(0))).instance
        .sources;
    await until(async () => (await sources()).size === 3);
    await whenIdle();
    expect(await removeActor(log, archive, actor)).to.equal(true);
    await until(async () => (await sources()).size === 2);
    expect([...(await sources()).keys()]).to.have.members(live);

    const late = { source: actor, seq: 1, commands: [{ kind: "receive", from: actor, n: 1 }] };
    const from = { partition, epoch: formerEpoch };
    const outcomes = await log.append("l0", [{ to: ledgerActor(0), body: packEnvelope(late), from }]);
    expect(outcomes).to.deep.equal(["fenced"]);
    await sendCommand(exchange, actor, { kind: "send", to: ledgerActor(0), numbers: [2] });
    await until(async () => (await sources()).size === 3);
    const { state } = await loadState({ log, actorOf: () => counter, logger: silentLogger }, ledgerActor(0));
    expect((state as CounterState).received[actor]).to.deep.equal([1, 2]);
  });

  it("is forgotten later while the memory of the log is full, and no ownership ends for that", async () => {
    const reviewLimits = { minSources: 1, sources: 10, intervalMs: 100 };
    const worker = await startWorker({ reviewLimits });
    await sendCommand(exchange, ledgerActor(0), { kind: "alarm", atMs: Date.now() + 60_000 });
    for (const source of [actor, ...others(1)])
      await sendCommand(exchange, source, { kind: "send", to: ledgerActor(0), numbers: [1] });
    await whenIdle();
    const append = log.append.bind(log);
    let refused = 0;
    log.append = (...of) => {
      const [, , , fences = []] = of;
      if (fences.length === 0 || refused === 2) return append(...of);
      refused += 1;
      return Promise.reject(new WriteRefused("the memory of Redis is full"));
    };
    expect(await removeActor(log, archive, actor)).to.equal(true);
    const sources = async () =>
      (await loadActor({ log, actorOf: () => counter, logger: silentLogger }, "l0", ledgerActor(0))).instance
        .sources;
    await until(async () => (await sources()).size === 1);
    expect(refused).to.equal(2);
    expect(worker.taken, "partitions that were taken").to.equal(2);
  });

  it("costs a new owner nothing", async () => {
    const take = async (): Promise<number> => {
      const began = performance.now();
      await log.scan(partition);
      return performance.now() - began;
    };
    await startWorker();
    await add(1);
    const base = await take();
    const actors = Array.from({ length: 20_000 }, (_, index) =>
      marketActor(`00000000-0000-4000-8000-1${String(index).padStart(11, "0")}`),
    ).filter((id) => partitionOf(id) === partition);
    expect(actors.length).to.be.above(200);
    await Promise.all(actors.map((id) => sendCommand(exchange, id, { kind: "add", n: 1 })));
    for (const id of actors) {
      const [head] = await log.heads(partition, [id]);
      await log.markProjected(partition, [{ actor: id, seq: head?.seq ?? 0 }]);
    }
    expect(await log.scan(partition)).to.have.length(actors.length + 1);
    for (const worker of workers.splice(0)) await worker.stop();
    const [lease] = [...(await log.leases([partition])).values()];
    const taken = await log.take(partition, "remover", lease?.epoch ?? 0);
    const epoch = taken.kind === "taken" ? taken.epoch : 0;
    for (const id of actors) {
      const [head] = await log.heads(partition, [id]);
      const snapshot = packSnapshot(head?.seq ?? 0, head?.cursor ?? "", {}, 2);
      await log.markRelayed(partition, epoch, [{ actor: id, seq: snapshot.seq }]);
      await log.writeSnapshot(partition, epoch, id, snapshot);
      expect(await removeActor(log, archive, id)).to.equal(true);
    }
    expect(await log.scan(partition)).to.have.length(1);
    expect(await take()).to.be.below(base * 5 + 20);
  });
});
