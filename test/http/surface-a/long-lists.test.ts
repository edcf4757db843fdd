import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { listMarkets, type MarketRecord } from "../../../db/queries/catalog/markets.js";
import { listOrders } from "../../../db/queries/trading/orders.js";
import type { Reference } from "../../../http/reference/reference.js";
import { NotStarted } from "../../../http/request/errors.js";
import { ANSWER_MS } from "../../../http/request/in-time.js";
import { KEY_BUCKETS } from "../../../http/request/throttle.js";
import { inTurn, previewInTurn } from "../../../http/surface-a/in-turn.js";
import { ordersPage } from "../../../http/surface-a/wallet-lists.js";
import { LongWork } from "../../../stream/services/long-work.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { usualLongestTurnMs } from "../../support/loop/turns.js";

const ORDERS = 5_000;
/** Longest time in ms for which a list may hold the event loop; 5,000 orders at once hold it for 16 ms. */
const MAX_TURN_MS = 8;

describe("long lists", function () {
  this.timeout(60_000);
  const wallet = randomUUID();
  const marketId = randomUUID();
  const outcomes = [{ outcomeId: randomUUID() }, { outcomeId: randomUUID() }];
  const reference = {
    marketsById: () =>
      Promise.resolve(new Map([[marketId, { marketId, outcomes } as unknown as MarketRecord]])),
  } as unknown as Reference;
  let database: FreshDatabase;
  let db: Database;

  before(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
    await db.$client.query(
      `insert into orders (order_id, wallet, trader_id, market_id, outcome, currency, price, qty, filled, remaining,
         tif, status, ts, place, updated_ts, ended_ts)
       select gen_random_uuid(), $1, $1, $2, i % 2, 'CASH', 1 + i % 40, 1, 0, 1, 'GTC', 'OPEN', 1000 + i, i, 1000 + i, 0
       from generate_series(1, ${ORDERS}) i`,
      [wallet, marketId],
    );
  });
  after(async () => {
    await disconnect(db);
    await database.drop();
  });

  it("hold the event loop for a moment only, and have every row in order", async () => {
    const list = (limit: number, after?: string) =>
      ordersPage(
        { reads: { db }, reference, longWork: new LongWork() },
        { wallet, reader: "ann" },
        { status: ["OPEN"], limit, after },
      );
    const all = await list(ORDERS);
    const { items, next } = all.body.parse();
    expect(all.rows).to.equal(ORDERS);
    expect(items.map(({ createdTs }) => createdTs)).to.deep.equal(
      Array.from({ length: ORDERS }, (_, index) => 1_000 + ORDERS - index),
    );
    expect(next).to.equal(undefined);
    // A page that ends within a slice goes on behind it.
    const first = (await list(1_234)).body.parse();
    const second = (await list(ORDERS, first.next)).body.parse();
    expect([...first.items, ...second.items]).to.deep.equal(items);
    expect(await usualLongestTurnMs(() => list(ORDERS))).to.be.below(MAX_TURN_MS);
  });

  it("show one state of the tables, whatever changes while they are read", async () => {
    const select = db.transaction.bind(db);
    let changes = 0;
    const transaction: Database["transaction"] = (work, config) =>
      select(async (tx) => {
        // The snapshot of the tables begins with the first statement.
        await tx.execute("select 1");
        const { rowCount } = await db.$client.query(
          "update orders set status = 'CANCELED', ended_ts = 1 where wallet = $1 and place % 2 = 0",
          [wallet],
        );
        changes += rowCount ?? 0;
        return work(tx);
      }, config);
    const changed = Object.assign(Object.create(db) as Database, { transaction });
    const { items } = await listOrders(changed, { wallet, statuses: ["OPEN"] }, { limit: ORDERS });
    expect(changes).to.equal(ORDERS / 2);
    expect(items).to.have.length(ORDERS);
    expect((await listOrders(db, { wallet, statuses: ["OPEN"] }, { limit: ORDERS })).items).to.have.length(
      ORDERS / 2,
    );
  });

  it("of markets do not read the price grids, which no list shows", async () => {
    const { rows } = await db.$client.query<{ event_id: string }>(
      `insert into events (event_id, type, sport, league, description, starts_ts, visible, status, created_ts, updated_ts)
       values (gen_random_uuid(), 'Game', 'FOOTBALL', 'NFL', 'd', 1, true, 'OPEN_PREGAME', 1, 1) returning event_id`,
    );
    await db.$client.query(
      `insert into markets (market_id, event_id, market_type, description, voids, fee_coefficient_ppm,
         fee_maker_credit_ppm, fee_charged, live_delay_ms, ticks, status, live, paused, remediating, created_ts,
         updated_ts)
       select gen_random_uuid(), $1, 'MONEY', 'd', 'PUSH', 0, 0, 'ALWAYS', 0,
         (select array_agg(5 * tick) from generate_series(1, 199) tick), 'OPEN', false, false, false, i, i
       from generate_series(1, 1200) i`,
      [rows[0]?.event_id],
    );
    const list = (limit: number, after?: string) => listMarkets(db, { visible: true }, { limit, after });
    const all = await list(5_000);
    expect(new Set(all.items.map(({ marketId: id }) => id)).size).to.equal(1_200);
    const first = await list(700);
    const second = await list(700, first.next);
    expect([...first.items, ...second.items]).to.deep.equal(all.items);
    // With the grids, 500 markets take 17 ms.
    expect(await usualLongestTurnMs(() => list(500))).to.be.below(11);
  });

  it("of one reader run one after the other, and too many are refused", async () => {
    const longWork = new LongWork();
    let running = 0;
    let most = 0;
    const list = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running -= 1;
    };
    const lists = Array.from({ length: 16 }, () => inTurn(longWork, "ann", list));
    const refusal: unknown = await inTurn(longWork, "ann", list).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(NotStarted).with.property("code", "RATE_LIMIT_EXCEEDED");
    await inTurn(longWork, "bob", list);
    await Promise.all(lists);
    expect(most).to.be.at.most(2);
  });

  it("of the history do not delay those of open orders, and are refused in time to be answered", async () => {
    const longWork = new LongWork();
    const parts = { reads: { db }, reference, longWork };
    let end = (): void => undefined;
    const running = inTurn(longWork, "history ann", () => new Promise<void>((resolve) => (end = resolve)));
    const ofAnn = { wallet, reader: "ann" };
    const began = performance.now();
    const ended = ordersPage(parts, ofAnn, { status: ["CANCELED"], limit: 10 }).catch(
      (error: unknown) => error,
    );
    expect((await ordersPage(parts, ofAnn, { status: ["OPEN"], limit: 10 })).rows).to.equal(10);
    expect(await ended)
      .to.be.instanceOf(NotStarted)
      .with.property("code", "RATE_LIMIT_EXCEEDED");
    expect(performance.now() - began).to.be.below(ANSWER_MS);
    end();
    await running;
  });
});

describe("the previews of a trader", () => {
  it("are made one after the other, and refused when too many wait", async () => {
    const longWork = new LongWork();
    const begun: string[] = [];
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const preview = (traderId: string): Promise<void> =>
      previewInTurn(longWork, traderId, () => {
        begun.push(traderId);
        return ended;
      });
    const most = Array.from({ length: KEY_BUCKETS.read.capacity }, () => preview("ann"));
    const beyond: unknown = await preview("ann").catch((error: unknown) => error);
    expect(beyond).to.be.instanceOf(NotStarted).with.property("code", "RATE_LIMIT_EXCEEDED");
    const other = preview("bob");
    await new Promise(setImmediate);
    expect(begun).to.deep.equal(["ann", "bob"]);
    end();
    await Promise.all([...most, other]);
    expect(begun).to.have.length(most.length + 1);
  });
});
