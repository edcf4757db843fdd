/** The demo's traders at work: two quoters that renew their orders around a wandering price, and a taker. */

import { randomUUID } from "node:crypto";
import { ApiError, UnknownOutcome, type Connection } from "../../http/client/connection.js";
import { RestClient } from "../../http/client/rest.js";
import { Signer, type SigningKey } from "../../http/client/signer.js";
import { ConnectionLost, StreamError } from "../../http/client/socket.js";
import { StreamClient } from "../../http/client/stream.js";
import type { PlaceOrder } from "../../http/client/wire.js";
import type { Random } from "../replay/random.js";
import { quotesAround, wander, type QuoteStyle } from "./quotes.js";

/** A market that the bots trade. */
export interface DemoMarket {
  readonly marketId: string;
  readonly outcomeIds: readonly [string, string];
  /** Where its price began, the probability of the first outcome. */
  readonly anchor: number;
  fair: number;
}

/** Refusals that say that a market takes no orders now; the bots leave it alone for this round. */
const RESTING: ReadonlySet<string> = new Set([
  "MARKET_CLOSED",
  "MARKET_PAUSED",
  "EVENT_NOT_TRADABLE",
  "OUTCOME_NOT_FOUND",
  "INSUFFICIENT_BALANCE",
  "SYSTEM_LOCKED",
  "RATE_LIMIT_EXCEEDED",
  "UNAVAILABLE",
]);

/** Runs one round of a bot; what the exchange refuses or a restart interrupts is left for the next round. */
export async function attempt(round: () => Promise<void>, say: (line: string) => void): Promise<void> {
  try {
    await round();
  } catch (error) {
    const passing =
      error instanceof UnknownOutcome ||
      error instanceof ConnectionLost ||
      ((error instanceof ApiError || error instanceof StreamError) && RESTING.has(error.code));
    if (!passing) say(error instanceof Error ? error.message : String(error));
  }
}

/** Renews its quotes of one market after the other. */
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
    this.#stream = new StreamClient(connection.url.origin, new Signer(key, brand));
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

  /** Replaces whatever it has in a market, from an earlier life too. */
  async quote({ marketId, fair, outcomeIds }: DemoMarket): Promise<void> {
    await this.#stream.cancelAll({ market: marketId });
    const orders = quotesAround(fair, outcomeIds, this.style, this.grid, this.random);
    await this.#stream.place(orders.map(withId));
  }

  stop(): void {
    this.#stream.close();
  }
}

/** Takes a little from a best bid now and then. */
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
    this.#stream = new StreamClient(connection.url.origin, signer);
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
