/** Prints, last prices and totals, from the markets' `trade`, `match`, `order` and settlement deltas. */

import type pg from "pg";
import type { MatchDelta, TradeDelta } from "../../actors/market/deltas.js";
import type { Currency } from "../../actors/market/types.js";
import { add, type Millicents, ZERO } from "../../actors/units.js";
import { lastPrices, marketTotals, trades } from "../schema/markets.js";
import type { Origin } from "./origin.js";
import { insertInto, writeRows } from "./rows.js";

const INSERT_TRADES = insertInto(trades);
const UPSERT_LAST_PRICES = insertInto(lastPrices, "replace");
const ADD_TOTALS = insertInto(marketTotals, "add");

type TotalsRow = typeof marketTotals.$inferSelect;

/** The trading of one batch of entries. */
export class TradingRows {
  readonly #trades: (typeof trades.$inferSelect)[] = [];
  readonly #lastPrices = new Map<string, typeof lastPrices.$inferSelect>();
  /** Amounts to add to the totals of a market. */
  readonly #totals = new Map<string, TotalsRow>();

  trade(marketId: string, delta: TradeDelta, { ts, place }: Origin): void {
    const { currency, tradeId, matchId, outcome, price, qty } = delta;
    this.#trades.push({ marketId, currency, ts, place, tradeId, matchId, outcome, price, qty });
    this.#executed(marketId, delta, ts);
  }

  match(marketId: string, delta: MatchDelta, { ts }: Origin): void {
    this.#executed(marketId, delta, ts);
    this.#totalsOf(marketId, delta.currency).mintedContracts += delta.qty;
  }

  /** Adds what the market took into escrow; a negative amount is what it paid out. */
  escrow(marketId: string, currency: Currency, amount: Millicents): void {
    const totals = this.#totalsOf(marketId, currency);
    totals.escrow = add(totals.escrow, amount);
  }

  /** Adds what a wallet paid to the market; a negative amount is what it received. */
  book(marketId: string, currency: Currency, amount: Millicents): void {
    const totals = this.#totalsOf(marketId, currency);
    totals.booked = add(totals.booked, amount);
  }

  async write(client: pg.ClientBase): Promise<void> {
    await writeRows(client, INSERT_TRADES, this.#trades);
    await writeRows(client, UPSERT_LAST_PRICES, [...this.#lastPrices.values()]);
    await writeRows(client, ADD_TOTALS, [...this.#totals.values()]);
  }

  #executed(marketId: string, { currency, outcome, price }: TradeDelta | MatchDelta, ts: number): void {
    this.#lastPrices.set(`${marketId} ${currency} ${outcome}`, { marketId, currency, outcome, price, ts });
  }

  #totalsOf(marketId: string, currency: Currency): TotalsRow {
    const key = `${marketId} ${currency}`;
    const known = this.#totals.get(key);
    if (known !== undefined) return known;
    const totals: TotalsRow = { marketId, currency, mintedContracts: 0, escrow: ZERO, booked: ZERO };
    this.#totals.set(key, totals);
    return totals;
  }
}
