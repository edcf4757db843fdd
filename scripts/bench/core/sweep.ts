/** Measures one order that fills against 1,000 of 100,000 resting orders in a market of 64 outcomes. */

import { market } from "../../../actors/market/market.js";
import type { MarketState } from "../../../actors/market/state.js";
import type { Order } from "../../../actors/market/types.js";
import { ticks } from "../../../actors/units.js";
import { openMarket, orderOf } from "./actor.js";
import { median, type Row } from "../table.js";

const OUTCOMES = 64;
const RESTING = 100_000;
const FILLS = 1_000;
const FREE = { coefficientPpm: 0, makerCreditPpm: 0, charged: "ALWAYS" } as const;
const GRID = Array.from({ length: 999 }, (_, i) => ticks(i + 1));

function order(n: number, outcome: number, priceTicks: number, qty: number): Order {
  const bid = {
    orderId: `order-${n}`,
    wallet: `wallet-${n % 997}`,
    priceTicks,
    qty,
    crosses: false,
  } as const;
  return { ...orderOf({ kind: "add", outcome: 0, ...bid }), outcome, fee: FREE };
}

/** Returns a market with bids of 1 to 15 ticks on every outcome but the first; 63 best bids of 15 match a bid of 55. */
function filledMarket(): MarketState {
  const outcomes = Array.from({ length: OUTCOMES }, (_, i) => ({
    outcomeId: `outcome-${i}`,
    name: `outcome ${i}`,
  }));
  const state = openMarket({ outcomes, fee: FREE, ticks: GRID });
  for (let n = 0; n < RESTING; n += 1) {
    market.decide(state, { kind: "enter", order: order(n, 1 + (n % (OUTCOMES - 1)), 1 + (n % 15), 1) }, 0);
  }
  return state;
}

/** Returns the time of one such order in ms, the median over several new books. */
export function sweeping(runs = 5): Row[] {
  const times = Array.from({ length: runs }, () => {
    const state = filledMarket();
    const taker = order(RESTING, 0, 999, Math.ceil(FILLS / (OUTCOMES - 1)));
    const start = performance.now();
    const { deltas } = market.decide(
      state,
      { kind: "enter", order: { ...taker, wallet: "taker", trader: "taker" } },
      0,
    );
    const time = performance.now() - start;
    const fills = deltas.filter((delta) => delta.type === "trade").length;
    if (fills < FILLS) throw new Error(`the order filled against ${fills} resting orders, not ${FILLS}`);
    return time;
  });
  const measure = `${FILLS} fills`;
  return [
    { bench: `sweep, ${OUTCOMES} outcomes, ${RESTING} resting`, measure, figure: median(times), unit: "ms" },
  ];
}
