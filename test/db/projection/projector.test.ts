import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { sql } from "drizzle-orm";
import type { ActorId } from "../../../actors/actor.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { ProjectionBatch, ProjectionGap } from "../../../db/projection/batch.js";
import { ProjectionSession } from "../../../db/projection/session.js";
import { Projector, type Journal } from "../../../db/projection/projector.js";
import { findBalances } from "../../../db/queries/trading/balances.js";
import { projectedSeq, waitProjected } from "../../../db/queries/projected.js";
import { silentLogger } from "../../../stream/log/logger.js";
import type { AnyDelta, Entry } from "../../../stream/log/ports.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { entry, SmallExchange } from "../exchange.js";
import { dump, project } from "../read-model.js";

/** A log in memory: entries are appended, and whoever follows gets them. */
class MemoryJournal implements Journal {
  readonly #entries: Entry[] = [];
  readonly #followers = new Set<() => void>();
  readonly marks = new Map<ActorId, number>();
  /** Whose entries have been trimmed away too early. */
  gapAt: ActorId | undefined;

  append(entries: readonly Entry[]): void {
    const known = new Set(this.#entries.map(({ actor, seq }) => `${actor} ${seq}`));
    this.#entries.push(...entries.filter(({ actor, seq }) => !known.has(`${actor} ${seq}`)));
    for (const wake of this.#followers) wake();
  }

  followAll(
    afterSeq: ReadonlyMap<ActorId, number>,
    onEntries: (entries: readonly Entry[]) => Promise<void>,
    onGap: (actor: ActorId) => void,
  ): { stop(): Promise<void> } {
    let given = 0;
    let stopped = false;
    let giving = Promise.resolve();
    const give = (): void => {
      giving = giving.then(async () => {
        if (stopped) return;
        if (this.gapAt !== undefined) onGap(this.gapAt);
        const next = this.#entries.slice(given).filter(({ actor, seq }) => seq > (afterSeq.get(actor) ?? 0));
        given = this.#entries.length;
        if (next.length > 0) await onEntries(next);
      });
    };
    this.#followers.add(give);
    give();
    return {
      stop: async () => {
        stopped = true;
        this.#followers.delete(give);
        await giving;
      },
    };
  }

  heads(actors: readonly ActorId[]): Promise<ReadonlyMap<ActorId, number>> {
    const headOf = (of: ActorId): number =>
      this.#entries.reduce((head, { actor, seq }) => (actor === of ? Math.max(head, seq) : head), 0);
    return Promise.resolve(new Map(actors.map((actor) => [actor, headOf(actor)])));
  }

  markProjected(seqs: ReadonlyMap<ActorId, number>): Promise<void> {
    for (const [actor, seq] of seqs) this.marks.set(actor, seq);
    return Promise.resolve();
  }
}

describe("projector", () => {
  let database: FreshDatabase;
  let db: Database;
  let journal: MemoryJournal;
  let exchange: SmallExchange;
  let told: string[];
  const projectors: Projector[] = [];

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    journal = new MemoryJournal();
    exchange = new SmallExchange();
    told = [];
  });

  afterEach(async () => {
    await Promise.all(projectors.splice(0).map((projector) => projector.stop()));
    await disconnect(db);
    await database.drop();
  });

  function startProjector(): { projector: Projector; ended: Promise<unknown> } {
    const projector = new Projector({
      databaseUrl: database.url,
      journal,
      log: silentLogger,
      marketChanged: (marketId) => {
        told.push(marketId);
        return Promise.resolve();
      },
    });
    projectors.push(projector);
    return { projector, ended: projector.run().catch((error: unknown) => error) };
  }

  /** Something for every actor to say, and for the projector to write. */
  function aDay(): void {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const market = exchange.createMarket();
    exchange.transact(ann, 1_000_000);
    exchange.transact(bob, 1_000_000);
    exchange.place(ann, market, 0, 600, 10);
    exchange.place(bob, market, 1, 450, 7);
    exchange.deliverAll();
    journal.append(exchange.entries());
  }

  async function caughtUp(): Promise<void> {
    const heads = new Map<ActorId, number>();
    for (const { actor, seq } of exchange.entries()) heads.set(actor, seq);
    for (const [actor, seq] of heads) {
      expect(await waitProjected(db, actor, seq, 8_000), `${actor} up to ${seq}`).to.equal(true);
    }
  }

  async function until(what: () => boolean, timeoutMs = 5_000): Promise<void> {
    const endMs = Date.now() + timeoutMs;
    while (!what()) {
      if (Date.now() > endMs) throw new Error(`not within ${timeoutMs} ms: ${what.toString()}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
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

  it("writes what there is and what comes, tells caches of markets and the log how far it is", async () => {
    aDay();
    startProjector();
    await caughtUp();
    aDay();
    await caughtUp();
    await expectOnce();
    expect(new Set(told)).to.deep.equal(new Set(exchange.markets.map(({ marketId }) => marketId)));
    await until(() => exchange.entries().every(({ actor, seq }) => (journal.marks.get(actor) ?? 0) >= seq));
  });

  it("stands by while another one works, and takes over when its connection dies", async () => {
    const first = startProjector().projector;
    await until(() => first.active);
    const second = startProjector().projector;
    aDay();
    await caughtUp();
    expect([first.active, second.active]).to.deep.equal([true, false]);

    await first.stop();
    await until(() => second.active);
    aDay();
    await caughtUp();
    await expectOnce();
  });

  it("goes on after Postgres has cut it off, again and again, and repeats nothing", async () => {
    startProjector();
    for (let round = 0; round < 8; round += 1) {
      aDay();
      await db.execute(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'exchange projector'`);
    }
    await caughtUp();
    await expectOnce();
  });

  it("two at once, both cut off at random, write everything once", async () => {
    startProjector();
    startProjector();
    for (let round = 0; round < 12; round += 1) {
      aDay();
      await db.execute(sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'exchange projector' and random() < 0.5`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await caughtUp();
    await expectOnce();
  });

  it("is put out when it hangs, and cannot write any more", async () => {
    aDay();
    const hanging = await ProjectionSession.open(database.url, 150);
    expect(await hanging.tryLock()).to.equal(true);
    const batch = new ProjectionBatch(await hanging.cursors());
    for (const entry of exchange.entries()) batch.take(entry);
    const { projector } = startProjector();
    await until(() => projector.active);
    const failure = await hanging.write(batch).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(Error);
    expect(hanging.broken).to.equal(true);
    await hanging.close();
    await caughtUp();
    await expectOnce();
  });

  it("stops loudly at a gap in a log", async () => {
    journal.gapAt = "market:gone";
    const { ended } = startProjector();
    aDay();
    expect(await ended).to.be.instanceOf(ProjectionGap);
  });

  it("stops loudly at a log that ends before its cursor", async () => {
    aDay();
    await project(database.url, exchange.entries());
    journal = new MemoryJournal();
    const failure = await startProjector().ended;
    expect(String(failure)).to.match(/the tables have entry \d+, its log ends at 0/);
  });

  for (const delta of [
    { type: "future", seq: 1 },
    { type: "order", kind: "future", orderId: "o1" },
    { type: "lifecycle", kind: "FUTURE", seq: 2, status: "OPEN" },
  ]) {
    it(`stops at an unknown delta and leaves the cursor before it: ${JSON.stringify(delta)}`, async () => {
      aDay();
      const { ended } = startProjector();
      await caughtUp();
      const last = exchange.entries().findLast(({ actor }) => actor.startsWith("market:"));
      if (last === undefined) throw new Error("no market has an entry");
      const { actor, seq } = last;
      const deltas = [delta as unknown as AnyDelta];
      journal.append([entry(actor, seq + 1, [{ ts: 1_000, deltas }])]);
      expect(String(await ended)).to.match(/^Error: unexpected value: .*future/i);
      expect(await projectedSeq(db, actor)).to.equal(seq);
    });
  }

  it("tells who waits in vain that it was in vain", async () => {
    expect(await waitProjected(db, "ledger:3", 1, 30)).to.equal(false);
    expect(await projectedSeq(db, "ledger:3")).to.equal(0);
    expect((await findBalances(db, ["00000000-0000-4000-8000-000000000000"])).size).to.equal(1);
  });
});
