/** Actors of the bare loop: a ledger that only reserves, and a market of two outcomes that only matches. */

/** Full price of a contract, in ticks. */
const FULL = 1_000;

/** An order as the bare loop sends it: id, index of the market, outcome, price in ticks, quantity. */
export type BareOrder = readonly [id: string, market: number, outcome: 0 | 1, price: number, qty: number];

/** Effect of a market on an order: opened or filled, with the quantity; or canceled. */
type Effect = readonly [kind: "open" | "fill" | "cancel", orderId: string, qty: number];

/** Messages to markets and to ledgers that follow from a decision. */
export interface Outbox {
  enter(market: number, order: Resting): void;
  cancel(market: number, orderId: string): void;
  effect(ledger: number, effect: Effect): void;
}

export interface Resting {
  readonly id: string;
  readonly ledger: number;
  readonly outcome: 0 | 1;
  readonly price: number;
  qty: number;
}

interface Reserved {
  readonly wallet: string;
  readonly market: number;
  readonly price: number;
  qty: number;
}

export class BareLedger {
  readonly #id: number;
  readonly #available = new Map<string, number>();
  readonly #orders = new Map<string, Reserved>();

  constructor(id: number) {
    this.#id = id;
  }

  place(wallet: string, [id, market, outcome, price, qty]: BareOrder, outbox: Outbox): void {
    this.#move(wallet, -price * qty);
    this.#orders.set(id, { wallet, market, price, qty });
    outbox.enter(market, { id, ledger: this.#id, outcome, price, qty });
  }

  cancel(id: string, outbox: Outbox): void {
    const order = this.#orders.get(id);
    if (order !== undefined) outbox.cancel(order.market, id);
  }

  apply([kind, id, qty]: Effect): void {
    const order = this.#orders.get(id);
    if (order === undefined || kind === "open") return;
    order.qty -= qty;
    if (kind === "cancel") this.#move(order.wallet, order.price * qty);
    if (order.qty <= 0) this.#orders.delete(id);
  }

  #move(wallet: string, amount: number): void {
    this.#available.set(wallet, (this.#available.get(wallet) ?? 0) + amount);
  }
}

/** Bids on one outcome: a queue for each price. */
class BareLadder {
  readonly #levels: Resting[][] = Array.from({ length: FULL }, () => []);
  #best = 0;

  best(): Resting | undefined {
    while (this.#best > 0 && (this.#levels[this.#best]?.length ?? 0) === 0) this.#best -= 1;
    return this.#levels[this.#best]?.[0];
  }

  add(order: Resting): void {
    this.#levels[order.price]?.push(order);
    this.#best = Math.max(this.#best, order.price);
  }

  remove(order: Resting): void {
    const level = this.#levels[order.price] ?? [];
    level.splice(level.indexOf(order), 1);
  }
}

export class BareMarket {
  readonly #ladders = [new BareLadder(), new BareLadder()] as const;
  readonly #resting = new Map<string, Resting>();

  /** Matches an order and lets its remainder rest. Returns the trades. */
  enter(order: Resting, outbox: Outbox): (readonly [makerId: string, takerId: string, qty: number])[] {
    const trades: (readonly [string, string, number])[] = [];
    const others = this.#ladders[order.outcome === 0 ? 1 : 0];
    for (let maker = others.best(); order.qty > 0 && maker !== undefined; maker = others.best()) {
      if (maker.price + order.price < FULL) break;
      const qty = Math.min(order.qty, maker.qty);
      order.qty -= qty;
      maker.qty -= qty;
      if (maker.qty === 0) this.#remove(maker);
      trades.push([maker.id, order.id, qty]);
      outbox.effect(maker.ledger, ["fill", maker.id, qty]);
      outbox.effect(order.ledger, ["fill", order.id, qty]);
    }
    if (order.qty > 0) {
      this.#ladders[order.outcome].add(order);
      this.#resting.set(order.id, order);
      outbox.effect(order.ledger, ["open", order.id, order.qty]);
    }
    return trades;
  }

  cancel(id: string, outbox: Outbox): void {
    const order = this.#resting.get(id);
    if (order === undefined) return;
    this.#remove(order);
    outbox.effect(order.ledger, ["cancel", id, order.qty]);
  }

  #remove(order: Resting): void {
    this.#ladders[order.outcome].remove(order);
    this.#resting.delete(order.id);
  }
}
