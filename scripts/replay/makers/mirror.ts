/** Plays waves: the takers trade, then the makers place and cancel until their orders equal the recorded ladder. */

import { formatPrice, parsePrice, ticks } from "../../../actors/units.js";
import type { PlaceOrder } from "../../../http/client/wire/orders.js";
import { uuidOf, type ReplaySetUp } from "../set-up.js";
import type { Bids, Ladder } from "../recording/ladder.js";
import {
  isWithin,
  planBeside,
  planMirror,
  planPaused,
  reachOf,
  type MirrorOrder,
  type Placement,
  type Reach,
} from "./plan.js";
import type { Random } from "../random.js";
import { remainingOf, type TrackedOrder, type Trader } from "./trader.js";
import type { Take, Wave } from "../recording/waves.js";

const EVERYTHING: Reach = [0, 0];

function tickOf(order: TrackedOrder): number {
  return parsePrice(order.request?.price ?? "") ?? 0;
}

/**
 * Mirror of the recorded ladder by the makers' orders. A wave waits for the acceptance of its orders, because a later
 * cancel needs their ids. Only operations that depend on it wait for the end of a placement or cancel: takes that reach
 * the price, placements that would match the order, and checks.
 */
export class Mirror {
  readonly #setUp: ReplaySetUp;
  readonly #random: Random;
  /** Orders whose cancel is in progress, each with a promise that resolves at its end. */
  readonly #leaving = new Map<string, { readonly order: MirrorOrder; readonly gone: Promise<void> }>();
  #failure: Error | undefined;
  #suspended = false;
  #ids = 0;
  /** Contracts that the takers bought, by the outcome of the bids that they matched. */
  readonly #taken: [number, number] = [0, 0];
  /** Number of takes that filled less than the recording shows. */
  shortTakes = 0;

  constructor(setUp: ReplaySetUp, random: Random) {
    this.#setUp = setUp;
    this.#random = random;
  }

  get suspended(): boolean {
    return this.#suspended;
  }

  /** Suspends the mirror: a paused market accepts only cancels. */
  setSuspended(suspended: boolean): void {
    this.#suspended = suspended;
  }

  /** Plays one wave; resolves when the next wave may start. */
  async play({ target, takes }: Wave): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#suspended) {
      this.#cancel(planPaused(target, this.#resting()).cancels);
      return;
    }
    if (takes.length > 0) {
      await this.#untilQuiet(reachOf(takes));
      const beside = planBeside(target, this.#resting(), this.#leavingOrders(), takes);
      this.#cancel(beside.cancels);
      await Promise.all([this.#take(takes), this.#place(beside.places)]);
    }
    const { cancels, places, after } = planMirror(target, this.#resting(), this.#leavingOrders());
    this.#cancel(cancels);
    await this.#place(places);
    if (after.length > 0) {
      await Promise.all([...this.#leaving.values()].map(({ gone }) => gone));
      await this.#place(after);
    }
  }

  /** Waits until every order rests or has ended, and every cancel has taken effect. */
  async untilQuiet(): Promise<void> {
    await this.#untilQuiet(EVERYTHING);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits until the stream has reported the end of every order that the exchange canceled by itself. */
  async untilEmpty(): Promise<void> {
    await Promise.all(this.#setUp.makers.map((maker) => maker.untilEnded(maker.live())));
  }

  /** Returns the ladder of the makers' resting orders as their streams report them. */
  ladder(): Ladder {
    const bids: [Map<number, number>, Map<number, number>] = [
      new Map<number, number>(),
      new Map<number, number>(),
    ];
    for (const { outcome, tick, remaining } of this.#resting()) {
      const levels = bids[outcome === 0 ? 0 : 1];
      levels.set(tick, (levels.get(tick) ?? 0) + remaining);
    }
    return bids satisfies readonly [Bids, Bids];
  }

  /** Returns the makers' orders without those whose cancel is in progress. */
  #resting(): MirrorOrder[] {
    return this.#setUp.makers.flatMap((maker, outcome) =>
      maker
        .live()
        .filter(({ orderId, request }) => request !== undefined && !this.#leaving.has(orderId))
        .map((order) => ({
          orderId: order.orderId,
          outcome,
          tick: tickOf(order),
          remaining: remainingOf(order),
        })),
    );
  }

  #leavingOrders(): MirrorOrder[] {
    return [...this.#leaving.values()].map(({ order }) => order);
  }

  /** Waits for the placements and cancels in progress at the prices within reach. */
  async #untilQuiet(reach: Reach): Promise<void> {
    const leaving = [...this.#leaving.values()].filter(({ order }) => isWithin(reach, order));
    const entering = this.#setUp.makers.map((maker, outcome) =>
      maker.untilEntered(maker.live().filter((order) => isWithin(reach, { outcome, tick: tickOf(order) }))),
    );
    await Promise.all([...leaving.map(({ gone }) => gone), ...entering]);
  }

  /** Sends the takes from one taker, so that they reach the market in their order. */
  async #take(takes: readonly Take[]): Promise<void> {
    const taker = this.#random.pick(this.#setUp.takers);
    const orders = await taker.place(
      takes.map(({ outcome, tick, qty }) => this.#order(outcome, tick, qty, "IOC")),
    );
    await taker.untilEnded(orders);
    for (const order of orders) {
      if (order.status !== "FILLED") this.shortTakes += 1;
      this.#taken[order.request?.outcomeId === this.#setUp.outcomeIds[0] ? 1 : 0] += order.filled;
    }
    await Promise.all(
      this.#setUp.makers.map((maker, outcome) => maker.untilFilled(this.#taken[outcome] ?? 0)),
    );
  }

  /** Sends cancels without waiting for their end. */
  #cancel(cancels: readonly MirrorOrder[]): void {
    this.#setUp.makers.forEach((maker, outcome) => {
      const own = cancels.filter((order) => order.outcome === outcome);
      if (own.length === 0) return;
      const ids = new Set(own.map(({ orderId }) => orderId));
      const gone = this.#cancelOf(maker, ids);
      for (const order of own) this.#leaving.set(order.orderId, { order, gone });
    });
  }

  async #cancelOf(maker: Trader, ids: ReadonlySet<string>): Promise<void> {
    const orders = maker.live().filter(({ orderId }) => ids.has(orderId));
    try {
      await maker.cancel(orders);
      await maker.untilEnded(orders);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
    } finally {
      for (const orderId of ids) this.#leaving.delete(orderId);
    }
  }

  async #place(placements: readonly Placement[]): Promise<void> {
    await Promise.all(
      this.#setUp.makers.map(async (maker, outcome) => {
        const own = placements.filter((placement) => placement.outcome === outcome);
        if (own.length === 0) return;
        await maker.place(own.map(({ tick, qty }) => this.#order(outcome, tick, qty, "PO")));
      }),
    );
  }

  /** Returns an order. Makers post only: a maker's order that would match is an error of the mirror, and must not trade. */
  #order(outcome: number, tick: number, qty: number, tif: "IOC" | "PO"): PlaceOrder {
    this.#ids += 1;
    return {
      outcomeId: this.#setUp.outcomeIds[outcome === 0 ? 0 : 1],
      price: formatPrice(ticks(tick)),
      qty,
      tif,
      clientId: uuidOf(this.#setUp.market.marketId, this.#ids),
    };
  }
}
