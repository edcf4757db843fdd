/** What a mirror has to do so that its resting orders equal a ladder. Pure: a ladder and orders in, operations out. */

import { bestOf, type Ladder } from "./ladder.js";

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
 * Cancels and placements by outcome. `places` can go out together with the cancels; `after` would match an order
 * that is being canceled and has to wait until the cancels are done.
 */
export interface Plan {
  readonly cancels: readonly MirrorOrder[];
  readonly places: readonly Placement[];
  readonly after: readonly Placement[];
}

/**
 * Makes the orders equal the ladder with one order per price: an order whose remaining quantity is right stays and
 * keeps its place in the queue, any other is replaced. With `placing` off (the market is paused) it only cancels what
 * the ladder no longer has at all.
 */
export function planMirror(target: Ladder, orders: Iterable<MirrorOrder>, placing = true): Plan {
  const kept = new Set<string>();
  const cancels: MirrorOrder[] = [];
  for (const order of orders) {
    const key = `${order.outcome} ${order.tick}`;
    const wanted = target[order.outcome]?.get(order.tick) ?? 0;
    const right = placing ? order.remaining === wanted : wanted > 0;
    if (right && !kept.has(key)) kept.add(key);
    else cancels.push(order);
  }
  if (!placing) return { cancels, places: [], after: [] };
  const leaving = [0, 1].map((outcome) =>
    bestOf(new Map(cancels.filter((order) => order.outcome === outcome).map(({ tick }) => [tick, 1]))),
  );
  const places: Placement[] = [];
  const after: Placement[] = [];
  target.forEach((bids, outcome) => {
    const opposing = leaving[1 - outcome] ?? 0;
    const sorted = [...bids].sort(([a], [b]) => b - a);
    for (const [tick, qty] of sorted) {
      if (kept.has(`${outcome} ${tick}`)) continue;
      const crosses = opposing > 0 && tick + opposing >= 1_000;
      (crosses ? after : places).push({ outcome, tick, qty });
    }
  });
  return { cancels, places, after };
}
