/** Plans the cancels and placements that make resting orders equal a ladder. Pure functions. */

import { bestOf, type Ladder } from "../recording/ladder.js";
import type { Take } from "../recording/waves.js";

/** Order that the mirror has in the book or has sent to it. */
export interface MirrorOrder {
  readonly orderId: string;
  readonly outcome: number;
  readonly tick: number;
  readonly remaining: number;
}

export interface Placement {
  readonly outcome: number;
  readonly tick: number;
  readonly qty: number;
}

/**
 * Cancels and placements. `places` may be sent together with the cancels; `after` would match an order whose cancel is
 * in progress and must wait for the end of that cancel.
 */
export interface Plan {
  readonly cancels: readonly MirrorOrder[];
  readonly places: readonly Placement[];
  readonly after: readonly Placement[];
}

const NO_OPERATIONS: Plan = { cancels: [], places: [], after: [] };

function bestTick(orders: readonly MirrorOrder[], outcome: number): number {
  return bestOf(new Map(orders.filter((order) => order.outcome === outcome).map(({ tick }) => [tick, 1])));
}

/**
 * Plans one order per price of the ladder: an order with the right remaining quantity stays and keeps its place in the
 * queue; any other order is replaced. `leaving` are the orders whose cancel is in progress.
 */
export function planMirror(
  target: Ladder,
  orders: readonly MirrorOrder[],
  leaving: readonly MirrorOrder[] = [],
): Plan {
  const kept = new Set<string>();
  const cancels: MirrorOrder[] = [];
  for (const order of orders) {
    const key = `${order.outcome} ${order.tick}`;
    const right = order.remaining === (target[order.outcome]?.get(order.tick) ?? 0);
    if (right && !kept.has(key)) kept.add(key);
    else cancels.push(order);
  }
  const ending = [...leaving, ...cancels];
  const opposing = [bestTick(ending, 1), bestTick(ending, 0)];
  const places: Placement[] = [];
  const after: Placement[] = [];
  target.forEach((bids, outcome) => {
    const against = opposing[outcome] ?? 0;
    for (const [tick, qty] of [...bids].sort(([a], [b]) => b - a)) {
      if (kept.has(`${outcome} ${tick}`)) continue;
      const crosses = against > 0 && tick + against >= 1_000;
      (crosses ? after : places).push({ outcome, tick, qty });
    }
  });
  return { cancels, places, after };
}

/** Plans for a paused market, which accepts no placement: cancels of orders whose price has left the ladder. */
export function planPaused(target: Ladder, orders: readonly MirrorOrder[]): Plan {
  const cancels = orders.filter(({ outcome, tick }) => target[outcome]?.has(tick) !== true);
  return { ...NO_OPERATIONS, cancels };
}

/** Lowest price of each outcome's bids that takes can match; `Infinity` where they match none. */
export type Reach = readonly [number, number];

export function reachOf(takes: readonly Take[]): Reach {
  const reach: [number, number] = [Infinity, Infinity];
  for (const { outcome, tick } of takes) {
    const resting = outcome === 0 ? 1 : 0;
    reach[resting] = Math.min(reach[resting], 1_000 - tick);
  }
  return reach;
}

export function isWithin(
  reach: Reach,
  { outcome, tick }: { readonly outcome: number; readonly tick: number },
): boolean {
  return tick >= reach[outcome === 0 ? 0 : 1];
}

/** Returns the orders as they remain after the takes, which match the best price first. */
export function afterTakes(orders: readonly MirrorOrder[], takes: readonly Take[]): MirrorOrder[] {
  const left = new Map(orders.map((order) => [order, order.remaining]));
  const byPrice = [...orders].sort((a, b) => b.tick - a.tick);
  for (const { outcome, tick, qty } of takes) {
    let unfilled = qty;
    for (const order of byPrice) {
      if (order.outcome === outcome || order.tick + tick < 1_000) continue;
      const taken = Math.min(unfilled, left.get(order) ?? 0);
      unfilled -= taken;
      left.set(order, (left.get(order) ?? 0) - taken);
    }
  }
  return orders.flatMap((order) => {
    const remaining = left.get(order) ?? 0;
    return remaining === 0 ? [] : [{ ...order, remaining }];
  });
}

/**
 * Plans the operations that may run beside the takes: those that touch neither a price within their reach nor an order
 * that they may match. The rest is planned again after the takes.
 */
export function planBeside(
  target: Ladder,
  orders: readonly MirrorOrder[],
  leaving: readonly MirrorOrder[],
  takes: readonly Take[],
): Plan {
  const reach = reachOf(takes);
  const plan = planMirror(target, afterTakes(orders, takes), leaving);
  const reached = orders.filter((order) => isWithin(reach, order));
  const mayMatch = ({ outcome, tick }: Placement): boolean => tick + bestTick(reached, 1 - outcome) >= 1_000;
  return {
    cancels: plan.cancels.filter((order) => !isWithin(reach, order)),
    places: plan.places.filter((placement) => !isWithin(reach, placement) && !mayMatch(placement)),
    after: [],
  };
}
