/** Typed client of surface A for one signing key (contract section 5). */

import { z } from "zod/mini";
import {
  type Connection,
  errorOf,
  readAnswer,
  type Prepare,
  type RawAnswer,
  type Repeat,
} from "./connection.js";
import type { Signer } from "./signer.js";
import {
  BalanceAnswer,
  BatchAnswer,
  BookAnswer,
  CancelAllAnswer,
  CancelAnswer,
  EventAnswer,
  FillAnswer,
  LimitsAnswer,
  MarketAnswer,
  NewKey,
  OrderAccepted,
  OrderAnswer,
  pageOf,
  PositionAnswer,
  SubaccountAnswer,
  TransactionAnswer,
  TransferAnswer,
  type BatchPlaced,
  type PlaceOrder,
} from "./wire.js";
import type { TransferDirection } from "../../actors/ledger/types.js";

/** Query parameters by name; `undefined` values are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** Filter of the orders of a wallet, by ids; an absent field does not narrow it. */
export type OrderFilter = Readonly<{ event?: string; market?: string; outcome?: string }>;

/** Default time that a request is retried during restarts and throttling, in ms. */
export const PATIENCE_MS = 60_000;
/** Number of times that a long book is read from its first page, because it has changed between its pages. */
const BOOK_TRIES = 5;

/** Encodes a query. Spaces become `%20`, never `+`, because the exchange decodes only `%XX`. */
export function encodeQuery(query: Query): string {
  return Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
}

/** Returns true when every order has a `clientId`, which makes a repeat safe. */
function haveClientIds(orders: readonly PlaceOrder[]): boolean {
  return orders.every((order) => order.clientId !== undefined);
}

/**
 * Surface A with one key: routes of trading need a trading key, routes of accounts a management key. Each call throws
 * `ApiError` for a refusal, and `UnknownOutcome` when the exchange stayed out of reach for the retry time. Requests are
 * repeated only in ways that take effect once.
 */
export class RestClient {
  readonly #connection: Connection;
  readonly #signer: Signer;
  readonly #patienceMs: number;

  /** `patienceMs` is the time that a request is retried, in ms (default 60,000). */
  constructor(connection: Connection, signer: Signer, patienceMs = PATIENCE_MS) {
    this.#connection = connection;
    this.#signer = signer;
    this.#patienceMs = patienceMs;
  }

  /** Id of the signing key. */
  get keyId(): string {
    return this.#signer.keyId;
  }

  /**
   * Places one order and returns its acceptance (contract section 5.15). After a lost connection the order is sent again
   * and takes effect once. Throws `ApiError` for a refusal.
   */
  async placeOrder(order: PlaceOrder): Promise<OrderAccepted> {
    const repeat = haveClientIds([order]) ? "anew" : "same bytes";
    return readAnswer(await this.#send("POST", "/v3/orders", repeat, {}, order), OrderAccepted);
  }

  /**
   * Places up to 256 orders (contract section 5.15). Returns refused orders in `rejected`. With `atomic` any refusal
   * throws `ApiError` and nothing is placed.
   */
  async placeOrders(orders: readonly PlaceOrder[], atomic = false): Promise<BatchPlaced> {
    const repeat = haveClientIds(orders) ? "anew" : "same bytes";
    const answer = await this.#send("POST", "/v3/orders/batch", repeat, {}, { orders, atomic });
    return readBatch(answer, atomic);
  }

  /**
   * Cancels up to 256 orders (contract section 5.16). Returns orders that could not be canceled in `notCanceled` with
   * their reason, and does not throw for them.
   */
  async cancelOrders(orderIds: readonly string[]): Promise<CancelAnswer> {
    const answer = await this.#send("DELETE", "/v3/orders/batch", "anew", {}, { orderIds });
    if (answer.status !== 404) return readAnswer(answer, CancelAnswer);
    const parsed = CancelAnswer.safeParse(errorOf(answer).body);
    if (!parsed.success) throw errorOf(answer);
    return parsed.data;
  }

  /** Cancels all orders of the wallet that match the filter. Returns the number of cancels that were queued. */
  async cancelAll(filter: OrderFilter = {}): Promise<number> {
    const answer = await this.#send("DELETE", "/v3/orders", "anew", filter);
    return readAnswer(answer, CancelAllAnswer).canceled;
  }

  /** Returns one own order, in any status. */
  order(orderId: string): Promise<OrderAnswer> {
    return this.#read(`/v3/orders/${orderId}`, OrderAnswer);
  }

  /** Returns the orders of the wallet in one status (default OPEN), from all pages. */
  orders(filter: OrderFilter & { readonly status?: string } = {}): Promise<OrderAnswer[]> {
    return this.#readAll("/v3/orders", OrderAnswer, filter);
  }

  /** Returns the fills of the wallet, newest first, from all pages. */
  fills(filter: OrderFilter & { readonly order?: string } = {}): Promise<z.infer<typeof FillAnswer>[]> {
    return this.#readAll("/v3/portfolio/fills", FillAnswer, filter);
  }

  /** Returns the positions of the wallet. */
  positions(filter: OrderFilter = {}): Promise<z.infer<typeof PositionAnswer>[]> {
    return this.#read("/v3/portfolio/positions", z.array(PositionAnswer), filter);
  }

  /** Returns the events of the catalog from all pages; `league` and `status` are comma-separated lists. */
  events(filter: Readonly<{ league?: string; status?: string }> = {}): Promise<EventAnswer[]> {
    return this.#readAll("/v3/catalog/events", EventAnswer, filter);
  }

  /** Returns the markets of the catalog from all pages. */
  markets(filter: Readonly<{ league?: string; event?: string }> = {}): Promise<MarketAnswer[]> {
    return this.#readAll("/v3/catalog/markets", MarketAnswer, filter);
  }

  /** Returns one market of the catalog. */
  market(marketId: string): Promise<MarketAnswer> {
    return this.#read(`/v3/catalog/markets/${marketId}`, MarketAnswer);
  }

  /**
   * Returns the book of a market (default CASH), from all pages. Throws when a long book changes between its pages each
   * time; follow it on the stream then.
   */
  async book(marketId: string, currency?: "COIN"): Promise<BookAnswer> {
    const path = `/v3/catalog/markets/${marketId}/book`;
    for (let tries = 0; tries < BOOK_TRIES; tries += 1) {
      let page = await this.#read(path, BookAnswer, { currency });
      const book = { seq: page.seq, orders: page.orders };
      while (page.next !== undefined && page.seq === book.seq) {
        page = await this.#read(path, BookAnswer, { currency, after: page.next });
        for (const [outcomeId, orders] of Object.entries(page.orders))
          book.orders[outcomeId]?.push(...orders);
      }
      if (page.seq === book.seq) return book;
    }
    throw new Error(`the book of ${marketId} changes faster than it can be read; follow it on the stream`);
  }

  /** Returns the token buckets of the key. */
  limits(): Promise<z.infer<typeof LimitsAnswer>> {
    return this.#read("/v3/limits", LimitsAnswer);
  }

  /** Returns the balance of the subaccount of `keyId` (default: the key of this client), in dollars. */
  balance(keyId = this.keyId): Promise<BalanceAnswer> {
    return this.#read(`/v3/account/subaccounts/${keyId}/balance`, BalanceAnswer);
  }

  /** Returns the transactions of the subaccount of `keyId`, newest first, from all pages. */
  transactions(keyId = this.keyId): Promise<z.infer<typeof TransactionAnswer>[]> {
    return this.#readAll(`/v3/account/subaccounts/${keyId}/transactions`, TransactionAnswer, {});
  }

  /** Opens a subaccount with its trading key; `publicKey` is SPKI PEM. Needs a management key. */
  async openSubaccount(
    label: string,
    publicKey: string,
    algorithm: string,
  ): Promise<z.infer<typeof SubaccountAnswer>> {
    const body = { label, publicKey, algorithm };
    const answer = await this.#send("POST", "/v3/account/subaccounts", "same bytes", {}, body);
    return readAnswer(answer, SubaccountAnswer);
  }

  /** Issues a key for the subaccount of `keyId`; `publicKey` is SPKI PEM. Needs a management key. */
  async issueKey(
    keyId: string,
    key: Readonly<{ name: string; publicKey: string; algorithm: string; scope: "trading" | "trading::read" }>,
  ): Promise<z.infer<typeof NewKey>> {
    const path = `/v3/account/subaccounts/${keyId}/keys`;
    return readAnswer(await this.#send("POST", path, "same bytes", {}, key), NewKey);
  }

  /**
   * Moves money between the trader's own wallet and a subaccount; `amount` is in dollars with at most five decimals. A
   * repeat with the same `clientTransferId` takes effect once. A transfer of more than the wallet holds does not throw;
   * it ends `Rejected`. Needs a management key (contract section 5.13).
   */
  async transfer(
    keyId: string,
    direction: TransferDirection,
    amount: string,
    clientTransferId: string,
  ): Promise<TransferAnswer> {
    const path = `/v3/account/subaccounts/${keyId}/transfer`;
    const answer = await this.#send("POST", path, "anew", {}, { direction, amount, clientTransferId });
    return readAnswer(answer, TransferAnswer);
  }

  /** Returns one transfer of the subaccount of `keyId`. */
  readTransfer(keyId: string, transferId: string): Promise<TransferAnswer> {
    return this.#read(`/v3/account/subaccounts/${keyId}/transfers/${transferId}`, TransferAnswer);
  }

  async #read<T>(path: string, shape: z.core.$ZodType<T>, query: Query = {}): Promise<T> {
    return readAnswer(await this.#send("GET", path, "anew", query), shape);
  }

  async #readAll<T extends z.core.$ZodType>(path: string, item: T, query: Query): Promise<z.infer<T>[]> {
    const items: z.infer<T>[] = [];
    let after: string | undefined;
    do {
      const page: { items: z.infer<T>[]; next?: string | null | undefined } = await this.#read(
        path,
        pageOf(item),
        { ...query, after },
      );
      items.push(...page.items);
      after = page.next ?? undefined;
    } while (after !== undefined);
    return items;
  }

  #send(method: string, path: string, repeat: Repeat, query: Query = {}, body?: unknown): Promise<RawAnswer> {
    const raw = encodeQuery(query);
    const bytes = body === undefined ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(body));
    const prepare: Prepare = async () => ({
      method,
      target: raw === "" ? path : `${path}?${raw}`,
      headers: await this.#signer.headers(method, path, raw, bytes),
      body: bytes,
    });
    return this.#connection.send(prepare, { repeat, patienceMs: this.#patienceMs });
  }
}

/** Returns the result of a batch placement. Throws `ApiError` when the whole request was refused. */
function readBatch(answer: RawAnswer, atomic: boolean): BatchPlaced {
  if (answer.status === 201 || answer.status === 200 || answer.status === 207) {
    return readAnswer(answer, BatchAnswer);
  }
  const error = errorOf(answer);
  const refused = BatchAnswer.safeParse(error.body);
  if (atomic || !refused.success || refused.data.rejected.length === 0) throw error;
  return refused.data;
}
