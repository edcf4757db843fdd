import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { sql } from "drizzle-orm";
import { type Database, connect, disconnect } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { findOrderByClientId, findStatuses, listOrders } from "../../../db/queries/trading/orders.js";
import { closingPrices } from "../../../db/queries/trading/closing-prices.js";
import { listCandles, listTrades } from "../../../db/queries/trading/trades.js";
import { type FreshDatabase, freshDatabase } from "../../support/servers.js";
import { SmallExchange } from "../exchange.js";
import { project } from "../read-model.js";
import { readAll } from "../read-all.js";

const NOW = 1_700_000_000_000;

describe("queries of trading", () => {
  let database: FreshDatabase;
  let db: Database;
  let exchange: SmallExchange;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    exchange = new SmallExchange();
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("filters orders by status, market, outcome and event", async () => {
    const wallet = randomUUID();
    const [one, two] = [exchange.createMarket(), exchange.createMarket()];
    exchange.transact(wallet, 10_000_000);
    const first = exchange.place(wallet, one, 0, 100, 1, { clientId: "c" });
    const second = exchange.place(wallet, one, 1, 100, 1);
    const third = exchange.place(wallet, two, 1, 100, 1);
    exchange.deliverAll();
    exchange.lifecycle(two, "close");
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    const ids = async (filter: Omit<Parameters<typeof listOrders>[1], "wallet">) =>
      (await listOrders(db, { wallet, ...filter }, { limit: 10 })).items.map(({ orderId }) => orderId);
    expect(await ids({})).to.deep.equal([third, second, first]);
    expect(await ids({ statuses: ["OPEN"] })).to.deep.equal([second, first]);
    expect(await ids({ marketId: two.marketId })).to.deep.equal([third]);
    expect(await ids({ outcome: { marketId: one.marketId, outcome: 0 } })).to.deep.equal([first]);
    expect(await ids({ eventId: one.eventId })).to.deep.equal([second, first]);
    expect(await ids({ currency: "COIN" })).to.deep.equal([]);
    expect((await findOrderByClientId(db, wallet, "c"))?.orderId).to.equal(first);
  });

  it("finds the statuses of a wallet's orders, also of those that ended months ago", async () => {
    const [wallet, other] = [randomUUID(), randomUUID()];
    const [one, two] = [exchange.createMarket(), exchange.createMarket()];
    for (const owner of [wallet, other]) exchange.transact(owner, 10_000_000);
    const ended = exchange.place(wallet, two, 1, 100, 1);
    const open = exchange.place(wallet, one, 0, 100, 1);
    const foreign = exchange.place(other, one, 0, 100, 1);
    exchange.deliverAll();
    exchange.lifecycle(two, "close");
    exchange.deliverAll();
    // The times of this exchange are years old, so the order that ended is in none of the recent partitions.
    await project(database.url, exchange.entries());
    const asked = [ended, open, foreign, randomUUID()];
    const statuses = await findStatuses(db, wallet, asked);
    expect([...statuses].toSorted()).to.deep.equal(
      [
        [ended, "CANCELED"],
        [open, "OPEN"],
      ].toSorted(),
    );
    expect((await findStatuses(db, wallet, [])).size).to.equal(0);
  });

  it("plans the query for the statuses of orders once for each connection", async () => {
    const wallet = randomUUID();
    exchange.transact(wallet, 10_000_000);
    exchange.place(wallet, exchange.createMarket(), 0, 100, 1);
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    const one = connect(database.url, { maxConnections: 1, statementTimeoutMs: 30_000 });
    try {
      // In a large table, a plan for one order costs less than one for any number of them.
      await one.execute(sql`
        insert into orders
        select copy.* from orders, generate_series(1, 20000) as n,
          lateral jsonb_populate_record(orders, jsonb_build_object('order_id', md5(n::text)::uuid)) as copy`);
      await one.execute(sql`analyze orders`);
      for (let i = 0; i < 20; i += 1) await findStatuses(one, randomUUID(), [randomUUID()]);
      const { rows } = await one.execute<{ name: string; generic: string }>(
        sql`select name, generic_plans as generic from pg_prepared_statements order by name`,
      );
      expect(rows.map(({ name }) => name)).to.deep.equal(["order_statuses", "recent_order_statuses"]);
      // Postgres compares the plans of the first five calls with one for all calls.
      for (const { generic } of rows) expect(Number(generic)).to.equal(15);
    } finally {
      await disconnect(one);
    }
  });

  it("reads the last price of each interval of the last hour for many markets", async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const [one, two, quiet] = [exchange.createMarket(), exchange.createMarket(), exchange.createMarket()];
    exchange.transact(ann, 10_000_000);
    exchange.transact(bob, 10_000_000);
    const minute = 60_000;
    const start = NOW + 60 * minute;
    const print = (ts: number, market: typeof one, maker: 0 | 1, price: number): void => {
      exchange.network.now = ts;
      exchange.place(ann, market, maker, price, 1);
      exchange.deliverAll();
      exchange.place(bob, market, maker === 0 ? 1 : 0, 1_000 - price, 1);
      exchange.deliverAll();
    };
    print(start - minute, one, 0, 900);
    print(start + 1 * minute, one, 0, 500);
    print(start + 4 * minute, one, 0, 510);
    print(start + 6 * minute, two, 1, 300);
    print(start + 59 * minute, one, 1, 400);
    await project(database.url, exchange.entries());
    const ids = [one, two, quiet].map(({ marketId }) => marketId);
    const found = await closingPrices(db, ids, start + 60 * minute);
    const none = (count: number): null[] => Array.from({ length: count }, () => null);
    expect(Object.fromEntries(found)).to.deep.equal({
      [one.marketId]: [510, ...none(10), 600],
      [two.marketId]: [null, 700, ...none(10)],
    });
  });

  it("builds candles from the executions of an outcome on either side", async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const market = exchange.createMarket();
    exchange.transact(ann, 10_000_000);
    exchange.transact(bob, 10_000_000);
    const print = (ts: number, price: number, qty: number): void => {
      exchange.network.now = ts;
      exchange.place(ann, market, 0, price, qty);
      exchange.deliverAll();
      exchange.place(bob, market, 1, 1_000 - price, qty);
      exchange.deliverAll();
    };
    const minute = 60_000;
    const start = NOW - (NOW % minute) + minute;
    print(start + 1, 500, 2);
    print(start + 5_000, 600, 1);
    print(start + 50_000, 400, 4);
    print(start + 3 * minute, 450, 1);
    await project(database.url, exchange.entries());
    const of = { marketId: market.marketId, currency: "CASH", outcome: 0, intervalMs: minute } as const;
    expect(await listCandles(db, { ...of, fromTs: start, toTs: start + 4 * minute })).to.deep.equal([
      { ts: start, open: 500, high: 600, low: 400, close: 400, volume: 7 },
      { ts: start + 3 * minute, open: 450, high: 450, low: 450, close: 450, volume: 1 },
    ]);
    expect(await listCandles(db, { ...of, fromTs: start + minute, toTs: start + 3 * minute })).to.deep.equal(
      [],
    );
    const taken = await listCandles(db, { ...of, outcome: 1, fromTs: start, toTs: start + 4 * minute });
    expect(taken).to.deep.equal([
      { ts: start, open: 500, high: 600, low: 400, close: 600, volume: 7 },
      { ts: start + 3 * minute, open: 550, high: 550, low: 550, close: 550, volume: 1 },
    ]);
    const read = await readAll((after) => listTrades(db, of, { limit: 1, after }));
    expect(read.map(({ price }) => price)).to.deep.equal([450, 400, 600, 500]);
  });
});
