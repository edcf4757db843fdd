/** Bots of the demo: a quoter replaces its orders around a moving price, a taker matches best bids. */

import { randomUUID } from "node:crypto";
import { ApiError, UnknownOutcome, type Connection } from "../../http/client/connection.js";
import { RestClient } from "../../http/client/rest/rest.js";
import { Signer, type SigningKey } from "../../http/client/client.js";
import { ConnectionLost, StreamError } from "../../http/client/stream/socket.js";
import { StreamClient } from "../../http/client/stream/stream.js";
import type { PlaceOrder } from "../../http/client/wire/orders.js";
import type { Random } from "../replay/random.js";
import { quotesAround, wander, type QuoteStyle } from "./quotes.js";

/** Market that the bots trade. */
export interface DemoMarket {
  readonly marketId: string;
  readonly outcomeIds: readonly [string, string];
  /** Probability of the first outcome when the demo began. */
  readonly anchor: number;
  /** Present probability of the first outcome. */
  fair: number;
}

/** Refusals of a market that accepts no orders for now; the bots skip it in this round. */
const TEMPORARY: ReadonlySet<string> = new Set([
  "MARKET_CLOSED",
  "MARKET_PAUSED",
  "EVENT_NOT_TRADABLE",
  "OUTCOME_NOT_FOUND",
  "INSUFFICIENT_BALANCE",
  "SYSTEM_LOCKED",
  "RATE_LIMIT_EXCEEDED",
  "UNAVAILABLE",
]);

/** Runs one round of a bot; a refusal or a lost connection ends the round, and the next round tries again. */
export async function attempt(round: () => Promise<void>, say: (line: string) => void): Promise<void> {
  try {
    await round();
  } catch (error) {
    const temporary =
      error instanceof UnknownOutcome ||
      error instanceof ConnectionLost ||
      ((error instanceof ApiError || error instanceof StreamError) && TEMPORARY.has(error.code));
    if (!temporary) say(error instanceof Error ? error.message : String(error));
  }
}

/** Bot that replaces its quotes in one market after the other. */
export class Quoter {
  readonly #stream: StreamClient;
  #turn = 0;

  constructor(
    connection: Connection,
    key: SigningKey,
    brand: string,
    private readonly style: QuoteStyle,
    private readonly grid: readonly number[],
    private readonly random: Random,
  ) {
    this.#stream = new StreamClient(connection, new Signer(key, brand));
  }

  start(): Promise<void> {
    return this.#stream.connect();
  }

  async round(markets: readonly DemoMarket[]): Promise<void> {
    const market = markets[this.#turn % markets.length];
    this.#turn += 1;
    if (market === undefined) return;
    market.fair = wander(market.fair, market.anchor, this.random);
    await this.quote(market);
  }

  /** Replaces all its orders in a market, including those of an earlier run. */
  async quote({ marketId, fair, outcomeIds }: DemoMarket): Promise<void> {
    await this.#stream.cancelAll({ market: marketId });
    const orders = quotesAround(fair, outcomeIds, this.style, this.grid, this.random);
    await this.#stream.place(orders.map(withId));
  }

  stop(): void {
    this.#stream.close();
  }
}

/** Bot that matches a part of a random best bid in each round. */
export class Taker {
  readonly #stream: StreamClient;
  readonly #rest: RestClient;

  constructor(
    connection: Connection,
    key: SigningKey,
    brand: string,
    private readonly grid: readonly number[],
    private readonly random: Random,
  ) {
    const signer = new Signer(key, brand);
    this.#rest = new RestClient(connection, signer);
    this.#stream = new StreamClient(connection, signer);
  }

  async start(markets: readonly DemoMarket[]): Promise<void> {
    await this.#stream.connect();
    const books = Object.fromEntries(markets.map(({ marketId }) => [marketId, "book" as const]));
    await this.#stream.subscribe({ markets: books });
  }

  async round(markets: readonly DemoMarket[]): Promise<void> {
    const { marketId, outcomeIds } = this.random.pick(markets);
    const [bought, resting] = this.random.next() < 0.5 ? outcomeIds : [outcomeIds[1], outcomeIds[0]];
    const best = this.#stream.book(marketId)?.best(resting);
    if (best === undefined) return;
    const price = (1 - Number(best.price)).toFixed(3);
    if (!this.grid.includes(Math.round(Number(price) * 1_000))) return;
    const qty = Math.min(best.qty, 20 + Math.floor(this.random.next() * 200));
    await this.#rest.placeOrder(withId({ outcomeId: bought, price, qty, tif: "IOC" }));
  }

  stop(): void {
    this.#stream.close();
  }
}

function withId(order: PlaceOrder): PlaceOrder {
  return { ...order, clientId: randomUUID() };
}
