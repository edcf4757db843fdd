/** Prints, last prices and totals, out of the markets' `trade`, `match`, `order` and settlement deltas. */

import type pg from "pg";
import type { MatchDelta, TradeDelta } from "../../actors/market/deltas.js";
import type { Currency } from "../../actors/market/types.js";
import { add, type Millicents, type Ticks, ZERO } from "../../actors/units.js";
import type { Origin } from "./place.js";
import { insertInto, writeRows } from "./rows.js";

interface Print {
  readonly marketId: string;
  readonly delta: TradeDelta;
  readonly origin: Origin;
}

interface LastPrice {
  readonly marketId: string;
  readonly currency: Currency;
  readonly outcome: number;
  readonly price: Ticks;
  readonly ts: number;
}

/** What a batch adds to the totals of a market in one currency. */
interface Totals {
  readonly marketId: string;
  readonly currency: Currency;
  mintedContracts: number;
  escrow: Millicents;
  booked: Millicents;
}

const INSERT_TRADES = insertInto<Print>("trades", {
  market_id: ["uuid", ({ marketId }) => marketId],
  currency: ["text", ({ delta }) => delta.currency],
  ts: ["bigint", ({ origin }) => origin.ts],
  place: ["bigint", ({ origin }) => origin.place],
  trade_id: ["uuid", ({ delta }) => delta.tradeId],
  match_id: ["uuid", ({ delta }) => delta.matchId],
  outcome: ["smallint", ({ delta }) => delta.outcome],
  price: ["smallint", ({ delta }) => delta.price],
  qty: ["integer", ({ delta }) => delta.qty],
});

const UPSERT_LAST_PRICES = insertInto<LastPrice>(
  "last_prices",
  {
    market_id: ["uuid", (last) => last.marketId],
    currency: ["text", (last) => last.currency],
    outcome: ["smallint", (last) => last.outcome],
    price: ["smallint", (last) => last.price],
    ts: ["bigint", (last) => last.ts],
  },
  "on conflict (market_id, currency, outcome) do update set price = excluded.price, ts = excluded.ts",
);

const ADD_TOTALS = insertInto<Totals>(
  "market_totals",
  {
    market_id: ["uuid", (totals) => totals.marketId],
    currency: ["text", (totals) => totals.currency],
    minted_contracts: ["bigint", (totals) => totals.mintedContracts],
    escrow: ["bigint", (totals) => totals.escrow],
    booked: ["bigint", (totals) => totals.booked],
  },
  "on conflict (market_id, currency) do update set " +
    "minted_contracts = market_totals.minted_contracts + excluded.minted_contracts, " +
    "escrow = market_totals.escrow + excluded.escrow, booked = market_totals.booked + excluded.booked",
);

/** What was traded in one batch of entries. */
export class TradingRows {
  readonly #prints: Print[] = [];
  readonly #lasts = new Map<string, LastPrice>();
  readonly #totals = new Map<string, Totals>();

  trade(marketId: string, delta: TradeDelta, origin: Origin): void {
    this.#prints.push({ marketId, delta, origin });
    this.#last(marketId, delta, origin);
  }

  match(marketId: string, delta: MatchDelta, origin: Origin): void {
    this.#last(marketId, delta, origin);
    this.#totalsOf(marketId, delta.currency).mintedContracts += delta.qty;
  }

  /** The market took `amount` into escrow, or paid it out when negative. */
  escrow(marketId: string, currency: Currency, amount: Millicents): void {
    const totals = this.#totalsOf(marketId, currency);
    totals.escrow = add(totals.escrow, amount);
  }

  /** A wallet paid `amount` to the market, or received it when negative. */
  book(marketId: string, currency: Currency, amount: Millicents): void {
    const totals = this.#totalsOf(marketId, currency);
    totals.booked = add(totals.booked, amount);
  }

  async write(client: pg.ClientBase): Promise<void> {
    await writeRows(client, INSERT_TRADES, this.#prints);
    await writeRows(client, UPSERT_LAST_PRICES, [...this.#lasts.values()]);
    await writeRows(client, ADD_TOTALS, [...this.#totals.values()]);
  }

  #last(marketId: string, delta: TradeDelta | MatchDelta, { ts }: Origin): void {
    const { currency, outcome, price } = delta;
    this.#lasts.set(`${marketId} ${currency} ${outcome}`, { marketId, currency, outcome, price, ts });
  }

  #totalsOf(marketId: string, currency: Currency): Totals {
    const key = `${marketId} ${currency}`;
    const known = this.#totals.get(key);
    if (known !== undefined) return known;
    const totals: Totals = { marketId, currency, mintedContracts: 0, escrow: ZERO, booked: ZERO };
    this.#totals.set(key, totals);
    return totals;
  }
}
