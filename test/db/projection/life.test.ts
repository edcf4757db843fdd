import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ledgerShardOf } from "../../../actors/actor.js";
import { walletSnapshot } from "../../../actors/ledger/ledger.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { findBalances } from "../../../db/queries/trading/balances.js";
import { money } from "../../../db/queries/operator/money.js";
import { listOrders } from "../../../db/queries/trading/orders.js";
import { listPositions } from "../../../db/queries/trading/positions.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { dice, idsOf, interleave, SmallExchange, type MarketIds } from "../exchange.js";
import { project } from "../read-model.js";

const PAGE = { limit: 1_000 };

describe("projection of a random life", () => {
  let database: FreshDatabase;
  let db: Database;
  let exchange: SmallExchange;

  beforeEach(async () => {
    database = await freshDatabase(migrate);
    db = connect(database.url);
  });

  afterEach(async () => {
    await disconnect(db);
    await database.drop();
  });

  for (const seed of [1, 2, 3, 4]) {
    it(`agrees with the actors at every moment of a random life (seed ${seed})`, async () => {
      const roll = dice(seed);
      const newId = idsOf(roll);
      exchange = new SmallExchange(newId);
      const traders = Array.from({ length: 5 }, newId);
      const markets = [
        exchange.createMarket(),
        exchange.createMarket({ voids: "PUSH" }),
        exchange.createMarket({ outcomes: 3 }),
      ];
      for (const trader of traders) {
        exchange.transact(trader, 3_000_000);
        exchange.transact(trader, 3_000_000, { currency: "COIN" });
      }
      const placed: { trader: string; market: MarketIds; orderId: string }[] = [];
      for (let round = 0; round < 6; round += 1) {
        for (let step = 0; step < 40; step += 1) live(roll, traders, markets, placed);
        // Messages that are still on their way are in flight in the report.
        await project(database.url, interleave(exchange.entries(2), roll), 1 + roll(20));
        await agrees(traders, markets);
      }
      exchange.deliverAll();
      await project(database.url, exchange.entries(2));
      await agrees(traders, markets);
      expect((await money(db)).CASH.inFlight).to.equal(0);
    });
  }

  function live(
    roll: (below: number) => number,
    traders: readonly string[],
    markets: readonly MarketIds[],
    placed: { trader: string; market: MarketIds; orderId: string }[],
  ): void {
    const trader = traders[roll(traders.length)] ?? randomUUID();
    const market = markets[roll(markets.length)];
    if (market === undefined) return;
    const what = roll(20);
    if (what < 12) {
      const outcome = roll(market.outcomeIds.length);
      const price = (1 + roll(189)) * 5 + 50;
      const tif = (["GTC", "GTC", "IOC", "PO", "FOK"] as const)[roll(5)] ?? "GTC";
      const currency = roll(4) === 0 ? "COIN" : "CASH";
      const snapped = Math.min(price, 945);
      placed.push({
        trader,
        market,
        orderId: exchange.place(trader, market, outcome, snapped, 1 + roll(300), { tif, currency }),
      });
    } else if (what < 14) {
      const order = placed[roll(placed.length)];
      if (order === undefined) return;
      if (what === 12) exchange.amend(order.trader, order.orderId, 1 + roll(5));
      else exchange.reprice(order.trader, order.market, order.orderId, 55 + 5 * roll(179));
    } else if (what === 14) exchange.cancelAll(trader);
    else if (what === 15) exchange.transact(trader, 1 + roll(1_000), { kind: "WITHDRAWAL" });
    else if (what === 16) exchange.lifecycle(market, roll(2) === 0 ? "golive" : "unlive");
    else if (what === 17) exchange.lifecycle(market, roll(3) === 0 ? "close" : "open");
    else if (what === 18 && roll(3) === 0) {
      const outcome = roll(market.outcomeIds.length);
      exchange.grade(market, { kind: "WINNER", outcome });
    } else if (what === 19) {
      exchange.settle(market, 2);
      if (roll(4) === 0) exchange.command(market.marketId, { kind: "remediate", reason: "a test" });
    }
    for (let n = roll(5); n > 0; n -= 1)
      if (exchange.joined.travelling.length > 0) exchange.joined.deliver(roll(9));
  }

  async function agrees(traders: readonly string[], markets: readonly MarketIds[]): Promise<void> {
    const balances = await findBalances(db, traders);
    for (const trader of traders) {
      const seat = exchange.joined.ledgerSeat(ledgerShardOf(trader));
      const wallet = walletSnapshot(seat.state, trader);
      expect(balances.get(trader)).to.deep.equal(wallet.balances);
      const open = (await listOrders(db, { wallet: trader, statuses: ["PENDING", "OPEN"] }, PAGE)).items;
      const short = (orders: readonly { orderId: string; status: string; qty: number }[]) =>
        orders.map(({ orderId, status, qty }) => `${orderId} ${status} ${qty}`).sort();
      expect(short(open.map((order) => ({ ...order, qty: order.remaining })))).to.deep.equal(
        short(wallet.orders.open),
      );
      const held = await listPositions(db, { wallet: trader }, { limit: 100, offset: 0 });
      const line = (position: {
        marketId: string;
        currency: string;
        outcome: number;
        qty: number;
        cost: number;
      }) => [position.marketId, position.currency, position.outcome, position.qty, position.cost].join(" ");
      expect(held.map(line).sort()).to.deep.equal(wallet.positions.positions.map(line).sort());
    }
    const { rows } = await db.execute<{ market_id: string; status: string; paused: boolean; live: boolean }>(
      "select market_id, status, paused, live from markets",
    );
    for (const { marketId } of markets) {
      const { status, paused, live: inPlay } = exchange.joined.marketSeat(marketId).state;
      expect(rows).to.deep.include({ market_id: marketId, status, paused, live: inPlay });
    }
    const report = await money(db);
    for (const currency of CURRENCIES) {
      const states = markets.map(
        ({ marketId }) => exchange.joined.marketSeat(marketId).state.books[currency],
      );
      const escrow = states.reduce((sum, book) => sum + book.escrow, 0);
      const inFlight = exchange.joined.inFlight(currency);
      expect(report[currency]).to.include({ escrow, inFlight, difference: 0 });
    }
  }
});
