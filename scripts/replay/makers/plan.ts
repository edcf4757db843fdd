/** What a mirror has to do so that its resting orders equal a ladder. Pure: a ladder and orders in, operations out. */

import { bestOf, type Ladder } from "../recording/ladder.js";
import type { Take } from "../recording/waves.js";

/** An order that the mirror has in the book, or that is on its way there. */
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
 * Cancels and placements. `places` can go out together with the cancels; `after` would match an order that is on its
 * way out and has to wait until it is gone.
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
 * Makes the orders equal the ladder with one order per price: an order whose remaining quantity is right stays and
 * keeps its place in the queue, any other is replaced. `leaving` are orders whose cancel is under way.
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
  const going = [...leaving, ...cancels];
  const opposing = [bestTick(going, 1), bestTick(going, 0)];
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

/** While nothing can be placed (the market is paused): cancels of what the ladder no longer has at all. */
export function planPaused(target: Ladder, orders: readonly MirrorOrder[]): Plan {
  const cancels = orders.filter(({ outcome, tick }) => target[outcome]?.has(tick) !== true);
  return { ...NO_OPERATIONS, cancels };
}

/** The lowest price of each outcome's bids that takes reach down to; `Infinity` where they take none. */
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

/** The orders as the takes will leave them, best price first. */
export function afterTakes(orders: readonly MirrorOrder[], takes: readonly Take[]): MirrorOrder[] {
  const left = new Map(orders.map((order) => [order, order.remaining]));
  const byPrice = [...orders].sort((a, b) => b.tick - a.tick);
  for (const { outcome, tick, qty } of takes) {
    let wanted = qty;
    for (const order of byPrice) {
      if (order.outcome === outcome || order.tick + tick < 1_000) continue;
      const taken = Math.min(wanted, left.get(order) ?? 0);
      wanted -= taken;
      left.set(order, (left.get(order) ?? 0) - taken);
    }
  }
  return orders.flatMap((order) => {
    const remaining = left.get(order) ?? 0;
    return remaining === 0 ? [] : [{ ...order, remaining }];
  });
}

/**
 * What of the way to the ladder can be done while the takes are under way: all that touches neither the prices they
 * reach nor an order that they may meet. The rest is planned again when they are done.
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
  const meets = ({ outcome, tick }: Placement): boolean => tick + bestTick(reached, 1 - outcome) >= 1_000;
  return {
    cancels: plan.cancels.filter((order) => !isWithin(reach, order)),
    places: plan.places.filter((placement) => !isWithin(reach, placement) && !meets(placement)),
    after: [],
  };
}
