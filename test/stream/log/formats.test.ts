import { expect } from "chai";
import { Redis } from "ioredis";
import { type Format, LATEST_FORMAT } from "../../../actors/format.js";
import { announcedName, FormatAnnouncer, nextRecord, type RoleName } from "../../../stream/log/formats.js";
import type { Log } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { Keys } from "../../../stream/redis/keys.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { freshRedis } from "../../support/servers.js";
import { ManualClock, microtasksDone, pause } from "./support.js";

const NEW = ["2:worker:a", "2:gateway:b", "2:projector:c", "2:jobs:d"];
const START = { active: 1, laterSinceMs: undefined, highest: 1 };
/** A format that this build does not read. */
const NEWER = LATEST_FORMAT + 1;

describe("the active format", () => {
  it("rises when every role has announced a later one for ten seconds", () => {
    const first = nextRecord(START, NEW, 50_000);
    expect(first).to.deep.equal({ ...START, laterSinceMs: 50_000 });
    expect(nextRecord(first, NEW, 59_999)).to.deep.equal(first);
    expect(nextRecord(first, NEW, 60_000)).to.deep.equal({ active: 2, laterSinceMs: undefined, highest: 2 });
  });

  it("does not rise beside a role that is silent or older, and begins to wait again after it", () => {
    const waiting = { ...START, laterSinceMs: 50_000 };
    for (const older of ["00000000-worker-of-an-old-build", "1:gateway:e"])
      expect(nextRecord(waiting, [...NEW, older], 70_000)).to.deep.equal(START);
    expect(nextRecord(START, NEW, 70_000)).to.deep.equal({ ...START, laterSinceMs: 70_000 });
  });

  it("does not rise while no projector announces, because an old one may be at work", () => {
    const waiting = { ...START, laterSinceMs: 50_000 };
    expect(nextRecord(waiting, ["2:worker:a", "2:gateway:b"], 70_000)).to.deep.equal(START);
  });

  it("falls at once when an older role joins, and stays when a projector restarts", () => {
    const risen = { active: 2, laterSinceMs: undefined, highest: 2 };
    expect(nextRecord(risen, [...NEW, "old"], 1), "the log has data of format 2").to.deep.equal({
      ...START,
      highest: 2,
    });
    expect(nextRecord(risen, ["2:worker:a"], 1)).to.deep.equal(risen);
  });

  it("begins to wait again when the clock of the log jumps, or the log has stalled for longer than the wait", () => {
    const waiting = { ...START, laterSinceMs: 50_000 };
    for (const nowMs of [49_000, 50_000 + 21_000, 50_000 + 3_600_000])
      expect(nextRecord(waiting, NEW, nowMs)).to.deep.equal({ ...START, laterSinceMs: nowMs });
  });
});

interface Subject {
  open(): Promise<Log>;
  /** Registers a worker or a gateway as the build before formats does, or announces a role, `agoMs` ago. */
  old(kind: "workers" | "gateways" | "roles", name: string, agoMs?: number): Promise<void>;
  close(): Promise<void>;
}

const subjects: Record<string, () => Promise<Subject>> = {
  "in memory": () => {
    const store = new MemoryStore();
    const keys = new Keys("");
    return Promise.resolve({
      open: () => Promise.resolve(new MemoryLog(store)),
      old: (kind, name, agoMs = 0) => {
        store.set(keys[kind](), name, String(Date.now() - agoMs));
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    });
  },
  "on Redis": async () => {
    const fresh = await freshRedis();
    const redis = new Redis(fresh.url);
    const keys = new Keys(fresh.prefix);
    return {
      open: () => RedisLog.open(fresh),
      old: async (kind, name, agoMs = 0) => {
        await redis.zadd(keys[kind](), Date.now() - agoMs, name);
      },
      close: async () => {
        redis.disconnect();
        await fresh.drop();
      },
    };
  },
};

for (const [name, create] of Object.entries(subjects)) {
  describe(`announcements ${name}`, () => {
    let subject: Subject;
    let log: Log;

    beforeEach(async () => {
      subject = await create();
      log = await subject.open();
    });

    afterEach(async () => {
      await log.close();
      await subject.close();
    });

    const announced = async (role: string): Promise<string[]> =>
      [...(await log.announce(role, 60_000)).roles].toSorted();

    it("list the roles that have announced themselves, until they withdraw or are silent", async () => {
      await announced("2:worker:a");
      expect(await announced("2:jobs:b")).to.deep.equal(["2:jobs:b", "2:worker:a"]);
      await log.withdraw("2:worker:a");
      expect(await announced("2:jobs:b")).to.deep.equal(["2:jobs:b"]);
      await announced("2:worker:c");
      await pause(120);
      await announced("2:gateway:d");
      expect((await log.announce("2:jobs:b", 100)).roles).to.have.members(["2:jobs:b", "2:gateway:d"]);
    });

    it("list all roles for as long again when all seem silent, as after a jump of the clock", async () => {
      await announced("2:worker:a");
      await announced("2:jobs:b");
      await pause(120);
      expect((await log.announce("2:jobs:b", 100)).roles).to.have.members(["2:jobs:b", "2:worker:a"]);
      await pause(120);
      await announced("2:jobs:b");
      expect((await log.announce("2:jobs:b", 100)).roles).to.have.members(["2:jobs:b"]);
    });

    for (const agoMs of [3_600_000, -3_600_000])
      it(`list a role for a minute from a jump of the clock by ${agoMs / 60_000} minutes on, and no longer`, async () => {
        await subject.old("roles", "2:worker:a", agoMs);
        expect(await announced("4:jobs:b")).to.deep.equal(["2:worker:a", "4:jobs:b"]);
        await pause(120);
        await announced("4:jobs:b");
        expect((await log.announce("4:jobs:b", 100)).roles).to.deep.equal(["4:jobs:b"]);
      });

    it("list a role that was silent for ten seconds before a jump of the clock by less than a minute", async () => {
      await subject.old("roles", "2:worker:a", 55_000);
      await subject.old("roles", "2:worker:b", 65_000);
      expect(await announced("4:jobs:c")).to.deep.equal(["2:worker:a", "2:worker:b", "4:jobs:c"]);
    });

    it("list the live workers and gateways that announce nothing, and not those that do", async () => {
      await subject.old("workers", "old worker");
      await subject.old("gateways", "old gateway");
      await subject.old("workers", "dead worker", 61_000);
      await subject.old("gateways", "dead gateway", 61_000);
      await subject.old("workers", announcedName(2, "worker", "a"));
      await subject.old("gateways", announcedName(2, "gateway", "b"));
      expect(await announced("2:worker:a")).to.deep.equal(["2:worker:a", "old gateway", "old worker"]);
    });

    it("keep the first of two records that were made from the same one", async () => {
      expect((await log.announce("2:worker:a", 60_000)).record).to.equal("");
      await log.recordFormat("", "1 500");
      await log.recordFormat("", "2");
      expect((await log.announce("2:worker:a", 60_000)).record).to.equal("1 500");
      await log.recordFormat("1 500", "2");
      expect((await log.announce("2:worker:a", 60_000)).record).to.equal("2");
    });
  });
}

describe("a process that announces its format", () => {
  let clock: ManualClock;
  let store: MemoryStore;
  const running: FormatAnnouncer[] = [];

  beforeEach(() => {
    clock = new ManualClock();
    store = new MemoryStore();
  });

  afterEach(async () => {
    await Promise.all(running.splice(0).map((role) => role.stop()));
  });

  async function start(role: RoleName, format: Format = 2): Promise<FormatAnnouncer> {
    const log = new MemoryLog(store, { clock });
    const id = String(running.length);
    const announcer = new FormatAnnouncer({ log, clock, logger: silentLogger, role, id, format });
    running.push(announcer);
    await announcer.start();
    return announcer;
  }

  async function seconds(count: number): Promise<void> {
    for (let second = 0; second < count; second += 1) {
      clock.advance(1_000);
      for (let turn = 0; turn < 5; turn += 1) await microtasksDone();
    }
  }

  it("writes format 1 at first, and the later one when all have announced it", async () => {
    const worker = await start("worker");
    await start("projector");
    expect(worker.active()).to.equal(1);
    await seconds(9);
    expect(worker.active()).to.equal(1);
    await seconds(3);
    expect(worker.active()).to.equal(2);
    expect(worker.report()).to.deep.equal({ active: 2, announced: { 2: 2 } });
    const late = await start("gateway");
    expect(late.active(), "a role that starts later").to.equal(2);
  });

  it("knows for how long a format has been active without a break, or that it was from the start", async () => {
    const worker = await start("worker");
    await start("projector");
    await seconds(12);
    expect(worker.active()).to.equal(2);
    await seconds(50);
    expect([worker.activeFor(40_000), worker.activeFor(65_000)]).to.deep.equal([2, 1]);
    const late = await start("gateway");
    expect(late.activeFor(65_000)).to.equal(2);
    await seconds(15);
    expect(worker.activeFor(65_000)).to.equal(2);
    const older = await start("gateway", 1);
    await seconds(1);
    expect([worker.activeFor(0), late.activeFor(65_000)]).to.deep.equal([1, 1]);
    await older.stop();
    await seconds(13);
    expect([worker.active(), worker.activeFor(30_000), late.activeFor(30_000)]).to.deep.equal([2, 1, 1]);
  });

  it("writes format 1 while one role insists on it, and the later one after it", async () => {
    const worker = await start("worker");
    const projector = await start("projector");
    const pinned = await start("gateway", 1);
    await seconds(30);
    expect([worker.active(), projector.active(), pinned.active()]).to.deep.equal([1, 1, 1]);
    expect(worker.report()).to.deep.equal({ active: 1, announced: { 1: 1, 2: 2 } });
    await pinned.stop();
    await seconds(12);
    expect(worker.active()).to.equal(2);
  });

  it("falls back within a second of an old worker, also in every other process", async () => {
    const worker = await start("worker");
    const projector = await start("projector");
    await seconds(12);
    store.set(new Keys("").workers(), "old worker", String(clock.now()));
    await seconds(2);
    expect([worker.active(), projector.active()]).to.deep.equal([1, 1]);
    expect(worker.report().announced).to.deep.equal({ 1: 1, 2: 2 });
  });

  it("keeps its format while the log does not answer", async () => {
    const worker = await start("worker");
    await start("projector");
    await seconds(12);
    let failures = 0;
    const log = new MemoryLog(store, { clock, gate: () => Promise.reject(new Error("unreachable")) });
    const logger = { ...silentLogger, warn: () => (failures += 1) };
    const unreachable = new FormatAnnouncer({ log, clock, logger, role: "jobs", id: "x", format: 2 });
    running.push(unreachable);
    await unreachable.start();
    await seconds(3);
    expect(unreachable.active(), "before the log has ever answered").to.equal(1);
    expect(failures).to.be.greaterThan(2);
    expect(worker.active()).to.equal(2);
  });

  describe("of a build that does not read what is in the log", () => {
    const announce = (...names: string[]): Promise<unknown> =>
      Promise.all(names.map((name) => new MemoryLog(store, { clock }).announce(name, 60_000)));

    it("knows which format another worker reads, also after the active format has fallen because of it", async () => {
      await announce(`${NEWER}:worker:new`, `${NEWER}:projector:new`);
      await new MemoryLog(store, { clock }).recordFormat("", String(NEWER));
      const older = await start("worker", LATEST_FORMAT);
      expect([older.active(), older.unreadable()]).to.deep.equal([LATEST_FORMAT, NEWER]);
      await seconds(2);
      const restarted = await start("worker", LATEST_FORMAT);
      expect([restarted.active(), restarted.unreadable()]).to.deep.equal([LATEST_FORMAT, NEWER]);
    });

    it("does not wait for a worker that is not there, or that writes an earlier format", async () => {
      await new MemoryLog(store, { clock }).recordFormat("", String(NEWER));
      await announce(`${NEWER}:gateway:new`, `${LATEST_FORMAT}:worker:new`);
      const older = await start("worker", LATEST_FORMAT);
      expect(older.unreadable()).to.equal(undefined);
      await announce(`${NEWER}:worker:joins`);
      await seconds(1);
      expect(older.unreadable()).to.equal(NEWER);
      await new MemoryLog(store, { clock }).withdraw(`${NEWER}:worker:joins`);
      await seconds(1);
      expect(older.unreadable()).to.equal(undefined);
    });

    it("reads everything beside a worker of a later build whose format was never active", async () => {
      await announce(`${NEWER}:worker:new`, `${NEWER}:projector:new`);
      const older = await start("worker", LATEST_FORMAT);
      await seconds(30);
      expect([older.active(), older.unreadable()]).to.deep.equal([LATEST_FORMAT, undefined]);
    });
  });
});
