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

/** Terminal orders are kept for one to two of these intervals, in ms. */
const TERMINAL_MS = 5_000;
const TERMINAL_HALF = 50_000;
/**
 * Fills are kept for longer, because a market maker often cancels an order that was filled minutes ago, and Postgres gives
 * way to others on a busy machine.
 */
const FILLED_MS = 300_000;
const FILLED_HALF = 25_000;

/** Values of the recent keys, in two halves, so that the older ones are forgotten at once. */
class Recent<Value> {
  readonly #intervalMs: number;
  readonly #half: number;
  #newer = new Map<string, Value>();
  #older = new Map<string, Value>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Keeps a value for one to two intervals, or less when more than `half` come in one; the last `half` are known in any case. */
  constructor(intervalMs: number, half: number) {
    this.#intervalMs = intervalMs;
    this.#half = half;
    this.#forgetLater();
  }

  get(key: string): Value | undefined {
    return this.#newer.get(key) ?? this.#older.get(key);
  }

  set(key: string, value: Value): void {
    this.#newer.set(key, value);
    if (this.#newer.size >= this.#half) this.#forgetOlder();
  }

  #forgetOlder(): void {
    this.#older = this.#newer;
    this.#newer = new Map();
    this.#forgetLater();
  }

  /** Each half has a whole interval, also after one that was full before. */
  #forgetLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#forgetOlder(), this.#intervalMs).unref();
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/** The orders of one ledger that were filled in the last five to ten minutes, at most 50,000, which take some 7 MB. */
export class RecentFills {
  /** The wallets of the orders. */
  readonly #filled = new Recent<string>(FILLED_MS, FILLED_HALF);

  note(delta: WalletOrderDelta): void {
    if (delta.kind === "fill" && delta.remaining === 0) this.#filled.set(delta.orderId, delta.wallet);
  }

  has(wallet: string, orderId: string): boolean {
    return this.#filled.get(orderId) === wallet;
  }

  close(): void {
    this.#filled.close();
  }
}

/** The orders of all followed ledgers that became terminal in the last five to ten seconds, at most 100,000. */
export class TerminalOrders {
  readonly #terminal = new Recent<TerminalOrder>(TERMINAL_MS, TERMINAL_HALF);
  readonly #waiters = new Map<string, Set<(terminal: TerminalOrder) => void>>();

  /** Takes a delta of an order in, and ends the waits for the order if it is terminal. */
  note(delta: WalletOrderDelta): void {
    const terminal = terminalOf(delta);
    if (terminal === undefined) return;
    const key = keyOf(delta.wallet, delta.orderId);
    this.#terminal.set(key, terminal);
    for (const listener of [...(this.#waiters.get(key) ?? [])]) listener(terminal);
  }

  /**
   * Waits at most `timeoutMs` until the deltas say that these orders of a wallet are terminal. Returns those that are,
   * including those that became terminal up to five seconds before the call.
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
      const terminal = this.#terminal.get(key);
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

  close(): void {
    this.#terminal.close();
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
