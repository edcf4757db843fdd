import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { sql } from "drizzle-orm";
import { ledgerOf } from "../../../actors/actor.js";
import { contracts, ticks } from "../../../actors/units.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { ProjectionGap } from "../../../db/projection/batch.js";
import { projectorCursors } from "../../../db/schema/wallets.js";
import { findOrder, listOrders } from "../../../db/queries/trading/orders.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { until } from "../../support/until.js";
import { dice, entry, interleave, SmallExchange, type TestMarket } from "../exchange.js";
import { dump, project } from "../read-model.js";

const PAGE = { limit: 1_000 };

describe("projection of batches", () => {
  let database: FreshDatabase;
  let db: Database;
  let exchange: SmallExchange;
  let ann: string;
  let bob: string;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    exchange = new SmallExchange();
    ann = randomUUID();
    bob = randomUUID();
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  /** Trades YES: Ann bids 0.600, Bob takes with NO at 0.450, so that Ann pays 0.600 and Bob 0.400. */
  function trade(market: TestMarket): { maker: string; taker: string } {
    exchange.transact(ann, 10_000_000);
    exchange.transact(bob, 10_000_000);
    const maker = exchange.place(ann, market, 0, 600, 10, { clientId: "mine" });
    exchange.deliverAll();
    const taker = exchange.place(bob, market, 1, 450, 4);
    exchange.deliverAll();
    return { maker, taker };
  }

  it("changes nothing when entries come again, or in another order across actors", async () => {
    const market = exchange.createMarket();
    trade(market);
    exchange.grade(market, { kind: "WINNER", outcome: 0 });
    exchange.settle(market);
    exchange.deliverAll();
    const entries = exchange.entries();
    await project(database.url, entries);
    const once = await dump(db);
    expect(once["fills"]).to.have.length(2);
    await project(database.url, entries);
    await project(database.url, entries, 1);
    expect(await dump(db)).to.deep.equal(once);

    const other = await freshDatabase(migrate);
    const otherDb = connect(other.url);
    try {
      await project(other.url, interleave(entries, dice(7)), 3);
      expect(await dump(otherDb)).to.deep.equal(once);
    } finally {
      await disconnect(otherDb);
      await other.drop();
    }
  });

  it("writes the entries of actors that had billions of them before", async () => {
    const before = 2 ** 40;
    trade(exchange.createMarket());
    const entries = exchange.entries();
    const late = entries.map((known) => ({ ...known, seq: known.seq + before }));
    const cursors = [...new Set(entries.map(({ actor }) => actor))].map((actor) => {
      return { actor, seq: before, nextPlace: 3 * before, placedSeq: before };
    });
    await db.insert(projectorCursors).values(cursors);
    await project(database.url, late, 2);
    const { rows } = await db.execute(
      sql`select distinct place between ${3 * before} and ${3 * before + 100} as follows from fills`,
    );
    expect(rows).to.deep.equal([{ follows: true }]);
    const { fills, orders, balances } = await dump(db);
    expect([fills?.length, orders?.length, balances?.length]).to.deep.equal([2, 2, 2]);
    expect((await listOrders(db, { wallet: ann }, PAGE)).items).to.have.length(1);
  });

  it("writes an entry of any size", async () => {
    const deltas = Array.from({ length: 12_000 }, () => ({
      type: "wallet" as const,
      wallet: randomUUID(),
      trader: ann,
    }));
    await project(database.url, [entry(ledgerOf(ann), 1, [{ ts: 1, deltas }])]);
    const { rows } = await db.execute("select count(*)::integer as count from wallets");
    expect(rows).to.deep.equal([{ count: 12_000 }]);
  });

  it("reads no table as a whole, also when its plans are made while the tables are small", async () => {
    const scans = async () => {
      const { rows } = await db.execute<{ name: string; scans: string }>(sql`
        select relname as name, seq_scan as scans from pg_stat_user_tables
        where relname <> 'projector_cursors' and relname <> 'removed_markets'`);
      return Object.fromEntries(rows.map(({ name, scans }) => [name, scans]));
    };
    const before = await scans();
    const market = exchange.createMarket();
    for (let n = 0; n < 12; n += 1) {
      const { maker } = trade(market);
      exchange.amend(ann, maker, 5);
      exchange.cancelAll(ann);
      exchange.deliverAll();
    }
    exchange.grade(market, { kind: "WINNER", outcome: 0 });
    exchange.settle(market);
    exchange.deliverAll();
    await project(database.url, exchange.entries(), 1);
    // A connection reports its scans when it ends, shortly after the client has left it.
    await until(async () => {
      const { rows } = await db.execute(sql`
        select 1 from pg_stat_activity
        where datname = current_database() and application_name = 'exchange projector'`);
      return rows.length === 0;
    });
    expect(await scans()).to.deep.equal(before);
  });

  it("writes all rows of a batch or none", async () => {
    const market = exchange.createMarket();
    trade(market);
    const good = exchange.entries();
    const shard = ledgerOf(ann);
    const last = good.filter(({ actor }) => actor === shard).length;
    const broken = entry(shard, last + 1, [
      {
        ts: 1,
        deltas: [
          {
            type: "order",
            kind: "open",
            wallet: ann,
            seq: 99,
            marketId: market.marketId,
            orderId: randomUUID(),
            qty: contracts(1),
          },
        ],
      },
    ]);
    const failure = await project(database.url, [...good, broken]).catch((error: unknown) => error);
    expect(String(failure)).to.match(/project_update_other_orders wrote 0 of 1 rows/);
    expect(Object.values(await dump(db)).flat()).to.deep.equal([]);
    await project(database.url, good);
    expect((await listOrders(db, { wallet: ann }, PAGE)).items).to.have.length(1);
  });

  it("stops at a gap", async () => {
    exchange.createMarket();
    const [first] = exchange.entries();
    if (first === undefined) throw new Error("no actor has an entry");
    const failure = await project(database.url, [{ ...first, seq: 2 }]).catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(ProjectionGap);
  });

  it("replaces NUL in text, which Postgres cannot hold", async () => {
    const market = exchange.createMarket();
    exchange.transact(ann, 10_000_000);
    const orderId = exchange.place(ann, market, 0, 600, 10, { clientId: "a\0b" });
    await project(database.url, exchange.entries(10));
    expect(await findOrder(db, ann, orderId)).to.include({ clientId: "a\uFFFDb", price: ticks(600) });
  });
});
