import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { sql } from "drizzle-orm";
import pg from "pg";
import { type ActorId, partitionOf } from "../../../actors/actor.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { PROJECTOR_GROUPS, PROJECTOR_LOCK } from "../../../db/locks.js";
import { migrate } from "../../../db/migrate.js";
import { installation } from "../../../db/schema/exchange.js";
import { ProjectionBatch, ProjectionGap } from "../../../db/projection/batch.js";
import { marketArchive } from "../../../db/queries/catalog/removed-markets.js";
import { ProjectionSession } from "../../../db/projection/session.js";
import type { Feed, Followed, History, Journal, JournalHead } from "../../../db/projection/journal.js";
import { Projector } from "../../../db/projection/projector.js";
import { OtherLog } from "../../../db/queries/installation.js";
import { isProjecting, projectedPositions, waitProjected } from "../../../db/queries/projected.js";
import { Freshness } from "../../../http/trading/freshness.js";
import { systemClock } from "../../../stream/log/clock.js";
import { NOWHERE, type Position } from "../../../stream/log/lineage.js";
import { silentLogger } from "../../../stream/log/logger.js";
import type { AnyDelta, Entry } from "../../../stream/log/ports.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { entry, SmallExchange } from "../exchange.js";
import { dump, project } from "../read-model.js";
import { startProxy } from "../../support/proxy.js";
import { until, untilWithin } from "../../support/until.js";

/** A log in memory, which emits the appended entries to its followers. */
class MemoryJournal implements Journal {
  readonly #entries: Entry[] = [];
  readonly #followers = new Set<() => void>();
  readonly marks = new Map<ActorId, number>();
  /** Actors in the order of their marks. */
  readonly marked: ActorId[] = [];
  /** Id of the log. */
  id: string | undefined;
  /** An actor whose entries were trimmed too early. */
  gapAt: ActorId | undefined;
  /** Actors that are removed from the log. */
  readonly removed = new Set<ActorId>();
  /** Actors whose heads were read. */
  asked: ActorId[] = [];
  /** Attempts to follow the log. */
  attempts = 0;

  append(entries: readonly Entry[]): void {
    const known = new Set(this.#entries.map(({ actor, seq }) => `${actor} ${seq}`));
    this.#entries.push(...entries.filter(({ actor, seq }) => !known.has(`${actor} ${seq}`)));
    for (const wake of this.#followers) wake();
  }

  followAll(
    { cursors, partitions }: Followed,
    onEntries: (entries: readonly Entry[]) => Promise<void>,
    onGap: (actor: ActorId) => void,
  ): Feed {
    this.attempts += 1;
    let given = 0;
    let stopped = false;
    let giving = Promise.resolve();
    const give = (): void => {
      giving = giving.then(async () => {
        if (stopped) return;
        if (this.gapAt !== undefined) onGap(this.gapAt);
        const isNext = ({ actor, seq }: Entry): boolean =>
          partitions.includes(partitionOf(actor)) && seq > (cursors.get(actor)?.seq ?? 0);
        const next = this.#entries.slice(given).filter(isNext);
        given = this.#entries.length;
        if (next.length > 0) await onEntries(next);
      });
    };
    this.#followers.add(give);
    give();
    return {
      forget: () => undefined,
      stop: async () => {
        stopped = true;
        this.#followers.delete(give);
        await giving;
      },
    };
  }

  actors(partitions: readonly string[]): Promise<readonly ActorId[]> {
    const actors = new Set(this.#entries.map(({ actor }) => actor));
    const isLive = (actor: ActorId): boolean => !this.removed.has(actor);
    return Promise.resolve(
      [...actors].filter((actor) => isLive(actor) && partitions.includes(partitionOf(actor))),
    );
  }

  heads(actors: readonly ActorId[]): Promise<ReadonlyMap<ActorId, JournalHead>> {
    this.asked.push(...actors);
    const headOf = (actor: ActorId): JournalHead => ({
      ...this.#positionOf(actor),
      projected: this.marks.get(actor) ?? 0,
    });
    return Promise.resolve(new Map(actors.map((actor) => [actor, headOf(actor)])));
  }

  #positionOf(of: ActorId): Position {
    return this.#entries.reduce(
      (head, { actor, seq }) => (actor === of && seq > head.seq ? { ...head, seq } : head),
      NOWHERE,
    );
  }

  logId(): Promise<string | undefined> {
    return Promise.resolve(this.id);
  }

  historyAfter(actor: ActorId, after: number): Promise<History> {
    const code = actorOf(actor);
    const state = code.create(actor);
    const entries = this.#entries.filter((entry) => entry.actor === actor);
    for (const { batches } of entries)
      for (const { ts, deltas } of batches) for (const delta of deltas) code.evolve(state, delta, ts);
    return Promise.resolve({
      state,
      head: this.#positionOf(actor),
      lineage: "",
      sinceTs: entries.find(({ seq }) => seq === after)?.batches.at(-1)?.ts ?? 0,
      async *entries() {
        await Promise.resolve();
        yield entries.filter(({ seq }) => seq > after);
      },
    });
  }

  markProjected(cursors: ReadonlyMap<ActorId, Position>): Promise<void> {
    for (const [actor, { seq }] of cursors) {
      this.marks.set(actor, seq);
      this.marked.push(actor);
    }
    return Promise.resolve();
  }
}

describe("projector", () => {
  let database: FreshDatabase;
  let db: Database;
  let journal: MemoryJournal;
  let exchange: SmallExchange;
  let changes: string[];
  let failures: unknown[];
  const projectors: Projector[] = [];

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    journal = new MemoryJournal();
    exchange = new SmallExchange();
    changes = [];
    failures = [];
  });

  afterEach(async () => {
    await Promise.all(projectors.splice(0).map((projector) => projector.stop()));
    await disconnect(db);
    await database.drop();
  });

  function startProjector(databaseUrl = database.url): Projector {
    const projector = new Projector({
      databaseUrl,
      journal,
      bindAfterMs: 0,
      logger: {
        ...silentLogger,
        error: (fields) => failures.push("err" in fields ? fields.err : fields),
      },
      marketChanged: (marketId) => {
        changes.push(marketId);
        return Promise.resolve();
      },
    });
    projectors.push(projector);
    void projector.run();
    return projector;
  }

  async function firstFailure(): Promise<unknown> {
    await until(() => failures.length > 0);
    return failures[0];
  }

  /** Makes every kind of actor emit deltas, and appends them to the log. */
  function appendActivity(): void {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const market = exchange.createMarket();
    exchange.transact(ann, 1_000_000);
    exchange.transact(bob, 1_000_000);
    exchange.place(ann, market, 0, 600, 10);
    exchange.place(bob, market, 1, 450, 7);
    exchange.deliverAll();
    journal.append(exchange.entries());
  }

  async function projected(): Promise<void> {
    const heads = new Map<ActorId, number>();
    for (const { actor, seq } of exchange.entries()) heads.set(actor, seq);
    for (const [actor, seq] of heads) {
      const position = { seq, lineage: "" };
      expect(await waitProjected(db, actor, position, 8_000), `${actor} up to ${seq}`).to.equal(true);
    }
  }

  async function expectOnce(): Promise<void> {
    const other = await freshDatabase(migrate);
    const otherDb = connect(other.url);
    try {
      await project(other.url, exchange.entries());
      expect(await dump(db)).to.deep.equal(await dump(otherDb));
    } finally {
      await disconnect(otherDb);
      await other.drop();
    }
  }

  it("writes old and new entries, invalidates caches of markets, and reports its progress to the log", async () => {
    appendActivity();
    startProjector();
    await projected();
    appendActivity();
    await projected();
    await expectOnce();
    expect(new Set(changes)).to.deep.equal(new Set(exchange.markets.map(({ marketId }) => marketId)));
    await until(() => exchange.entries().every(({ actor, seq }) => (journal.marks.get(actor) ?? 0) >= seq));
  });

  it("reads nothing about removed markets at its start, and goes on with one that is restored", async () => {
    for (let n = 0; n < 3; n += 1) appendActivity();
    const first = startProjector();
    await projected();
    await first.stop();
    const actors = [...new Set(exchange.entries().map(({ actor }) => actor))];
    const removed = actors.filter((actor) => actor.startsWith("market:")).slice(0, 2);
    const archive = marketArchive(db, systemClock);
    for (const actor of removed) await archive.mark(actor, "hash");
    // A power loss of the log has undone the removal of the second one.
    const [gone = "market:", undone = "market:"] = removed;
    journal.removed.add(gone);
    journal.asked = [];
    const second = startProjector();
    await until(() => second.active);
    expect(new Set(journal.asked)).to.deep.equal(new Set(actors.filter((actor) => actor !== gone)));
    expect(journal.asked).to.include(undone);

    const market =
      exchange.markets.find(({ marketId }) => gone.endsWith(marketId)) ?? expect.fail("no market");
    journal.removed.clear();
    exchange.lifecycle(market, "close");
    journal.append(exchange.entries());
    await projected();
    await expectOnce();
    expect(failures).to.deep.equal([]);
  });

  it("reports the longest time from a decision to its rows", async () => {
    const projector = startProjector();
    exchange.network.now = Date.now() - 3_600_000;
    appendActivity();
    await projected();
    await until(() => projector.takeLagMs() >= 3_600_000 - 1_000);
    exchange.network.now = Date.now();
    appendActivity();
    await projected();
    await until(() => {
      const lagMs = projector.takeLagMs();
      return lagMs > 0 && lagMs < 60_000;
    });
    expect(projector.takeLagMs(), "without new entries").to.equal(0);
  });

  it("reports how late an entry is that it cannot write", async () => {
    // The entry is of the second after the epoch, and older than all others.
    await appendUnknown({ type: "future" });
    await firstFailure();
    await until(() => (projectors[0]?.takeLagMs() ?? 0) >= Date.now() - 1_000 - 60_000);
  });

  it("reports at its start only the progress that the log lacks", async () => {
    appendActivity();
    const first = startProjector();
    await projected();
    await until(() => exchange.entries().every(({ actor, seq }) => (journal.marks.get(actor) ?? 0) >= seq));
    await first.stop();
    const [lost] = [...journal.marks.keys()];
    if (lost === undefined) throw new Error("the journal has no mark");
    journal.marks.delete(lost);
    journal.marked.length = 0;
    startProjector();
    await until(() => journal.marks.has(lost));
    expect(journal.marked).to.deep.equal([lost]);
  });

  it("shares the actors with others, evenly, and takes over when one stops", async () => {
    const first = startProjector();
    await until(() => first.active);
    appendActivity();
    await projected();
    const second = startProjector();
    await until(() => second.active);
    const third = startProjector();
    await until(() => third.active);
    appendActivity();
    await projected();
    await until(async () => expect(await groupsByProjector()).to.deep.equal([4, 6, 6]));
    appendActivity();
    await projected();

    await first.stop();
    await until(async () => expect(await groupsByProjector()).to.deep.equal([8, 8]));
    appendActivity();
    await projected();
    await third.stop();
    await until(async () => expect(await groupsByProjector()).to.deep.equal([16]));
    appendActivity();
    await projected();
    await expectOnce();
  });

  /** Returns the numbers of groups that the projectors own, in rising order. */
  async function groupsByProjector(): Promise<number[]> {
    const { rows } = await db.execute<{ count: number }>(sql`
      select count(*)::integer as count from pg_locks join pg_database on pg_database.oid = database
      where datname = current_database() and locktype = 'advisory' and objsubid = 2
      group by pid order by 1`);
    return rows.map(({ count }) => count);
  }

  it("never writes beside a projector of the build before shares", async () => {
    const older = new pg.Client({ connectionString: database.url });
    await older.connect();
    const tryLock = async (): Promise<unknown> =>
      (await older.query<{ locked: boolean }>("select pg_try_advisory_lock($1) as locked", [PROJECTOR_LOCK]))
        .rows[0]?.locked;
    try {
      expect(await tryLock()).to.equal(true);
      expect(await isProjecting(db)).to.equal(true);
      const projector = startProjector();
      await new Promise((resolve) => setTimeout(resolve, 600));
      expect(projector.active).to.equal(false);
      await older.query("select pg_advisory_unlock_all()");
      await until(() => projector.active);
      expect(await tryLock()).to.equal(false);
    } finally {
      await older.end();
    }
  });

  it("continues after Postgres ends its connection many times, and repeats nothing", async () => {
    startProjector();
    for (let round = 0; round < 8; round += 1) {
      appendActivity();
      await db.execute(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'exchange projector'`);
    }
    await projected();
    await expectOnce();
  });

  it("writes everything once with two projectors whose connections end at random", async () => {
    startProjector();
    startProjector();
    for (let round = 0; round < 12; round += 1) {
      appendActivity();
      await db.execute(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'exchange projector' and random() < 0.5`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await projected();
    await expectOnce();
  });

  it("loses its connection when it hangs, and cannot write any more", async () => {
    appendActivity();
    const hanging = await ProjectionSession.open(database.url, 150);
    await hanging.deal();
    expect(hanging.groups.size).to.equal(PROJECTOR_GROUPS);
    const batch = new ProjectionBatch(await hanging.cursors([]));
    for (const entry of exchange.entries()) batch.take(entry);
    const projector = startProjector();
    await until(() => projector.active);
    const failure = await hanging.write(batch).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error);
    expect(hanging.broken).to.equal(true);
    await hanging.close();
    await projected();
    await expectOnce();
  });

  it("goes on in another session within seconds when Postgres goes silent", async () => {
    const proxy = await startProxy(database.url);
    try {
      const projector = startProjector(proxy.url);
      appendActivity();
      await projected();
      proxy.silence();
      await untilWithin(9_000, () => !projector.active);
      appendActivity();
      await until(() => projector.active);
      await projected();
      await expectOnce();
      expect(failures).to.deep.equal([]);
    } finally {
      await Promise.all(projectors.splice(0).map((projector) => projector.stop()));
      await proxy.close();
    }
  });

  it("removes no row when the log is another one, or was emptied", async () => {
    journal.id = randomUUID();
    appendActivity();
    const first = startProjector();
    await projected();
    await until(async () => (await db.select().from(installation)).length === 1);
    await first.stop();
    const before = await dump(db);
    for (const id of [randomUUID(), undefined]) {
      journal = new MemoryJournal();
      journal.id = id;
      failures = [];
      const other = startProjector();
      expect(await firstFailure()).to.be.instanceOf(OtherLog);
      await other.stop();
      expect(await dump(db)).to.deep.equal(before);
    }
  });

  it("stops at a gap in a log", async () => {
    journal.gapAt = "market:gone";
    startProjector();
    appendActivity();
    expect(await firstFailure()).to.be.instanceOf(ProjectionGap);
  });

  for (const [delta, ...before] of [
    [{ type: "future", seq: 1 }],
    [{ type: "order", kind: "future", orderId: "o1" }],
    [{ type: "lifecycle", kind: "FUTURE", seq: 2, status: "OPEN" }],
    [
      { type: "lifecycle", kind: "GRADE", seq: 2, status: "SETTLED" },
      { type: "graded", settlementId: randomUUID(), grade: { kind: "FUTURE" } },
    ],
  ]) {
    it(`stops at an unknown delta and leaves the cursor before it: ${JSON.stringify(delta)}`, async () => {
      const { actor, seq } = await appendUnknown(...before, { ...delta });
      const failure = String(await firstFailure());
      expect(failure).to.include(`${actor}: entry ${seq + 1} cannot be projected`);
      expect(failure).to.include(JSON.stringify(delta));
      expect((await projectedPositions(db, [actor])).get(actor)?.seq).to.equal(seq);
    });
  }

  /** Projects some activity, appends an entry of a newer build to the log of a market, and returns the one before. */
  async function appendUnknown(...emitted: object[]): Promise<{ actor: ActorId; seq: number }> {
    appendActivity();
    startProjector();
    await projected();
    const last = exchange.entries().findLast(({ actor }) => actor.startsWith("market:"));
    if (last === undefined) throw new Error("no market has an entry");
    const { actor, seq } = last;
    const deltas = emitted as unknown as AnyDelta[];
    journal.append([entry(actor, seq + 1, [{ ts: 1_000, deltas }])]);
    return { actor, seq };
  }

  it("reports a failure once, tries again with back-off, and leaves the lock to a newer build", async () => {
    const { actor, seq } = await appendUnknown({ type: "future" });
    await firstFailure();
    await until(async () => !(await isProjecting(db)));
    const attempts = journal.attempts;
    await until(() => journal.attempts > attempts);
    await until(async () => !(await isProjecting(db)));
    expect(journal.attempts, "attempts within the pauses of 1 s and 2 s").to.equal(attempts + 1);
    expect(failures).to.have.length(1);
    expect((await projectedPositions(db, [actor])).get(actor)?.seq).to.equal(seq);

    const newer = await ProjectionSession.open(database.url);
    await newer.deal();
    expect(await isProjecting(db)).to.equal(true);
    await newer.close();
  });

  it("shows to reads that only need older entries how far it is", async () => {
    appendActivity();
    startProjector();
    await projected();
    const last = exchange
      .entries()
      .findLast(({ actor, batches }) => actor.startsWith("ledger:") && batches.length > 0);
    if (last === undefined) throw new Error("no ledger has an entry");
    const { actor, batches } = last;
    const ts = batches.at(-1)?.ts ?? 0;
    const freshness = new Freshness(db, {
      position: () => Promise.resolve({ seq: 1_000_000, lineage: "" }),
    });
    expect(await freshness.hasReached(actor, ts)).to.equal(true);
    const [behind, later] = [freshness.hasReached(actor), freshness.hasReached(actor, ts + 1)];
    expect([await behind, await later]).to.deep.equal([false, false]);
  });

  it("gives up waiting for an entry that does not come", async () => {
    expect(await waitProjected(db, "ledger:3", { seq: 1, lineage: "" }, 30)).to.equal(false);
    expect((await projectedPositions(db, ["ledger:3"])).size).to.equal(0);
  });
});
