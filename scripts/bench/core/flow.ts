/** Fixed flow of orders for the benches. */

export interface Add {
  readonly kind: "add";
  readonly orderId: string;
  readonly wallet: string;
  /** Index of the outcome of the bid. */
  readonly outcome: 0 | 1;
  readonly priceTicks: number;
  readonly qty: number;
  /** True: the order matches resting orders completely and leaves no remainder. */
  readonly crosses: boolean;
}

interface Cancel {
  readonly kind: "cancel";
  readonly orderId: string;
}

export type Operation = Add | Cancel;

/** Returns a generator of whole numbers below a bound; the same seed gives the same numbers. */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export interface Flow {
  readonly warm: readonly Add[];
  /** Operations as a worker receives them: one JSON text per batch. */
  readonly batches: readonly string[];
  /** Number of orders that other orders fill completely. */
  readonly trades: number;
}

/** Operations per batch. */
const BATCH = 500;

/** Prices lie on multiples of `STEP` ticks below this tick, so that resting bids never cross. */
const MIDDLE = 500;
const STEP = 5;
const LEVELS = 80;
const FULL = 1_000;
/** Resting orders that one crossing order fills. */
const TAKEN = 3;

interface Open {
  readonly orderId: string;
  readonly outcome: 0 | 1;
  readonly priceTicks: number;
  readonly qty: number;
  place: number;
}

/** Open orders by price level in time order, from which the flow picks the orders to cancel and to fill. */
class OpenOrders {
  readonly #all: Open[] = [];
  readonly #levels: readonly [Open[][], Open[][]] = [[], []];

  get count(): number {
    return this.#all.length;
  }

  add(order: Omit<Open, "place">): void {
    const open = { ...order, place: this.#all.length };
    this.#all.push(open);
    (this.#levels[open.outcome][open.priceTicks] ??= []).push(open);
  }

  /** Removes and returns the order at a place among all. */
  take(place: number): Open {
    const open = this.#all[place];
    const last = this.#all.pop();
    if (open === undefined || last === undefined) throw new Error("no order is open");
    if (last !== open) {
      this.#all[place] = last;
      last.place = place;
    }
    const level = this.#levels[open.outcome][open.priceTicks] ?? [];
    level.splice(level.indexOf(open), 1);
    return open;
  }

  /** Removes and returns the best `count` bids on an outcome. */
  takeBest(outcome: 0 | 1, count: number): Open[] {
    const taken: Open[] = [];
    for (let price = MIDDLE; price > 0 && taken.length < count; price -= STEP) {
      const level = this.#levels[outcome][price] ?? [];
      for (let first = level[0]; first !== undefined && taken.length < count; first = level[0]) {
        taken.push(this.take(first.place));
      }
    }
    return taken;
  }
}

/**
 * Returns `length` operations on a book of `resting` orders, which stays at about that size: 60 percent are orders that
 * rest, 30 percent cancel an open order, and 10 percent fill the best three orders of the other side.
 */
export function flow(length: number, resting: number, seed = 1): Flow {
  const next = numbers(seed);
  const open = new OpenOrders();
  let ids = 0;
  let trades = 0;
  const nextId = (): string => {
    ids += 1;
    return `00000000-0000-4000-8000-${String(ids).padStart(12, "0")}`;
  };
  const side = (): 0 | 1 => (next(2) === 0 ? 0 : 1);
  const add = (): Add => {
    const orderId = nextId();
    const order = { outcome: side(), priceTicks: MIDDLE - STEP * (1 + next(LEVELS)), qty: 1 + next(20) };
    open.add({ orderId, ...order });
    return { kind: "add", orderId, wallet: `wallet-${next(1_000)}`, ...order, crosses: false };
  };
  const cross = (): Add => {
    const outcome = side();
    const taken = open.takeBest(outcome, TAKEN);
    const worst = Math.min(...taken.map(({ priceTicks }) => priceTicks));
    trades += taken.length;
    const qty = taken.reduce((sum, order) => sum + order.qty, 0);
    const priceTicks = FULL - worst;
    const [orderId, other] = [nextId(), outcome === 0 ? 1 : 0] as const;
    return {
      kind: "add",
      orderId,
      wallet: `taker-${next(1_000)}`,
      outcome: other,
      priceTicks,
      qty,
      crosses: true,
    };
  };
  const operation = (): Operation => {
    const kind = next(100);
    if (kind < 60 || open.count < resting / 2) return add();
    return kind < 90 || open.count > resting * 2
      ? { kind: "cancel", orderId: open.take(next(open.count)).orderId }
      : cross();
  };
  const warm = Array.from({ length: resting }, add);
  const batches = Array.from({ length: Math.ceil(length / BATCH) }, (_, batch) =>
    JSON.stringify(Array.from({ length: Math.min(BATCH, length - batch * BATCH) }, operation)),
  );
  return { warm, batches, trades };
}
