/** Plays waves: takers take, and the makers' resting orders are made to equal the recorded ladder. */

import { formatPrice, parsePrice, ticks } from "../../../actors/units.js";
import type { PlaceOrder } from "../../../http/client/wire.js";
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
 * An acceptance is waited for before the next wave, because a later cancel needs the order's id. That an order has
 * come to rest, or that a cancel is through, is waited for only by what depends on it: takes that reach its price,
 * placements that would match it, and checked moments.
 */
export class Mirror {
  readonly #stage: ReplaySetUp;
  readonly #random: Random;
  /** Orders whose cancel is under way, with what tells that they are gone. */
  readonly #leaving = new Map<string, { readonly order: MirrorOrder; readonly gone: Promise<void> }>();
  #failure: Error | undefined;
  #suspended = false;
  #ids = 0;
  /** Contracts that the takers bought, by the outcome whose bids they took. */
  readonly #taken: [number, number] = [0, 0];
  /** Takes that did not find what the recording had promised. */
  shortTakes = 0;

  constructor(stage: ReplaySetUp, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  get suspended(): boolean {
    return this.#suspended;
  }

  /** While the market is paused only cancels go out. */
  setSuspended(suspended: boolean): void {
    this.#suspended = suspended;
  }

  /** Plays one wave, and returns when what comes after it can build on it. */
  async play({ target, takes }: Wave): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#suspended) {
      this.#cancel(planPaused(target, this.#resting()).cancels);
      return;
    }
    if (takes.length > 0) {
      await this.#quiet(reachOf(takes));
      const beside = planBeside(target, this.#resting(), this.#going(), takes);
      this.#cancel(beside.cancels);
      await Promise.all([this.#take(takes), this.#place(beside.places)]);
    }
    const { cancels, places, after } = planMirror(target, this.#resting(), this.#going());
    this.#cancel(cancels);
    await this.#place(places);
    if (after.length > 0) {
      await Promise.all([...this.#leaving.values()].map(({ gone }) => gone));
      await this.#place(after);
    }
  }

  /** Waits until every order rests or is over, and every cancel is through. */
  async quiet(): Promise<void> {
    await this.#quiet(EVERYTHING);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits until orders that the exchange canceled by itself are known to be gone. */
  async untilEmpty(): Promise<void> {
    await Promise.all(this.#stage.makers.map((maker) => maker.untilOver(maker.live())));
  }

  /** What rests by our own account. */
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

  /** The makers' orders but for those on their way out. */
  #resting(): MirrorOrder[] {
    return this.#stage.makers.flatMap((maker, outcome) =>
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

  #going(): MirrorOrder[] {
    return [...this.#leaving.values()].map(({ order }) => order);
  }

  /** Waits for all that is under way at the prices within reach. */
  async #quiet(reach: Reach): Promise<void> {
    const leaving = [...this.#leaving.values()].filter(({ order }) => isWithin(reach, order));
    const entering = this.#stage.makers.map((maker, outcome) =>
      maker.untilEntered(maker.live().filter((order) => isWithin(reach, { outcome, tick: tickOf(order) }))),
    );
    await Promise.all([...leaving.map(({ gone }) => gone), ...entering]);
  }

  /** One taker a wave, so that its orders reach the market in their order. */
  async #take(takes: readonly Take[]): Promise<void> {
    const taker = this.#random.pick(this.#stage.takers);
    const orders = await taker.place(
      takes.map(({ outcome, tick, qty }) => this.#order(outcome, tick, qty, "IOC")),
    );
    await taker.untilOver(orders);
    for (const order of orders) {
      if (order.status !== "FILLED") this.shortTakes += 1;
      this.#taken[order.request?.outcomeId === this.#stage.outcomeIds[0] ? 1 : 0] += order.filled;
    }
    await Promise.all(
      this.#stage.makers.map((maker, outcome) => maker.untilFilled(this.#taken[outcome] ?? 0)),
    );
  }

  /** Sends cancels on their way. */
  #cancel(cancels: readonly MirrorOrder[]): void {
    this.#stage.makers.forEach((maker, outcome) => {
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
      await maker.untilOver(orders);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
    } finally {
      for (const orderId of ids) this.#leaving.delete(orderId);
    }
  }

  async #place(placements: readonly Placement[]): Promise<void> {
    await Promise.all(
      this.#stage.makers.map(async (maker, outcome) => {
        const own = placements.filter((placement) => placement.outcome === outcome);
        if (own.length === 0) return;
        await maker.place(own.map(({ tick, qty }) => this.#order(outcome, tick, qty, "PO")));
      }),
    );
  }

  /** Makers post only: an order of theirs that would match is a mistake of the mirror, and must not trade. */
  #order(outcome: number, tick: number, qty: number, tif: "IOC" | "PO"): PlaceOrder {
    this.#ids += 1;
    return {
      outcomeId: this.#stage.outcomeIds[outcome === 0 ? 0 : 1],
      price: formatPrice(ticks(tick)),
      qty,
      tif,
      clientId: uuidOf(this.#stage.market.marketId, this.#ids),
    };
  }
}
