import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { connect, disconnect, type Database } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { InvalidCursor, type Page } from "../../db/page.js";
import { listAudit, recordAudit } from "../../db/queries/operator/audit.js";
import {
  createEvent,
  finishEventAction,
  listEvents,
  listEventsByOffset,
  marketIdsOfEvents,
  settleFinalEvents,
  stepEvent,
  unfinishedEventActions,
} from "../../db/queries/catalog/events.js";
import { allMarkets, findOutcome, listMarkets, settledMarkets } from "../../db/queries/catalog/markets.js";
import { findOrderByClientId, listOrders } from "../../db/queries/trading/orders.js";
import { findLocation, recordLocation } from "../../db/queries/accounts/device-locations.js";
import { isTokenRevoked, revokeToken } from "../../db/queries/accounts/revoked-tokens.js";
import {
  approveSettlement,
  findSettlement,
  requestSettlement,
} from "../../db/queries/operator/settlements.js";
import { currentTicks, publishTicks } from "../../db/queries/catalog/ticks.js";
import { listCandles, listTrades } from "../../db/queries/trading/trades.js";
import { createTrader } from "../../db/queries/accounts/traders.js";
import { listTransactions } from "../../db/queries/trading/transactions.js";
import { ticks } from "../../actors/units.js";
import { freshDatabase, type FreshDatabase } from "../support/servers.js";
import { SmallExchange } from "./exchange.js";
import { project } from "./read-model.js";

const NOW = 1_700_000_000_000;

describe("queries", () => {
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

  async function newEvent(
    startsTs: number,
    fields: { league?: string; visible?: boolean } = {},
  ): Promise<string> {
    const eventId = randomUUID();
    await createEvent(db, {
      eventId,
      type: "Game",
      sport: "FOOTBALL",
      league: fields.league ?? "NFL",
      description: "A at B",
      startsTs,
      visible: fields.visible ?? true,
      game: { homeTeam: { name: "A", symbol: "AAA" }, awayTeam: { name: "B" } },
      nowTs: NOW,
    });
    return eventId;
  }

  /** Reads page after page; `between` runs after each. */
  async function readAll<Row>(
    read: (after: string | undefined) => Promise<Page<Row>>,
    between: () => Promise<void> = () => Promise.resolve(),
  ): Promise<Row[]> {
    const rows: Row[] = [];
    for (let after: string | undefined; ;) {
      const page = await read(after);
      rows.push(...page.items);
      if (page.next === undefined) return rows;
      after = page.next;
      await between();
    }
  }

  it("pages lose and repeat nothing while rows arrive", async () => {
    const wallet = randomUUID();
    for (let n = 0; n < 23; n += 1) exchange.transact(wallet, 1 + n);
    // Rows of one moment must not depend on the clock to tell them apart.
    exchange.joined.now -= 10;
    for (let n = 23; n < 30; n += 1) exchange.transact(wallet, 1 + n);
    await project(database.url, exchange.entries());
    const there = (await listTransactions(db, { wallet }, { limit: 5_000 })).items;
    expect(there).to.have.length(30);
    exchange.joined.now = Math.max(...there.map(({ ts }) => ts));

    const read = await readAll(
      (after) => listTransactions(db, { wallet }, { limit: 4, after }),
      async () => {
        exchange.transact(wallet, 1_000);
        exchange.transact(wallet, 1_000);
        await project(database.url, exchange.entries());
      },
    );
    expect(read.map(({ transactionId }) => transactionId)).to.deep.equal(
      there.map(({ transactionId }) => transactionId),
    );
    expect((await listTransactions(db, { wallet }, { limit: 5_000 })).items.length).to.be.greaterThan(30);
  });

  it("refuses a cursor that it did not make", async () => {
    await newEvent(1);
    await newEvent(2);
    const { next } = await listEvents(db, {}, { limit: 1 });
    const bad = [
      "",
      "x",
      "bnVsbA",
      Buffer.from(`[1,2]`).toString("base64url"),
      Buffer.from(`["1","${randomUUID()}"]`).toString("base64url"),
      Buffer.from(`[1,"' or 1=1"]`).toString("base64url"),
    ];
    for (const after of bad) {
      const failure = await listEvents(db, {}, { limit: 1, after }).catch((error: unknown) => error);
      expect(failure, after).to.be.instanceOf(InvalidCursor);
    }
    const failure = await listAudit(db, {}, { limit: 1, after: next }).catch((error: unknown) => error);
    expect(failure, "of another list").to.be.instanceOf(InvalidCursor);
  });

  it("lists events by start with filters, teams and markets", async () => {
    const late = await newEvent(300);
    const early = await newEvent(100, { league: "NBA" });
    const hidden = await newEvent(200, { visible: false });
    const ids = (items: readonly { eventId: string }[]) => items.map(({ eventId }) => eventId);
    expect(ids((await listEvents(db, {}, { limit: 10 })).items)).to.deep.equal([early, hidden, late]);
    expect(ids((await listEvents(db, { visible: true }, { limit: 10 })).items)).to.deep.equal([early, late]);
    expect(ids((await listEvents(db, { leagues: ["NBA"] }, { limit: 10 })).items)).to.deep.equal([early]);
    expect(
      ids((await listEvents(db, { startsAfter: 100, startsBefore: 300 }, { limit: 10 })).items),
    ).to.deep.equal([hidden]);
    expect(ids((await listEvents(db, { statuses: ["FINAL"] }, { limit: 10 })).items)).to.deep.equal([]);
    expect(ids(await listEventsByOffset(db, {}, { limit: 2, offset: 1 }))).to.deep.equal([hidden, late]);
    expect(ids(await readAll((after) => listEvents(db, {}, { limit: 1, after })))).to.deep.equal([
      early,
      hidden,
      late,
    ]);
    const [first] = (await listEvents(db, { leagues: ["NFL"] }, { limit: 1 })).items;
    expect(first?.game?.homeTeam).to.include({ name: "A", symbol: "AAA" });

    const market = exchange.createMarket({ eventId: late });
    await project(database.url, exchange.entries());
    expect((await marketIdsOfEvents(db, [late, early])).get(late)).to.deep.equal([market.marketId]);
    expect((await marketIdsOfEvents(db, [late, early])).get(early)).to.deep.equal([]);
  });

  it("lists markets by their events, and settled ones newest first", async () => {
    const [late, early] = [await newEvent(300), await newEvent(100, { league: "NBA" })];
    const markets = [late, early, late].map((eventId) => exchange.createMarket({ eventId }));
    const ids = (items: readonly { marketId: string }[]) => items.map(({ marketId }) => marketId);
    for (const market of markets) {
      exchange.grade(market, { kind: "WINNER", outcome: 0 });
      if (market !== markets[1]) exchange.settle(market);
    }
    await project(database.url, exchange.entries());
    const all = await readAll((after) => listMarkets(db, {}, { limit: 1, after }));
    expect(ids(all)[0]).to.equal(markets[1]?.marketId);
    expect(ids(all).sort()).to.deep.equal(ids(markets).sort());
    expect(ids(await allMarkets(db, { leagues: ["NBA"] }))).to.deep.equal([markets[1]?.marketId]);
    expect(ids(await allMarkets(db, { statuses: ["SETTLED"], eventId: late })).sort()).to.deep.equal(
      [markets[0]?.marketId, markets[2]?.marketId].sort(),
    );
    const settled = await readAll((after) => settledMarkets(db, { limit: 1, after }));
    expect(ids(settled)).to.deep.equal([markets[2]?.marketId, markets[0]?.marketId]);
    expect(await findOutcome(db, markets[1]?.outcomeIds[1] ?? "")).to.deep.equal({
      marketId: markets[1]?.marketId,
      outcome: 1,
    });
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

  it("makes candles of prints", async () => {
    const [ann, bob] = [randomUUID(), randomUUID()];
    const market = exchange.createMarket();
    exchange.transact(ann, 10_000_000);
    exchange.transact(bob, 10_000_000);
    const print = (ts: number, price: number, qty: number): void => {
      exchange.joined.now = ts;
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
    const read = await readAll((after) => listTrades(db, of, { limit: 1, after }));
    expect(read.map(({ price }) => price)).to.deep.equal([450, 400, 600, 500]);
  });

  it("takes an event one step at a time", async () => {
    const eventId = await newEvent(1);
    const step = (action: "close" | "finalise", nowTs: number) =>
      db.transaction((tx) =>
        stepEvent(tx, {
          eventId,
          action,
          from: action === "close" ? ["OPEN_PREGAME"] : ["CLOSED_PREGAME"],
          to: action === "close" ? "CLOSED_PREGAME" : "FINAL",
          nowTs,
        }),
      );
    const answers = await Promise.all([step("close", NOW), step("close", NOW), step("close", NOW)]);
    const taken = answers.filter((answer) => answer.ok);
    expect(taken).to.have.length(1);
    const actionId = taken[0]?.ok === true ? taken[0].pending.actionId : 0;
    expect(await step("finalise", NOW)).to.deep.include({ ok: false, refusal: "ACTION_PENDING" });
    expect(await unfinishedEventActions(db, NOW)).to.deep.equal([]);
    expect((await unfinishedEventActions(db, NOW + 1)).map((action) => action.actionId)).to.deep.equal([
      actionId,
    ]);
    await finishEventAction(db, actionId, NOW + 2);
    expect(await step("close", NOW)).to.deep.include({ ok: false, refusal: "INVALID_TRANSITION" });

    const market = exchange.createMarket({ eventId });
    await project(database.url, exchange.entries());
    const last = await step("finalise", NOW + 3);
    expect(await settleFinalEvents(db, { nowTs: NOW + 4 }), "its markets have not followed").to.deep.equal(
      [],
    );
    if (last.ok) await finishEventAction(db, last.pending.actionId, NOW + 5);
    expect(await settleFinalEvents(db, { nowTs: NOW + 6 }), "a market is not settled").to.deep.equal([]);
    exchange.grade(market, { kind: "WINNER", outcome: 0 });
    exchange.settle(market);
    await project(database.url, exchange.entries());
    expect(await settleFinalEvents(db, { eventId: randomUUID(), nowTs: NOW + 7 })).to.deep.equal([]);
    expect(await settleFinalEvents(db, { eventId, nowTs: NOW + 7 })).to.deep.equal([eventId]);
    expect(await settleFinalEvents(db, { nowTs: NOW + 8 })).to.deep.equal([]);
  });

  it("has a second operator approve a settlement, and only a second one", async () => {
    const [marketId, first, second] = [randomUUID(), randomUUID(), randomUUID()];
    const grade = { kind: "WINNER", outcome: 1 } as const;
    const request = {
      settlementId: randomUUID(),
      marketId,
      grade,
      operatorId: first,
      approved: false,
      nowTs: NOW,
    };
    expect(await requestSettlement(db, request)).to.include({ status: "PENDING_APPROVAL" });
    expect(await requestSettlement(db, { ...request, settlementId: randomUUID() })).to.equal(undefined);
    expect(await approveSettlement(db, { marketId, operatorId: first, nowTs: NOW })).to.equal(undefined);
    expect(await approveSettlement(db, { marketId, operatorId: second, nowTs: NOW + 1 })).to.deep.include({
      status: "APPROVED",
      approvedBy: second,
      grade,
    });
    expect(await approveSettlement(db, { marketId, operatorId: second, nowTs: NOW })).to.equal(undefined);
    expect((await findSettlement(db, marketId))?.settlementId).to.equal(request.settlementId);
  });

  it("remembers audits, tokens, locations and ticks", async () => {
    const operatorId = randomUUID();
    for (const subject of ["a", "b", "a"]) {
      await recordAudit(db, {
        ts: NOW,
        operatorId,
        action: "change",
        subject,
        before: { x: 1 },
        after: { x: 2 },
      });
    }
    const audits = await readAll((after) => listAudit(db, {}, { limit: 1, after }));
    expect(audits.map(({ subject }) => subject)).to.deep.equal(["a", "b", "a"]);
    expect((await listAudit(db, { subject: "a" }, { limit: 9 })).items).to.have.length(2);

    await revokeToken(db, { tokenId: "old", expiresTs: NOW + 1, nowTs: NOW });
    await revokeToken(db, { tokenId: "new", expiresTs: NOW + 100, nowTs: NOW + 50 });
    expect([await isTokenRevoked(db, "old"), await isTokenRevoked(db, "new")]).to.deep.equal([false, true]);

    const traderId = randomUUID();
    await createTrader(db, { traderId, email: "x@y.z", passwordHash: "h", role: "trader", nowTs: NOW });
    const nowhere = { region: null, latitude: null, longitude: null, accuracyMetres: null };
    await recordLocation(db, { traderId, failed: true, ...nowhere, ts: NOW });
    await recordLocation(db, { traderId, failed: false, ...nowhere, region: "US-NY", ts: NOW + 1 });
    expect(await findLocation(db, traderId)).to.include({ failed: false, region: "US-NY", ts: NOW + 1 });

    await publishTicks(db, { prices: [ticks(250), ticks(750)], publishedBy: operatorId, nowTs: NOW });
    expect(await currentTicks(db)).to.deep.equal({ version: 2, prices: [250, 750], publishedTs: NOW });
  });
});
