/** Live data for visitors: the public book with its ETag once a second, and the trades when the book has changed. */

import type { z } from "zod";
import type { Book } from "../../../surface-a/schemas/catalog.js";
import { readJson, send } from "../../data/api.js";
import type { Feed, FeedEvents, Trade } from "./feed.js";
import { bookOf } from "../ladder.js";

const EVERY_MS = 1_000;
/** Longest pause between attempts while the service does not answer, in ms. */
const LONGEST_PAUSE_MS = 5_000;
/** Longest wait for an answer, in ms. */
const ANSWER_MS = 5_000;
/** Price levels of each outcome in a book; a ladder shows fewer. */
const LEVELS = 20;
const TRADES = 50;

type BookAnswer = z.infer<typeof Book>;

/** Polls a market until it is closed. Pauses in hidden tabs. */
export class PollingFeed implements Feed {
  readonly #path: string;
  readonly #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #etag: string | undefined;
  #pauseMs = EVERY_MS;

  constructor(
    marketId: string,
    private readonly events: FeedEvents,
  ) {
    this.#path = `/v3/public/catalog/markets/${marketId}`;
    void this.#run();
  }

  close(): void {
    this.#ending.abort();
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#again);
  }

  readonly #again = (): void => {
    if (document.hidden) document.addEventListener("visibilitychange", this.#again, { once: true });
    else void this.#run();
  };

  async #run(): Promise<void> {
    try {
      const isChanged = await this.#readBook();
      if (isChanged) await this.#readTrades();
      if (this.#isOver()) return;
      this.events.fresh();
      this.#pauseMs = EVERY_MS;
    } catch {
      if (this.#isOver()) return;
      // The bar of the connection says how old the data are; the refusal of a market that is missing is the page's.
      this.events.lost();
      this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    }
    this.#timer = setTimeout(this.#again, this.#pauseMs);
  }

  async #get(target: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(ANSWER_MS)]);
    return send("GET", `${this.#path}${target}`, { headers, signal });
  }

  /** Reads the book, and returns whether it has changed. */
  async #readBook(): Promise<boolean> {
    const response = await this.#get(
      `/book?depth=${LEVELS}`,
      this.#etag === undefined ? {} : { "If-None-Match": this.#etag },
    );
    if (response.status === 304) return false;
    const { orders } = await readJson<BookAnswer>(response);
    if (this.#isOver()) return false;
    this.#etag = response.headers.get("ETag") ?? undefined;
    this.events.book(bookOf(orders));
    return true;
  }

  async #readTrades(): Promise<void> {
    const { items } = await readJson<{ readonly items: readonly Trade[] }>(
      await this.#get(`/trades?limit=${TRADES}`),
    );
    if (!this.#isOver()) this.events.trades(items.toReversed());
  }

  /** A method, because the compiler takes the signal to be unchanged after an `await`. */
  #isOver(): boolean {
    return this.#ending.signal.aborted;
  }
}
