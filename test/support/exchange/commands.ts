/** Markets, orders and deposits of tests. Every test changes only the fields that it is about. */

import { randomUUID } from "node:crypto";
import type { LedgerCommand } from "../../../actors/ledger/commands.js";
import type { MarketTerms, OrderRequest } from "../../../actors/ledger/types.js";
import type { MarketCommand } from "../../../actors/market/commands.js";
import type { FeeSchedule, MarketDefinition } from "../../../actors/market/types.js";
import { contracts, millicents, ticks, type Ticks } from "../../../actors/units.js";

/** Tick table of the specification. */
export const GRID: readonly Ticks[] = [
  ...Array.from({ length: 50 }, (_, i) => i + 1),
  ...Array.from({ length: 179 }, (_, i) => 55 + 5 * i),
  ...Array.from({ length: 50 }, (_, i) => 950 + i),
].map(ticks);

export const FREE: FeeSchedule = { coefficientPpm: 0, makerCreditPpm: 0, charged: "ALWAYS" };
export const FEE: FeeSchedule = { coefficientPpm: 60_000, makerCreditPpm: 500_000, charged: "ALWAYS" };

/** Changes of a market; `outcomes` are their names, or their number, which is two by default. */
export type MarketChanges = Partial<Omit<MarketDefinition, "outcomes">> & {
  readonly outcomes?: number | readonly string[];
};

/** Returns a market without fees on the tick table of the specification, with new ids. */
export function marketDefinition(
  { outcomes = 2, ...changes }: MarketChanges = {},
  newId: () => string = randomUUID,
): MarketDefinition {
  const { marketId = newId(), eventId = newId() } = changes;
  const names =
    typeof outcomes === "number" ? Array.from({ length: outcomes }, (_, n) => `outcome ${n}`) : outcomes;
  return {
    marketId,
    eventId,
    marketType: "MONEY",
    description: "who wins",
    voids: "FMV",
    outcomes: names.map((name) => ({ outcomeId: newId(), name })),
    fee: FREE,
    liveDelayMs: 0,
    ticks: GRID,
    ...changes,
  };
}

/** Returns the command that creates a market, open unless the test says otherwise. */
export function createMarket(definition: MarketDefinition, open = true): MarketCommand {
  return { kind: "create", definition, open, live: false };
}

/** Returns the terms of a market that an order names. */
export function termsOf({ marketId, outcomes, voids, fee }: MarketDefinition, live = false): MarketTerms {
  return { marketId, outcomes: outcomes.length, voids, fee, live };
}

/** Order of a test: a GTC order in CASH unless the test says otherwise. */
export interface TestOrder extends Partial<Omit<OrderRequest, "outcome" | "price" | "qty">> {
  readonly outcome: number;
  readonly price: number;
  readonly qty: number;
}

/** Returns an order of `price` ticks and `qty` contracts on a market, with a new id. */
export function orderRequest(definition: MarketDefinition, order: TestOrder): OrderRequest {
  return {
    orderId: randomUUID(),
    terms: termsOf(definition),
    currency: "CASH",
    tif: "GTC",
    selfTrade: "wash",
    ...order,
    price: ticks(order.price),
    qty: contracts(order.qty),
  };
}

/** Returns the placement of one order from the trader's own wallet, or from `wallet`. */
export function placement(
  trader: string,
  order: OrderRequest,
  wallet = trader,
): Extract<LedgerCommand, { kind: "place" }> {
  return { kind: "place", wallet, trader, orders: [order], atomic: false };
}

type Transaction = Extract<LedgerCommand, { kind: "transact" }>;

/** Returns a deposit into the trader's own wallet, in $0.00001, in CASH unless the test says otherwise. */
export function deposit(trader: string, amount: number, changes: Partial<Transaction> = {}): Transaction {
  return {
    kind: "transact",
    transactionId: randomUUID(),
    transaction: "DEPOSIT",
    wallet: trader,
    trader,
    currency: "CASH",
    amount: millicents(amount),
    ref: "test",
    ...changes,
  };
}
