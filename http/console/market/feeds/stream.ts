/**
 * Live data for a signed-in trader: the stream, opened with one-use tickets of the web session (contract section 6.1). It
 * resumes from its last seqs after a lost connection. Loaded on demand, because visitors do without it.
 */

import type { z } from "zod";
import { BrowserConnection } from "../../../client/browser/connection.js";
import { StreamClient } from "../../../client/stream/stream.js";
import type { Ticket } from "../../../surface-a/schemas/account.js";
import { call } from "../../data/api.js";
import type { Feed, FeedEvents, Trade } from "./feed.js";
import type { BookState } from "../ladder.js";

const TRADES = 50;

/** Follows a market and the wallet of a key until it is closed. */
export class StreamFeed implements Feed {
  readonly #stream: StreamClient;
  readonly #marketId: string;
  readonly #events: FeedEvents;

  /** `failed` is called when the stream does not start, or the service refuses the key. It may be called twice. */
  constructor(marketId: string, keyId: string, events: FeedEvents, failed: () => void) {
    this.#marketId = marketId;
    this.#events = events;
    const ticket = async (): Promise<string> =>
      (await call<z.infer<typeof Ticket>>("POST", "/v3/ws/tickets", { body: { keyId } })).ticket;
    const wallet = (): void => this.#wallet();
    this.#stream = new StreamClient(new BrowserConnection(window.location.origin), ticket, {
      book: () => this.#book(),
      trades: (_, trades) => events.trades(trades),
      lifecycle: (_, transitions) => events.step(transitions),
      orders: wallet,
      openOrders: wallet,
      positions: wallet,
      lost: () => events.lost(),
      refused: failed,
      reconnected: () => void this.#caughtUp(),
    });
    void this.#begin(failed);
  }

  close(): void {
    this.#stream.close();
  }

  async #begin(failed: () => void): Promise<void> {
    try {
      await this.#stream.connect();
      await this.#stream.subscribe({
        markets: { [this.#marketId]: ["book", "trades"] },
        private: ["orders", "positions"],
      });
      await this.#caughtUp();
    } catch {
      // The loss of the key or of the session is shown where they are used; anything else may pass.
      failed();
    }
  }

  /** Reports that the feed is up to date. The snapshot of the stream leaves out the trades before it. */
  async #caughtUp(): Promise<void> {
    this.#events.fresh();
    const path = `/v3/public/catalog/markets/${this.#marketId}/trades`;
    const { items } = await call<{ readonly items: readonly Trade[] }>("GET", path, {
      query: { limit: TRADES },
    }).catch(() => ({ items: [] }));
    this.#events.trades(items.toReversed());
  }

  #book(): void {
    const book = this.#stream.book(this.#marketId);
    const outcomes = book?.outcomes;
    if (book === undefined || outcomes === undefined) return;
    const state: BookState = {
      outcomes,
      levels: (outcomeId) => book.levels(outcomeId),
      queue: (outcomeId) => book.ladder(outcomeId),
    };
    this.#events.book(state);
  }

  #wallet(): void {
    const { orders, positions } = this.#stream.wallet;
    const isHere = ({ marketId, currency }: { marketId: string; currency?: "COIN" | undefined }): boolean =>
      marketId === this.#marketId && currency === undefined;
    const open = [...orders.values()].filter(isHere).map(({ clientId, ...order }) => ({
      ...order,
      ...(typeof clientId === "string" ? { clientId } : {}),
    }));
    this.#events.wallet(open, [...positions.values()].filter(isHere));
  }
}
