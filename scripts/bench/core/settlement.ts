/** Measures the settlement of a market with 200,000 positions: the time of each batch in the actor. */

import { marketActor } from "../../../actors/actor.js";
import { market } from "../../../actors/market/market.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import { contracts, millicents, ticks } from "../../../actors/units.js";
import { WALLETS_PER_COMMAND } from "../../../stream/jobs/settlement.js";
import { MARKET_ID, openMarket } from "./actor.js";
import { median, type Row } from "../table.js";

const POSITIONS = 200_000;

/** Yields the deltas of one contract per wallet, bought at one half, half of the wallets on each outcome. */
function* bought(): Generator<MarketDelta> {
  for (let n = 0; n < POSITIONS; n += 1) {
    const position = { wallet: `wallet-${n}`, ledger: n % 16, currency: "CASH", outcome: n % 2 } as const;
    const cost = millicents(500);
    yield { type: "position", ...position, qty: contracts(1), cost };
    const fill = { type: "order", kind: "fill", orderId: `order-${n}`, fillId: "", matchId: "" } as const;
    const terms = { price: ticks(500), qty: contracts(1), remaining: contracts(0), wash: false } as const;
    const nothing = { payout: millicents(0), fee: millicents(0), credit: millicents(0) };
    yield { ...fill, ...position, ...terms, ...nothing, cost, taker: true };
  }
}

/** Returns the time of each batch of one settlement in ms: the decision and the messages to the ledgers. */
function settle(): number[] {
  const id = marketActor(MARKET_ID);
  const state = openMarket();
  for (const delta of bought()) market.evolve(state, delta, 0);
  market.decide(state, { kind: "grade", settlementId: "", grade: { kind: "WINNER", outcome: 0 } }, 0);
  const times: number[] = [];
  while (state.status !== "SETTLED") {
    const start = performance.now();
    const { deltas } = market.decide(state, { kind: "settle", limit: WALLETS_PER_COMMAND }, 0);
    market.route(id, { ts: 0, deltas });
    times.push(performance.now() - start);
  }
  if (times.length !== Math.ceil(POSITIONS / WALLETS_PER_COMMAND))
    throw new Error("the settlement skipped wallets");
  return times;
}

export function settling(runs = 3): Row[] {
  const bench = `settlement, ${POSITIONS} positions, ${WALLETS_PER_COMMAND} a batch`;
  const times = Array.from({ length: runs }, settle);
  const longest = median(times.map((run) => Math.max(...run)));
  return [
    { bench, measure: "a batch", figure: median(times.flat()), unit: "ms" },
    { bench, measure: "the longest batch", figure: longest, unit: "ms" },
  ];
}
