/** Calls of one caller: how a request is authorized, sent, repeated and read. */

import type { z } from "zod/mini";
import {
  type Connection,
  errorOf,
  readAnswer,
  type Prepare,
  type RawAnswer,
  type Repeat,
} from "./connection.js";
import type { Price, TokenBuckets } from "./token-buckets.js";
import type { Page } from "./wire/values.js";

/** Query parameters by name; `undefined` values are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** A page of a list: its size, and the `next` of the page before. */
export type PageQuery = Readonly<{ limit?: number; after?: string }>;

/** A request of a client. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  /** Rule for repeating the request after a lost answer (default `anew`). */
  readonly repeat?: Repeat | undefined;
  readonly price?: Price | undefined;
}

/** Default time that a request is retried during restarts and throttling, in ms. */
export const PATIENCE_MS = 60_000;

/** Encodes a query. Spaces become `%20`, never `+`, because the exchange decodes only `%XX`. */
function encodeQuery(query: Query): string {
  return Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
}

/**
 * Sends the requests of one caller. Each call throws `ApiError` for a refusal, and `UnknownOutcome` when the exchange
 * stayed out of reach for the retry time. Requests are repeated only in ways that take effect once.
 */
export abstract class Calls {
  protected readonly connection: Connection;
  readonly #patienceMs: number;
  readonly #buckets: TokenBuckets | undefined;

  constructor(connection: Connection, patienceMs: number, buckets?: TokenBuckets) {
    this.connection = connection;
    this.#patienceMs = patienceMs;
    this.#buckets = buckets;
  }

  /** Returns the headers that authorize one attempt of a request. */
  protected abstract authorize(
    method: string,
    path: string,
    query: string,
    body: Uint8Array,
  ): Promise<Readonly<Record<string, string>>>;

  /** Sends a request, after a wait for the tokens that it costs. */
  protected async send({ method, path, query = {}, body, repeat = "anew", price }: Call): Promise<RawAnswer> {
    const raw = encodeQuery(query);
    const bytes = body === undefined ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(body));
    const prepare: Prepare = async () => ({
      method,
      target: raw === "" ? path : `${path}?${raw}`,
      headers: await this.authorize(method, path, raw, bytes),
      body: bytes,
    });
    const until = Date.now() + this.#patienceMs;
    if (price !== undefined) await this.#buckets?.take(price, this.#patienceMs);
    let answer: RawAnswer | undefined;
    try {
      answer = await this.connection.send(prepare, { repeat, patienceMs: Math.max(0, until - Date.now()) });
      return answer;
    } finally {
      if (price !== undefined) this.#buckets?.settle(price, answer);
    }
  }

  /** Sends a request and returns the body of its answer. */
  protected async call<T>(shape: z.core.$ZodType<T>, call: Call): Promise<T> {
    return readAnswer(await this.send(call), shape);
  }

  /** Sends a request whose answer has no body. */
  protected async run(call: Call): Promise<void> {
    const answer = await this.send(call);
    if (answer.status >= 300) throw errorOf(answer);
  }

  protected read<T>(path: string, shape: z.core.$ZodType<T>, query?: Query, price?: Price): Promise<T> {
    return this.call(shape, { method: "GET", path, query, price });
  }

  /** Returns the items of all pages of a list. */
  protected async readAll<T>(
    path: string,
    page: z.core.$ZodType<Page<T>>,
    query: Query,
    price?: Price,
  ): Promise<T[]> {
    const items: T[] = [];
    let after: string | undefined;
    do {
      const read = await this.read(path, page, { ...query, after }, price);
      items.push(...read.items);
      after = read.next;
    } while (after !== undefined);
    return items;
  }
}
