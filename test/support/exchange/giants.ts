/** Large states of actors: a ledger shard with many wallets and open orders, and a market with many resting orders. */

import { type ActorId, ledgerActor, marketActor } from "../../../actors/actor.js";
import { ledger } from "../../../actors/ledger/ledger.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import { market } from "../../../actors/market/market.js";
import type { MarketState } from "../../../actors/market/state.js";
import type { Order } from "../../../actors/market/types.js";
import { contracts, millicents, ticks } from "../../../actors/units.js";
import { FEE, marketDefinition } from "./commands.js";

const TS = 1_700_000_000_000;
const MARKETS = 400;

/** Returns an id in the form of a UUID. */
export function idOf(kind: number, n: number): string {
  return `${kind.toString(16).padStart(8, "0")}-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
}

export const GIANT_LEDGER: ActorId = ledgerActor(3);

export function giantWallet(n: number): string {
  return idOf(1, n);
}

/** Returns a shard in which each wallet has a deposit and an equal share of the open orders. */
export function giantLedger(wallets: number, orders: number): LedgerState {
  const state = ledger.create(GIANT_LEDGER);
  for (let n = 0; n < wallets; n += 1) addWallet(state, giantWallet(n));
  for (let n = 0; n < orders; n += 1) addOrder(state, giantWallet(n % wallets), n);
  return state;
}

function addWallet(state: LedgerState, wallet: string): void {
  ledger.evolve(state, { type: "wallet", wallet, trader: wallet }, TS);
  const amount = millicents(1_000_000_000);
  const transactionId = wallet.replace("1", "2");
  const entry = { type: "entry", counterparty: "external", kind: "DEPOSIT", ref: "" } as const;
  ledger.evolve(state, { ...entry, transactionId, wallet, currency: "CASH", amount }, TS);
}

function addOrder(state: LedgerState, wallet: string, n: number): void {
  const marketId = idOf(4, (n * 7 + Math.floor(n / 1_000) * 3) % MARKETS);
  const order = giantOrder(wallet, n);
  ledger.evolve(state, { type: "accepted", wallet, marketId, order, outcomes: 2, voids: "FMV" }, TS);
  const open = { type: "order", kind: "open", seq: n + 1, qty: order.qty } as const;
  ledger.evolve(state, { ...open, wallet, marketId, orderId: order.orderId }, TS);
}

function giantOrder(wallet: string, n: number): Order {
  return {
    orderId: idOf(3, n),
    wallet,
    trader: wallet,
    ledger: 3,
    currency: "CASH",
    outcome: n % 2,
    price: ticks(1 + ((n * 13) % 490)),
    qty: contracts(1 + (n % 900)),
    tif: "GTC",
    selfTrade: "wash",
    fee: FEE,
    feeReserved: true,
    acceptedTs: TS,
  };
}

export const GIANT_MARKET: ActorId = marketActor(idOf(4, 0));

/** Returns an open market with this many resting orders, which do not match each other. */
export function giantMarket(orders: number): MarketState {
  const state = market.create(GIANT_MARKET);
  const definition = marketDefinition({ marketId: idOf(4, 0), fee: FEE });
  market.decide(state, { kind: "create", definition, open: true, live: false }, TS);
  for (let n = 0; n < orders; n += 1) {
    const order = { ...giantOrder(giantWallet(n % 1_000), n), price: ticks(5 + 5 * (n % 90)) };
    market.decide(state, { kind: "enter", order }, TS);
  }
  return state;
}
