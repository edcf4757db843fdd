/** The terminal states of recent orders, as the deltas of their ledgers tell them, and the waits for those of others. */

import type { WalletOrderDelta } from "../../../actors/ledger/deltas.js";
import type { OrderStatus } from "../../../actors/ledger/types.js";
import type { CancelReason, RejectReason } from "../../../actors/market/types.js";
import { unreachable } from "../../../actors/unreachable.js";

/** Terminal status of an order. */
export interface TerminalOrder {
  readonly orderId: string;
  readonly status: Exclude<OrderStatus, "PENDING" | "OPEN">;
  readonly reason?: CancelReason | RejectReason | undefined;
}

/** Orders are kept for one to two of these intervals, in ms. A cancel that comes after a fill asks for that order. */
const FILLED_MS = 60_000;
const OTHERS_MS = 5_000;
/** At twice this number of orders, the older half is forgotten earlier. */
const HALF = 50_000;

/** Orders in two halves, so that the older ones are forgotten at once. */
class RecentOrders {
  #newer = new Map<string, TerminalOrder>();
  #older = new Map<string, TerminalOrder>();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(intervalMs: number) {
    this.#timer = setInterval(() => this.#forgetOlder(), intervalMs);
    this.#timer.unref();
  }

  get(key: string): TerminalOrder | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  add(key: string, terminal: TerminalOrder): void {
    this.#newer.set(key, terminal);
    if (this.#newer.size >= HALF) this.#forgetOlder();
  }

  #forgetOlder(): void {
    this.#older = this.#newer;
    this.#newer = new Map();
  }

  clear(): void {
    this.#newer = new Map();
    this.#older = new Map();
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

export class TerminalOrders {
  readonly #filled = new RecentOrders(FILLED_MS);
  readonly #others = new RecentOrders(OTHERS_MS);
  readonly #waiters = new Map<string, Set<(terminal: TerminalOrder) => void>>();

  /** Takes a delta of an order in, and ends the waits for the order if it is terminal. */
  note(delta: WalletOrderDelta): void {
    const terminal = terminalOf(delta);
    if (terminal === undefined) return;
    const key = keyOf(delta.wallet, delta.orderId);
    (terminal.status === "FILLED" ? this.#filled : this.#others).add(key, terminal);
    for (const listener of [...(this.#waiters.get(key) ?? [])]) listener(terminal);
  }

  /**
   * Waits at most `timeoutMs` until the deltas say that these orders of a wallet are terminal. Returns those that are,
   * including those that became terminal up to five seconds before the call, or were filled up to a minute before it.
   */
  wait(
    wallet: string,
    orderIds: readonly string[],
    timeoutMs: number,
  ): Promise<ReadonlyMap<string, TerminalOrder>> {
    const found = new Map<string, TerminalOrder>();
    const missing = new Set<string>();
    for (const orderId of orderIds) {
      const key = keyOf(wallet, orderId);
      const terminal = this.#filled.get(key) ?? this.#others.get(key);
      if (terminal === undefined) missing.add(orderId);
      else found.set(orderId, terminal);
    }
    if (missing.size === 0 || timeoutMs === 0) return Promise.resolve(found);
    return new Promise((resolve) => {
      const waited = [...missing];
      const end = (): void => {
        clearTimeout(timer);
        for (const orderId of waited) this.#removeWaiter(keyOf(wallet, orderId), add);
        resolve(found);
      };
      const add = (terminal: TerminalOrder): void => {
        found.set(terminal.orderId, terminal);
        missing.delete(terminal.orderId);
        if (missing.size === 0) end();
      };
      const timer = setTimeout(end, timeoutMs);
      for (const orderId of waited) this.#addWaiter(keyOf(wallet, orderId), add);
    });
  }

  /** Forgets all orders, because the log may have lost the entries that tell of them. */
  forget(): void {
    this.#filled.clear();
    this.#others.clear();
  }

  close(): void {
    this.#filled.close();
    this.#others.close();
  }

  #addWaiter(key: string, listener: (terminal: TerminalOrder) => void): void {
    const listeners = this.#waiters.get(key) ?? new Set();
    listeners.add(listener);
    this.#waiters.set(key, listeners);
  }

  #removeWaiter(key: string, listener: (terminal: TerminalOrder) => void): void {
    const listeners = this.#waiters.get(key);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#waiters.delete(key);
  }
}

function keyOf(wallet: string, orderId: string): string {
  return `${wallet} ${orderId}`;
}

/** Returns the terminal status that a delta gives its order, if any. */
function terminalOf(delta: WalletOrderDelta): TerminalOrder | undefined {
  const { orderId } = delta;
  switch (delta.kind) {
    case "fill":
      return delta.remaining === 0 ? { orderId, status: "FILLED" } : undefined;
    case "cancel":
      return { orderId, status: "CANCELED", reason: delta.reason };
    case "reject":
      return { orderId, status: "REJECTED", reason: delta.reason };
    case "open":
    case "reduce":
      return undefined;
    default:
      return unreachable(delta);
  }
}
