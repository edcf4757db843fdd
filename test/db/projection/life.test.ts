import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ledgerShardOf } from "../../../actors/actor.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import { connect, disconnect, type Database } from "../../../db/database.js";
import { migrate } from "../../../db/migrate.js";
import { money } from "../../../db/queries/operator/money.js";
import { listOrders } from "../../../db/queries/trading/orders.js";
import { listPositions } from "../../../db/queries/trading/positions.js";
import { freshDatabase, type FreshDatabase } from "../../support/servers.js";
import { dice, idsOf, interleave, SmallExchange, type TestMarket } from "../exchange.js";
import { balancesOf, project } from "../read-model.js";

const PAGE = { limit: 1_000 };

describe("projection of random commands", () => {
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
    it(`agrees with the actors after every round (seed ${seed})`, async () => {
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
      const placed: { trader: string; market: TestMarket; orderId: string }[] = [];
      for (let round = 0; round < 6; round += 1) {
        for (let step = 0; step < 40; step += 1) command(roll, traders, markets, placed);
        // The report counts undelivered messages as in flight.
        await project(database.url, interleave(exchange.entries(2), roll), 1 + roll(20));
        await expectAgreement(traders, markets);
      }
      exchange.deliverAll();
      await project(database.url, exchange.entries(2));
      await expectAgreement(traders, markets);
      expect((await money(db)).CASH.inFlight).to.equal(0);
    });
  }

  function command(
    roll: (below: number) => number,
    traders: readonly string[],
    markets: readonly TestMarket[],
    placed: { trader: string; market: TestMarket; orderId: string }[],
  ): void {
    const trader = traders[roll(traders.length)] ?? randomUUID();
    const market = markets[roll(markets.length)];
    if (market === undefined) return;
    const choice = roll(20);
    if (choice < 12) {
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
    } else if (choice < 14) {
      const order = placed[roll(placed.length)];
      if (order === undefined) return;
      if (choice === 12) exchange.amend(order.trader, order.orderId, 1 + roll(5));
      else exchange.reprice(order.trader, order.market, order.orderId, 55 + 5 * roll(179));
    } else if (choice === 14) exchange.cancelAll(trader);
    else if (choice === 15) exchange.transact(trader, 1 + roll(1_000), { kind: "WITHDRAWAL" });
    else if (choice === 16) exchange.lifecycle(market, roll(2) === 0 ? "golive" : "unlive");
    else if (choice === 17) exchange.lifecycle(market, roll(3) === 0 ? "close" : "open");
    else if (choice === 18 && roll(3) === 0) {
      const outcome = roll(market.outcomeIds.length);
      exchange.grade(market, { kind: "WINNER", outcome });
    } else if (choice === 19) {
      exchange.settle(market, 2);
      if (roll(4) === 0) exchange.command(market.marketId, { kind: "remediate", reason: "a test" });
    }
    for (let n = roll(5); n > 0; n -= 1)
      if (exchange.network.undelivered.length > 0) exchange.network.deliver(roll(9));
  }

  async function expectAgreement(traders: readonly string[], markets: readonly TestMarket[]): Promise<void> {
    const balances = await balancesOf(db, traders);
    for (const trader of traders) {
      const wallet = exchange.network.wallet(ledgerShardOf(trader), trader);
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
      const { status, paused, live: inPlay } = exchange.network.marketOf(marketId).state;
      expect(rows).to.deep.include({ market_id: marketId, status, paused, live: inPlay });
    }
    const report = await money(db);
    for (const currency of CURRENCIES) {
      const states = markets.map(({ marketId }) => exchange.network.marketOf(marketId).state.books[currency]);
      const escrow = states.reduce((sum, book) => sum + book.escrow, 0);
      const inFlight = exchange.network.inFlight(currency);
      expect(report[currency]).to.include({ escrow, inFlight, difference: 0 });
    }
  }
});
