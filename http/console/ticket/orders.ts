/**
 * Own orders of a market: those that rest, those on their way, and the changes under way. An order that this page has
 * sent counts as on its way until the stream shows it or a read reports its status.
 */

import { computed, effect, signal } from "@preact/signals";
import type { z } from "zod";
import { formatPrice } from "../../../actors/units.js";
import type { Amended, CancelAllResult, CancelResult, Order } from "../../surface-a/schemas/orders.js";
import { asRefusal, type Refusal } from "../data/refusal.js";
import { signedCall } from "../trading/web-key.js";
import type { DraftOrder } from "./draft.js";
import type { OpenOrderAnswer, TicketLive } from "./live.js";

type OrderAnswer = z.infer<typeof Order>;

/** Own order as the page shows it. */
export interface OwnOrder {
  /** Id of the order, or its client id while the answer to its placement is missing. */
  readonly id: string;
  /** Id at the exchange; absent until it is known. */
  readonly orderId?: string | undefined;
  readonly outcomeId: string;
  readonly price: string;
  readonly qty: number;
  readonly tif: OpenOrderAnswer["tif"];
  readonly state: "sending" | "unknown" | "pending" | "open" | "changing" | "canceling";
}

/** Order that this page has sent. `order` is its last status that was read. */
interface SentOrder extends OwnOrder {
  readonly clientId: string | undefined;
}

/** Change under way, and the open quantity before it. */
interface Change {
  readonly state: "changing" | "canceling";
  readonly qty: number | undefined;
}

/** Refusal of a change, with the order that it concerns; without one it concerns all orders. */
export interface OrderRefusal {
  readonly id?: string;
  readonly refusal: Refusal;
}

const FIRST_READ_MS = 150;
const LAST_READ_MS = 2_000;
/** Longest time for which a change is shown as under way without an answer of the stream. */
const CHANGE_MS = 4_000;
const ENDED_SHOWN = 5;
/** Reads without a trace of an order after which it counts as not placed. */
const ABSENT_READS = 3;

function pause(ms: number, ending: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    ending.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export class OwnOrders {
  readonly #sent = signal<readonly SentOrder[]>([]);
  readonly #changing = signal<ReadonlyMap<string, Change>>(new Map());
  /** True while it is unknown whether an order was placed. */
  readonly hasUnknown = computed(() => this.#sent.value.some(({ state }) => state === "unknown"));

  readonly #ending = new AbortController();
  readonly #live: TicketLive;
  readonly #marketId: string;
  readonly #stop: () => void;

  /** Orders of this page that have ended since it was opened, newest first. */
  readonly ended = signal<readonly OrderAnswer[]>([]);
  /** Last refusal of a cancel or a change. */
  readonly refusal = signal<OrderRefusal | undefined>(undefined);

  /** All own orders that are known, the newest of this page first. */
  readonly all = computed<readonly OwnOrder[]>(() => {
    const changing = this.#changing.value;
    const resting = (this.#live.orders.value ?? []).map((order): OwnOrder => ({
      ...order,
      id: order.orderId,
      state: changing.get(order.orderId)?.state ?? "open",
    }));
    const known = new Set(resting.map(({ id }) => id));
    return [...this.#sent.value.filter(({ orderId = "" }) => !known.has(orderId)), ...resting];
  });

  constructor(marketId: string, live: TicketLive) {
    this.#marketId = marketId;
    this.#live = live;
    // A resting order that the stream shows needs no read any more, and a change that it shows is complete.
    this.#stop = effect(() => {
      const { value: orders } = live.orders;
      if (orders === undefined) return;
      const resting = new Map(orders.map((order) => [order.orderId, order]));
      const sent = this.#sent.peek();
      const rest = sent.filter(({ orderId = "" }) => !resting.has(orderId));
      if (rest.length < sent.length) this.#sent.value = rest;
      for (const [id, { qty }] of this.#changing.peek()) {
        if (resting.get(id)?.qty !== qty) this.#mark(id, undefined);
      }
    });
  }

  /** Ends all reads. */
  close(): void {
    this.#stop();
    this.#ending.abort();
  }

  /** Shows an order as on its way to the exchange. */
  sending(clientId: string, { outcomeId, price, qty, tif }: DraftOrder): void {
    const sent = { id: clientId, clientId, outcomeId, price: formatPrice(price), qty, tif };
    this.#sent.value = [{ ...sent, state: "sending" }, ...this.#others(clientId)];
  }

  /** Follows an accepted order until its status is known. */
  accepted(clientId: string, orderId: string): void {
    this.#update(clientId, { id: orderId, orderId, state: "pending" });
    void this.#follow(orderId, `/v3/orders/${orderId}`, {});
  }

  /** Removes an order that was refused. */
  refused(clientId: string): void {
    this.#sent.value = this.#others(clientId);
  }

  /** Looks for an order whose placement got no answer. `onFound` is called when the exchange has it. */
  unanswered(clientId: string, onFound: () => void): void {
    this.#update(clientId, { state: "unknown" });
    void this.#follow(clientId, "/v3/orders", { clientId }, onFound);
  }

  async cancel(orderId: string): Promise<void> {
    if (this.#changing.peek().has(orderId)) return;
    await this.#change(orderId, "canceling", async () => {
      const path = `/v3/orders/${orderId}`;
      await signedCall<z.infer<typeof CancelResult>>("DELETE", path);
    });
  }

  /** Cancels all orders of the market. */
  async cancelAll(): Promise<void> {
    this.refusal.value = undefined;
    try {
      const query = { market: this.#marketId };
      await signedCall<z.infer<typeof CancelAllResult>>("DELETE", "/v3/orders", { query });
    } catch (error) {
      this.refusal.value = { refusal: asRefusal(error) };
    }
  }

  /** Changes the price, the open quantity or both. Returns true when the exchange has accepted the change. */
  async amend(order: OwnOrder, change: { readonly price?: string; readonly qty?: number }): Promise<boolean> {
    const { orderId } = order;
    if (orderId === undefined || this.#changing.peek().has(orderId)) return false;
    return this.#change(orderId, "changing", async () => {
      const path = `/v3/orders/${orderId}`;
      const answer = await signedCall<z.infer<typeof Amended>>("PATCH", path, { body: change });
      if (answer.orderId === orderId) return;
      const replacement = { ...order, ...change, id: answer.orderId, orderId: answer.orderId };
      this.#sent.value = [{ ...replacement, clientId: undefined, state: "pending" }, ...this.#sent.value];
      void this.#follow(answer.orderId, `/v3/orders/${answer.orderId}`, {});
    });
  }

  async #change(id: string, state: Change["state"], run: () => Promise<void>): Promise<boolean> {
    this.refusal.value = undefined;
    const qty = this.all.peek().find((order) => order.id === id)?.qty;
    const change: Change = { state, qty };
    const unmark = (): void => {
      if (this.#changing.peek().get(id) === change) this.#mark(id, undefined);
    };
    this.#mark(id, change);
    try {
      await run();
      // The stream ends the mark; it also ends when the change had nothing to do.
      void pause(CHANGE_MS, this.#ending.signal).then(unmark);
      return true;
    } catch (error) {
      unmark();
      this.refusal.value = { id, refusal: asRefusal(error) };
      return false;
    }
  }

  #mark(id: string, change: Change | undefined): void {
    const marks = new Map(this.#changing.peek());
    if (change === undefined) marks.delete(id);
    else marks.set(id, change);
    this.#changing.value = marks;
  }

  #others(clientId: string): readonly SentOrder[] {
    return this.#sent.peek().filter((order) => order.clientId !== clientId);
  }

  #update(clientId: string, change: Partial<SentOrder>): void {
    this.#sent.value = this.#sent
      .peek()
      .map((order) => (order.clientId === clientId ? { ...order, ...change } : order));
  }

  /** Reads the order of a row until its status is known and the row is no longer needed. */
  async #follow(
    id: string,
    path: string,
    query: { readonly clientId?: string },
    onFound?: () => void,
  ): Promise<void> {
    const { signal: ending } = this.#ending;
    let absent = 0;
    for (let waitMs = FIRST_READ_MS; ; waitMs = Math.min(LAST_READ_MS, waitMs * 2)) {
      await pause(waitMs, ending);
      if (ending.aborted || !this.#sent.peek().some((order) => order.id === id)) return;
      try {
        const order = await signedCall<OrderAnswer>("GET", path, { query, signal: ending });
        onFound?.();
        if (this.#shows(id, order)) return;
      } catch (error) {
        // An order that the tables do not have yet, or a service that is away: the next read decides.
        if (asRefusal(error).status === 404) absent += 1;
        if (absent < ABSENT_READS) continue;
        this.#sent.value = this.#sent.peek().filter((order) => order.id !== id);
        return;
      }
    }
  }

  /** Shows the status of a row's order. Returns true when the row has ended. */
  #shows(id: string, order: OrderAnswer): boolean {
    if (order.status === "PENDING" || order.status === "OPEN") {
      const state = order.status === "OPEN" ? "open" : "pending";
      const { orderId, price, remaining } = order;
      this.#sent.value = this.#sent
        .peek()
        .map((sent) => (sent.id === id ? { ...sent, orderId, price, qty: remaining, state } : sent));
      return false;
    }
    this.#sent.value = this.#sent.peek().filter((sent) => sent.id !== id);
    this.ended.value = [order, ...this.ended.peek()].slice(0, ENDED_SHOWN);
    return true;
  }
}
