import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { listFills } from "../../../db/queries/trading/fills.js";
import { createEvent } from "../../../db/queries/catalog/events.js";
import { findMarket, unsettledMarkets } from "../../../db/queries/catalog/markets.js";
import { lastTransitions } from "../../../db/queries/catalog/transitions.js";
import { money } from "../../../db/queries/operator/money.js";
import { findOrder } from "../../../db/queries/trading/orders.js";
import { listPositions } from "../../../db/queries/trading/positions.js";
import { listTrades } from "../../../db/queries/trading/trades.js";
import { listTransactions } from "../../../db/queries/trading/transactions.js";
import { findTransfer } from "../../../db/queries/trading/transfers.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { SmallExchange, type TestMarket } from "../exchange.js";
import { balancesOf, project } from "../read-model.js";

const PAGE = { limit: 1_000 };

describe("projection", () => {
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

  async function eventOf(market: TestMarket): Promise<void> {
    await createEvent(db, {
      eventId: market.eventId,
      type: "Game",
      sport: "FOOTBALL",
      league: "NFL",
      description: "A at B",
      startsTs: 1,
      visible: true,
      nowTs: 1,
    });
  }

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

  it("keeps the whole life of an order in one row", async () => {
    const market = exchange.createMarket();
    exchange.transact(ann, 10_000_000);
    const orderId = exchange.place(ann, market, 0, 600, 10, { clientId: '{"odd", id\\}' });
    await project(database.url, exchange.entries());
    expect(await findOrder(db, ann, orderId)).to.include({
      status: "PENDING",
      qty: 10,
      remaining: 10,
      filled: 0,
      price: 600,
      clientId: '{"odd", id\\}',
    });
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    expect(await findOrder(db, ann, orderId)).to.include({ status: "OPEN", remaining: 10 });
    exchange.amend(ann, orderId, 7);
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    expect(await findOrder(db, ann, orderId)).to.include({ status: "OPEN", qty: 10, remaining: 7 });
    exchange.transact(bob, 10_000_000);
    exchange.place(bob, market, 1, 400, 3);
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    expect(await findOrder(db, ann, orderId)).to.include({ status: "OPEN", filled: 3, remaining: 4 });
    exchange.lifecycle(market, "close");
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    expect(await findOrder(db, ann, orderId)).to.include({
      status: "CANCELED",
      reason: "MARKET_CLOSED",
      remaining: 4,
      filled: 3,
    });
    expect(await findOrder(db, bob, orderId), "another wallet's order").to.equal(undefined);
  });

  it("shows filled, open and rejected orders, and the reason of a reject", async () => {
    const market = exchange.createMarket();
    const { maker, taker } = trade(market);
    const rejected = exchange.place(bob, market, 1, 100, 1, { tif: "IOC" });
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    expect(await findOrder(db, ann, maker)).to.include({ status: "OPEN", filled: 4, remaining: 6 });
    expect(await findOrder(db, bob, taker)).to.include({ status: "FILLED", filled: 4, remaining: 0 });
    expect(await findOrder(db, bob, rejected)).to.include({
      status: "REJECTED",
      reason: "NO_MATCH",
      remaining: 1,
    });
  });

  it("writes both fills, the print, the entries, the balances and the totals of a match", async () => {
    const market = exchange.createMarket();
    await eventOf(market);
    const { maker, taker } = trade(market);
    await project(database.url, exchange.entries());

    const [annFill] = (await listFills(db, { wallet: ann }, PAGE)).items;
    const [bobFill] = (await listFills(db, { wallet: bob }, PAGE)).items;
    expect(annFill).to.include({
      orderId: maker,
      clientId: "mine",
      outcome: 0,
      price: 600,
      qty: 4,
      taker: false,
    });
    expect(bobFill).to.include({
      orderId: taker,
      clientId: null,
      outcome: 1,
      price: 400,
      qty: 4,
      taker: true,
    });
    expect(annFill?.matchId).to.equal(bobFill?.matchId);
    expect(annFill?.fillId).not.to.equal(bobFill?.fillId);

    const prints = await listTrades(db, { marketId: market.marketId, currency: "CASH" }, PAGE);
    expect(prints.items).to.have.length(1);
    expect(prints.items[0]).to.include({ outcome: 0, price: 600, qty: 4, matchId: annFill?.matchId });

    // The fee for 4 contracts at 0.400: 0.06 x 0.4 x 0.6 x 4 cents = 57.6 millicents, rounded to 58. The maker gets half.
    const bobs = (await listTransactions(db, { wallet: bob }, PAGE)).items;
    expect(bobs.map(({ kind, amount }) => [kind, amount])).to.deep.equal([
      ["FEE", -58],
      ["FILL", -1_600],
      ["DEPOSIT", 10_000_000],
    ]);
    expect(
      (await listTransactions(db, { wallet: ann, kind: "MAKER_CREDIT" }, PAGE)).items[0]?.amount,
    ).to.equal(29);
    expect((await balancesOf(db, [ann])).get(ann)?.CASH).to.deep.equal({
      total: 10_000_000 - 2_400 + 29,
      reserved: 3_600,
    });
    expect(await listPositions(db, { wallet: ann }, { limit: 10, offset: 0 })).to.have.length(1);

    const found = await findMarket(db, market.marketId);
    expect(found?.volume).to.deep.equal({ CASH: 4_000, COIN: 0 });
    expect(found?.outcomes.map(({ last }) => last.CASH)).to.deep.equal([600, 400]);
    const report = await money(db);
    expect(report.CASH).to.include({
      deposits: 20_000_000,
      escrow: 4_000,
      house: 29,
      inFlight: 0,
      difference: 0,
    });
  });

  it("settles a market and its outcomes, and takes the settlement back", async () => {
    const market = exchange.createMarket();
    await eventOf(market);
    trade(market);
    exchange.grade(market, { kind: "WINNER", outcome: 1 });
    await project(database.url, exchange.entries());
    expect(await findMarket(db, market.marketId)).to.deep.include({
      status: "CLOSED",
      grade: { kind: "WINNER", outcome: 1 },
      settledTs: null,
    });
    expect(await unsettledMarkets(db)).to.have.length(1);

    exchange.settle(market);
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    const settled = await findMarket(db, market.marketId);
    expect(settled?.outcomes.map(({ status }) => status)).to.deep.equal(["LOSS", "WIN"]);
    expect(settled).to.include({ status: "SETTLED", settledTs: exchange.network.now });
    expect(await unsettledMarkets(db)).to.deep.equal([]);
    expect((await money(db)).CASH).to.include({ escrow: 0, inFlight: 0, difference: 0 });
    expect(await listPositions(db, { wallet: bob }, { limit: 10, offset: 0 })).to.deep.equal([]);

    exchange.command(market.marketId, { kind: "remediate", reason: "wrong team" });
    await project(database.url, exchange.entries());
    expect(await unsettledMarkets(db)).to.deep.include({
      marketId: market.marketId,
      eventId: market.eventId,
      settlementId: settled?.settlementId,
      remediating: true,
    });
    exchange.settle(market);
    exchange.deliverAll();
    await project(database.url, exchange.entries());
    const again = await findMarket(db, market.marketId);
    expect(again).to.include({ status: "CLOSED", grade: null, settledTs: null, remediating: false });
    expect(again?.outcomes.map(({ status }) => status)).to.deep.equal(["TBD", "TBD"]);
    expect((await money(db)).CASH).to.include({ escrow: 4_000, difference: 0 });

    exchange.grade(market, { kind: "FMV", prices: [1_000, 0] });
    exchange.settle(market);
    await project(database.url, exchange.entries());
    const fair = await findMarket(db, market.marketId);
    expect(fair?.outcomes.map(({ status }) => status)).to.deep.equal(["1.000", "0.000"]);
  });

  it("shows the configuration of a market and its earlier fee schedules", async () => {
    const market = exchange.createMarket({ open: false });
    await eventOf(market);
    exchange.lifecycle(market, "golive", "open", "pause");
    const fee = { coefficientPpm: 10_000, makerCreditPpm: 0, charged: "WHEN_LIVE" } as const;
    exchange.command(market.marketId, { kind: "configure", fee, liveDelayMs: 250, description: "no\0w" });
    await project(database.url, exchange.entries());
    expect(await findMarket(db, market.marketId)).to.deep.include({
      status: "OPEN",
      live: true,
      paused: true,
      fee,
      liveDelayMs: 250,
      description: "no\uFFFDw",
      strike: "2.5",
    });
    const { rows } = await db.execute("select fee_charged from fee_schedules order by ts, place");
    expect(rows).to.deep.equal([{ fee_charged: "ALWAYS" }, { fee_charged: "WHEN_LIVE" }]);
  });

  it("lists the last transitions of a market, newest first", async () => {
    const market = exchange.createMarket({ open: false });
    exchange.lifecycle(market, "open", "golive", "pause");
    exchange.lifecycle(exchange.createMarket(), "close");
    await project(database.url, exchange.entries());
    exchange.lifecycle(market, "resume");
    exchange.grade(market, { kind: "WINNER", outcome: 0 });
    exchange.settle(market);
    await project(database.url, exchange.entries());
    const found = await lastTransitions(db, market.marketId, 50);
    expect(found.map(({ kind, status }) => `${kind} ${status}`)).to.deep.equal([
      "GRADE SETTLED",
      "CLOSE CLOSED",
      "RESUME OPEN",
      "PAUSE OPEN",
      "GOLIVE OPEN",
      "START OPEN",
      "OPEN OPEN",
    ]);
    const lastTwo = await lastTransitions(db, market.marketId, 2);
    expect(lastTwo).to.deep.equal(found.slice(0, 2));
  });

  it("finds applied and rejected transfers", async () => {
    const wallet = randomUUID();
    exchange.transact(ann, 500);
    const applied = exchange.fund(ann, wallet, 400, "first");
    const rejected = exchange.fund(ann, wallet, 400);
    await project(database.url, exchange.entries());
    expect(await findTransfer(db, wallet, applied)).to.include({ status: "Applied", available: null });
    expect(await findTransfer(db, wallet, rejected)).to.include({ status: "Rejected", available: 100 });
    expect(await findTransfer(db, randomUUID(), applied), "of another wallet").to.equal(undefined);
    const kinds = (await listTransactions(db, { wallet }, PAGE)).items.map(({ kind }) => kind);
    expect(kinds).to.deep.equal(["TRANSFER_IN"]);
  });

  it("counts as in flight the money that a market took and no ledger entry shows yet", async () => {
    const market = exchange.createMarket();
    exchange.transact(ann, 10_000_000);
    exchange.transact(bob, 10_000_000);
    exchange.place(ann, market, 0, 600, 10);
    exchange.deliverAll();
    exchange.place(bob, market, 1, 400, 10);
    exchange.network.deliver(0);
    expect(exchange.network.inFlight("CASH")).to.equal(-10_000);
    await project(database.url, exchange.entries());
    expect((await money(db)).CASH).to.include({ escrow: 10_000, inFlight: -10_000, difference: 0 });
  });

  it("counts each kind of operator transaction as a deposit, a withdrawal or an adjustment", async () => {
    exchange.transact(ann, 1_000);
    exchange.transact(ann, 100, { kind: "CREDIT" });
    exchange.transact(ann, 10, { kind: "FORWARDING" });
    exchange.transact(ann, 300, { kind: "WITHDRAWAL" });
    exchange.transact(ann, 20, { kind: "CREDIT_RECLAIM" });
    exchange.transact(ann, -5, { kind: "ADJUSTMENT" });
    exchange.transact(bob, 7, { currency: "COIN" });
    await project(database.url, exchange.entries());
    const report = await money(db);
    expect(report.CASH).to.include({
      deposits: 1_110,
      withdrawals: 320,
      adjustments: -5,
      wallets: 785,
      difference: 0,
    });
    expect(report.COIN).to.include({ deposits: 7, wallets: 7, difference: 0 });
  });
});
