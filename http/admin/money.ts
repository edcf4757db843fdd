/** Money report: the sums of all money, computed from the live actors and again from Postgres (contract section 8.17). */

import { LEDGER_SHARDS } from "../../actors/actor.js";
import type { LedgerReport } from "../../actors/ledger/commands.js";
import type { MarketReport } from "../../actors/market/commands.js";
import { CURRENCIES, type Currency } from "../../actors/market/types.js";
import { add, formatMoney, subtract, ZERO, type Millicents } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { allMarkets } from "../../db/queries/catalog/markets.js";
import { money, type Money } from "../../db/queries/operator/money.js";
import type { Exchange } from "../../stream/log/ports.js";
import { operatorWith } from "../request/access.js";
import { route } from "../request/route.js";
import { READ_ONLY } from "../trading/ledger-client.js";
import { MoneyReport } from "./schemas/money.js";

type Side = Readonly<Record<Currency, Money>>;

/** Repeats the report while money is in flight or the projector is behind, for about two seconds. */
const ATTEMPTS = 12;
const PAUSE_MS = 160;
const PARALLEL = 32;

const TERMS = [
  "deposits",
  "withdrawals",
  "adjustments",
  "wallets",
  "reserved",
  "escrow",
  "house",
  "inFlight",
  "difference",
] as const satisfies readonly (keyof Money)[];

/** Runs a task for every item, a few at a time, and returns the results in the order of the items. */
async function mapInParallel<Item, Result>(
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await run(item);
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return results;
}

function sum<Item>(items: readonly Item[], of: (item: Item) => Millicents): Millicents {
  return items.reduce((total, item) => add(total, of(item)), ZERO);
}

/** Returns the sums of one currency over the reports of all ledgers and markets. */
function moneyOf(
  currency: Currency,
  ledgers: readonly LedgerReport[],
  markets: readonly MarketReport[],
): Money {
  const shards = ledgers.map((ledger) => ledger.money[currency]);
  const books = markets.map((market) => market.money[currency]);
  const terms = {
    deposits: sum(shards, (shard) => shard.deposits),
    withdrawals: sum(shards, (shard) => shard.withdrawals),
    adjustments: sum(shards, (shard) => shard.adjustments),
    wallets: sum(shards, (shard) => shard.available),
    reserved: sum(shards, (shard) => shard.reserved),
    escrow: sum(books, (book) => book.escrow),
    house: sum(shards, (shard) => shard.house),
    inFlight: subtract(
      sum(books, (book) => book.sent),
      sum(shards, (shard) => shard.received),
    ),
  };
  const put = add(subtract(terms.deposits, terms.withdrawals), terms.adjustments);
  const found = [terms.wallets, terms.reserved, terms.escrow, terms.house, terms.inFlight].reduce(add, ZERO);
  return { ...terms, difference: subtract(put, found) };
}

function byCurrency<Value>(of: (currency: Currency) => Value): Record<Currency, Value> {
  return { CASH: of("CASH"), COIN: of("COIN") };
}

function agree(actors: Side, postgres: Side): boolean {
  return CURRENCIES.every((currency) => {
    const [a, b] = [actors[currency], postgres[currency]];
    return a.difference === 0 && TERMS.every((term) => a[term] === b[term]);
  });
}

function quiet(side: Side): boolean {
  return CURRENCIES.every((currency) => side[currency].inFlight === 0);
}

function sideOnWire(side: Side) {
  return byCurrency((currency) => {
    const money = side[currency];
    return {
      deposits: formatMoney(money.deposits),
      withdrawals: formatMoney(money.withdrawals),
      adjustments: formatMoney(money.adjustments),
      wallets: formatMoney(money.wallets),
      reserved: formatMoney(money.reserved),
      escrow: formatMoney(money.escrow),
      house: formatMoney(money.house),
      inFlight: formatMoney(money.inFlight),
      difference: formatMoney(money.difference),
    };
  });
}

export function moneyRoutes({ db, exchange }: { db: Database; exchange: Exchange }) {
  const askLedger = async (shard: number): Promise<LedgerReport> => {
    const reply = await exchange.ledger(shard, { kind: "report" }, READ_ONLY);
    if (!reply.ok || reply.kind !== "report") throw new Error(`ledger ${shard} answered without a report`);
    return reply.report;
  };

  const askMarket = async (marketId: string): Promise<MarketReport> => {
    const reply = await exchange.market(marketId, { kind: "report" }, READ_ONLY);
    if (!reply.ok || reply.kind !== "report") throw new Error(`market ${marketId} answered without a report`);
    return reply.report;
  };

  const readSides = async (): Promise<{ actors: Side; postgres: Side }> => {
    const marketIds = (await allMarkets(db, {})).map(({ marketId }) => marketId);
    const markets = await mapInParallel(marketIds, askMarket);
    const shards = Array.from({ length: LEDGER_SHARDS }, (_, shard) => shard);
    const ledgers = await mapInParallel(shards, askLedger);
    return {
      actors: byCurrency((currency) => moneyOf(currency, ledgers, markets)),
      postgres: await money(db),
    };
  };

  const report = route("GET /admin/v1/money", {
    access: operatorWith("read"),
    answer: MoneyReport,
    docs: {
      summary: "Retrieve the money report",
      description:
        "Returns the sums of all money, computed from the live actors and again from Postgres. `agree` is true when both sides are equal and without a difference.",
    },
    run: async () => {
      let sides = await readSides();
      for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
        if (agree(sides.actors, sides.postgres) && quiet(sides.actors)) break;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        sides = await readSides();
      }
      const { actors, postgres } = sides;
      const body = {
        agree: agree(actors, postgres),
        actors: sideOnWire(actors),
        postgres: sideOnWire(postgres),
      };
      return { body };
    },
  });

  return [report];
}
