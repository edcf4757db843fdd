/** The rows of the markets' deltas: definitions, prints, last prices and totals. Read `take` first. */

import type pg from "pg";
import type { MarketDelta, MatchDelta, OrderDelta, TradeDelta } from "../../actors/market/deltas.js";
import type { Currency } from "../../actors/market/types.js";
import { add, type Millicents, negate, subtract, ZERO } from "../../actors/units.js";
import { unreachable } from "../../actors/unreachable.js";
import { lastPrices, marketTotals, trades } from "../schema/markets.js";
import { DefinitionRows } from "./definitions.js";
import type { Origin } from "./origin.js";
import { insertInto, writeRows } from "./rows.js";

const INSERT_TRADES = insertInto(trades);
const UPSERT_LAST_PRICES = insertInto(lastPrices, "replace");
const ADD_TOTALS = insertInto(marketTotals, "add");

type TotalsRow = typeof marketTotals.$inferSelect;

/** The markets of one batch of entries: their definitions, their trading and their escrow. */
export class MarketRows {
  readonly #definitions = new DefinitionRows();
  readonly #trades: (typeof trades.$inferSelect)[] = [];
  readonly #lastPrices = new Map<string, typeof lastPrices.$inferSelect>();
  /** Amounts to add to the totals of a market. */
  readonly #totals = new Map<string, TotalsRow>();

  /** Adds the rows of a delta. Throws on an unknown kind. */
  take(marketId: string, delta: MarketDelta, origin: Origin): void {
    switch (delta.type) {
      case "created":
      case "configured":
      case "lifecycle":
      case "graded":
      case "remediating":
        this.#definitions.add(marketId, delta, origin);
        return;
      case "trade":
        this.#trade(marketId, delta, origin);
        return;
      case "match":
        this.#match(marketId, delta, origin);
        return;
      case "order":
        this.#takeOrder(marketId, delta);
        return;
      case "payout":
        this.#escrow(marketId, delta.currency, negate(delta.amount));
        return;
      case "reversal":
        this.#escrow(marketId, delta.currency, delta.amount);
        return;
      case "book":
      case "bbo":
      case "position":
      case "locked":
      case "skipped":
        return;
      default:
        unreachable(delta);
    }
  }

  /** Adds a fill to the escrow of the market. The order itself is projected from its ledger's deltas. */
  #takeOrder(marketId: string, delta: OrderDelta): void {
    switch (delta.kind) {
      case "fill":
        this.#escrow(marketId, delta.currency, subtract(delta.cost, delta.payout));
        return;
      case "hold":
      case "open":
      case "reduce":
      case "cancel":
      case "reject":
        return;
      default:
        unreachable(delta);
    }
  }

  #trade(marketId: string, delta: TradeDelta, { ts, place, seq }: Origin): void {
    const { currency, tradeId, matchId, outcome, price, qty } = delta;
    const taker = { takerOutcome: null, takerPrice: null };
    this.#trades.push({
      marketId,
      currency,
      ts,
      place,
      seq,
      tradeId,
      matchId,
      outcome,
      price,
      qty,
      ...taker,
    });
    this.#executed(marketId, delta, ts);
  }

  #match(marketId: string, delta: MatchDelta, { ts }: Origin): void {
    this.#executed(marketId, delta, ts);
    // A match follows its prints in the same batch of deltas.
    const print = this.#trades.at(-1);
    if (print?.marketId !== marketId) throw new Error("the match has no print");
    print.takerOutcome = delta.outcome;
    print.takerPrice = delta.price;
    this.#totalsOf(marketId, delta.currency).mintedContracts += delta.qty;
  }

  /** Adds what the market took into escrow; a negative amount is what it paid out. */
  #escrow(marketId: string, currency: Currency, amount: Millicents): void {
    const totals = this.#totalsOf(marketId, currency);
    totals.escrow = add(totals.escrow, amount);
  }

  /** Adds what a wallet paid to the market; a negative amount is what it received. */
  book(marketId: string, currency: Currency, amount: Millicents): void {
    const totals = this.#totalsOf(marketId, currency);
    totals.booked = add(totals.booked, amount);
  }

  /** Markets whose definition, status or grade changes. */
  get changed(): readonly string[] {
    return this.#definitions.marketIds;
  }

  async write(client: pg.Client): Promise<void> {
    await this.#definitions.write(client);
    await writeRows(client, INSERT_TRADES, this.#trades);
    await writeRows(client, UPSERT_LAST_PRICES, [...this.#lastPrices.values()]);
    await this.writeTotals(client);
  }

  async writeTotals(client: pg.ClientBase): Promise<void> {
    // The market and the ledgers of its traders may be of several projectors. All lock the rows in one order.
    const totals = [...this.#totals].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    await writeRows(client, ADD_TOTALS, totals);
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
