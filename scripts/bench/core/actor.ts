/** Market actor of the benches, and the commands of their flow of orders. */

import { marketActor } from "../../../actors/actor.js";
import type { MarketCommand } from "../../../actors/market/commands.js";
import { market } from "../../../actors/market/market.js";
import type { MarketState } from "../../../actors/market/state.js";
import type { MarketDefinition, Order } from "../../../actors/market/types.js";
import { contracts, ticks } from "../../../actors/units.js";
import type { Add, Operation } from "./flow.js";

export const MARKET_ID = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
export const FEE = { coefficientPpm: 30_000, makerCreditPpm: 500_000, charged: "ALWAYS" } as const;
export const GRID = Array.from({ length: 199 }, (_, i) => ticks(5 * (i + 1)));
export const OUTCOME_IDS = ["00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"];

/** Returns an open market; default: two outcomes and the fee of games. */
export function openMarket(
  terms: Partial<Pick<MarketDefinition, "outcomes" | "fee" | "ticks">> = {},
): MarketState {
  const state = market.create(marketActor(MARKET_ID));
  const definition = {
    marketId: MARKET_ID,
    eventId: MARKET_ID,
    marketType: "MONEY",
    description: "bench",
    voids: "FMV",
    outcomes: OUTCOME_IDS.map((outcomeId) => ({ outcomeId, name: outcomeId })),
    fee: FEE,
    liveDelayMs: 0,
    ticks: GRID,
    ...terms,
  } as const;
  market.decide(state, { kind: "create", definition, open: true, live: false }, 0);
  return state;
}

export function orderOf({ orderId, wallet, outcome, priceTicks, qty, crosses }: Add): Order {
  return {
    orderId,
    wallet,
    trader: wallet,
    ledger: 0,
    currency: "CASH",
    outcome,
    price: ticks(priceTicks),
    qty: contracts(qty),
    tif: crosses ? "IOC" : "GTC",
    selfTrade: "wash",
    fee: FEE,
    feeReserved: true,
    acceptedTs: 0,
  };
}

export function commandOf(operation: Operation): MarketCommand {
  return operation.kind === "cancel"
    ? { kind: "cancel", orderIds: [operation.orderId] }
    : { kind: "enter", order: orderOf(operation) };
}
