/** Plays waves: takers take, then the makers' resting orders are made to equal the recorded ladder. */

import { formatPrice, parsePrice, ticks } from "../../actors/units.js";
import type { PlaceOrder } from "../../http/client/wire.js";
import { uuidOf, type Stage } from "./cast.js";
import type { Bids, Ladder } from "./ladder.js";
import { planMirror, type MirrorOrder, type Placement } from "./plan.js";
import type { Random } from "./random.js";
import { isOver, remainingOf, type TrackedOrder, type Trader } from "./trader.js";
import type { Take, Wave } from "./waves.js";

function tickOf(order: TrackedOrder): number {
  return parsePrice(order.request?.price ?? "") ?? 0;
}

export class Mirror {
  readonly #stage: Stage;
  readonly #random: Random;
  #suspended = false;
  #ids = 0;
  /** Contracts that the takers bought, by the outcome whose bids they took. */
  readonly #taken: [number, number] = [0, 0];
  /** Takes that did not find what the recording had promised. */
  shortTakes = 0;

  constructor(stage: Stage, random: Random) {
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

  /** Plays one wave, and returns when every order of it rests or is over. */
  async play(wave: Wave): Promise<void> {
    if (wave.takes.length > 0) await this.#take(wave.takes);
    const plan = planMirror(wave.target, this.#mirrorOrders(), !this.#suspended);
    await Promise.all([this.#cancel(plan.cancels), this.#place(plan.places)]);
    await this.#place(plan.after);
  }

  /** Waits until orders that the exchange canceled by itself are known to be gone. */
  async untilEmpty(): Promise<void> {
    await Promise.all(this.#stage.makers.map((maker) => maker.untilOver(maker.live())));
  }

  /** What rests by our own account. */
  ladder(): Ladder {
    const bids = this.#stage.makers.map((maker) => {
      const levels = new Map<number, number>();
      for (const order of maker.live()) {
        const tick = tickOf(order);
        levels.set(tick, (levels.get(tick) ?? 0) + remainingOf(order));
      }
      return levels;
    });
    const [first, second] = bids;
    const none: Bids = new Map<number, number>();
    return [first ?? none, second ?? none];
  }

  #mirrorOrders(): MirrorOrder[] {
    return this.#stage.makers.flatMap((maker, outcome) =>
      maker.live().map((order) => ({
        orderId: order.orderId,
        outcome,
        tick: tickOf(order),
        remaining: remainingOf(order),
      })),
    );
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
      const outcome = order.request?.outcomeId === this.#stage.outcomeIds[0] ? 1 : 0;
      this.#taken[outcome] += order.filled;
    }
    await Promise.all(
      this.#stage.makers.map((maker, outcome) => maker.untilFilled(this.#taken[outcome] ?? 0)),
    );
  }

  async #cancel(cancels: readonly MirrorOrder[]): Promise<void> {
    await this.#eachMaker(async (maker, outcome) => {
      const ids = new Set(cancels.filter((order) => order.outcome === outcome).map(({ orderId }) => orderId));
      const orders = maker.live().filter(({ orderId }) => ids.has(orderId));
      if (orders.length === 0) return;
      await maker.cancel(orders);
      await maker.untilOver(orders);
    });
  }

  async #place(placements: readonly Placement[]): Promise<void> {
    await this.#eachMaker(async (maker, outcome) => {
      const own = placements.filter((placement) => placement.outcome === outcome);
      if (own.length === 0) return;
      const orders = await maker.place(own.map(({ tick, qty }) => this.#order(outcome, tick, qty, "PO")));
      await maker.untilEntered(orders.filter((order) => !isOver(order)));
    });
  }

  async #eachMaker(work: (maker: Trader, outcome: number) => Promise<void>): Promise<void> {
    await Promise.all(this.#stage.makers.map(work));
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
