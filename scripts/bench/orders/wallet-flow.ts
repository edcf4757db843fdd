/** Orders and cancels of the load benches: which operations the next request of a wallet has. */

/** Share of the operations that are cancels. */
const CANCEL_SHARE = 0.28;
/**
 * Orders that one wallet leaves open at most, and their number for each market. From then on the wallet cancels as much as
 * it places, because the state of the exchange must not grow. Both are below the limits of a wallet, as requests overlap
 * and markets are drawn at random.
 */
const MAX_OPEN = 4_000;
const MAX_OPEN_OF_MARKET = 500;
/** Prices of both outcomes, in ticks: 0.400 to 0.495. They do not match each other. */
const PRICES = Array.from({ length: 20 }, (_, step) => 400 + 5 * step);
/** Price of one order in ten, which matches the orders of the other outcome from 0.480. */
const CROSSING_PRICE = 520;
const CROSSING_SHARE = 0.1;
const MAX_QTY = 20;

export interface PlannedOrder {
  /** Index of the market. */
  readonly market: number;
  readonly outcome: 0 | 1;
  readonly priceTicks: number;
  readonly qty: number;
}

/** Operations of one request. */
export type Operations =
  | { readonly kind: "place"; readonly orders: readonly PlannedOrder[] }
  | { readonly kind: "cancel"; readonly orderIds: readonly string[] };

export function below(bound: number): number {
  return Math.floor(Math.random() * bound);
}

/** Number of operations in a request. */
export function sizeOf(operations: Operations): number {
  return operations.kind === "place" ? operations.orders.length : operations.orderIds.length;
}

/** Source of the requests of one wallet. */
export class WalletFlow {
  readonly #markets: number;
  readonly #batch: number;
  /** Orders that may be open, oldest first. */
  #open: string[] = [];
  #placed = 0;
  #canceled = 0;

  /** `markets` is the number of markets, `batch` that of the operations in a request. */
  constructor(markets: number, batch: number) {
    this.#markets = markets;
    this.#batch = batch;
  }

  next(): Operations {
    const isDue = this.#canceled < CANCEL_SHARE * (this.#placed + this.#canceled);
    const mayCancel = this.#open.length >= this.#batch;
    const maxOpen = Math.min(MAX_OPEN, MAX_OPEN_OF_MARKET * this.#markets);
    if (!mayCancel || (!isDue && this.#open.length < maxOpen)) return this.#place();
    this.#canceled += this.#batch;
    return { kind: "cancel", orderIds: this.#open.splice(0, this.#batch) };
  }

  #place(): Operations {
    this.#placed += this.#batch;
    const orders = Array.from({ length: this.#batch }, (): PlannedOrder => {
      const crosses = Math.random() < CROSSING_SHARE;
      return {
        market: below(this.#markets),
        outcome: below(2) === 0 ? 0 : 1,
        priceTicks: crosses ? CROSSING_PRICE : (PRICES[below(PRICES.length)] ?? 0),
        qty: 1 + below(MAX_QTY),
      };
    });
    return { kind: "place", orders };
  }

  /** Records accepted orders, which later requests cancel. */
  accepted(orderIds: readonly string[]): void {
    for (const orderId of orderIds) this.#open.push(orderId);
  }
}
