/** Surface A as a typed client: one signing key, one wallet or one trader behind it (contract section 5). */

import { z } from "zod";
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

/** Query parameters by name; absent values are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** Which of the wallet's orders; absent fields do not narrow. */
export type OrderFilter = Readonly<{ event?: string; market?: string; outcome?: string }>;

/** How long requests go on trying through restarts and throttles, unless told otherwise. */
export const PATIENCE_MS = 60_000;

/** A query as it is sent; the exchange decodes `%XX` only, so nothing may become a `+`. */
export function encodeQuery(query: Query): string {
  return Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join("&");
}

/** Whether every order carries an id that makes its repeat safe. */
function haveIds(orders: readonly PlaceOrder[]): boolean {
  return orders.every((order) => order.clientId !== undefined);
}

export class RestClient {
  readonly #connection: Connection;
  readonly #signer: Signer;
  readonly #patienceMs: number;

  constructor(connection: Connection, signer: Signer, patienceMs = PATIENCE_MS) {
    this.#connection = connection;
    this.#signer = signer;
    this.#patienceMs = patienceMs;
  }

  get keyId(): string {
    return this.#signer.keyId;
  }

  /**
   * Places one order and returns when it is accepted. On a lost connection the same order is asked for again until
   * the answer is known, and takes effect once. Throws `ApiError` for a refusal; `UnknownOutcome` only when the
   * exchange stayed out of reach.
   */
  async placeOrder(order: PlaceOrder): Promise<OrderAccepted> {
    const repeat = haveIds([order]) ? "anew" : "same bytes";
    return readAnswer(await this.#send("POST", "/v3/orders", repeat, {}, order), OrderAccepted);
  }

  /**
   * Places up to 256 orders. What was refused is in `rejected`, unless `atomic`: then any refusal throws `ApiError`
   * and nothing is placed.
   */
  async placeOrders(orders: readonly PlaceOrder[], atomic = false): Promise<BatchPlaced> {
    const repeat = haveIds(orders) ? "anew" : "same bytes";
    const answer = await this.#send("POST", "/v3/orders/batch", repeat, {}, { orders, atomic });
    return readBatch(answer, atomic);
  }

  /** Cancels up to 256 orders; an order that could not be canceled is told with the reason, never thrown. */
  async cancelOrders(orderIds: readonly string[]): Promise<CancelAnswer> {
    const answer = await this.#send("DELETE", "/v3/orders/batch", "anew", {}, { orderIds });
    if (answer.status !== 404) return readAnswer(answer, CancelAnswer);
    const parsed = CancelAnswer.safeParse(errorOf(answer).body);
    if (!parsed.success) throw errorOf(answer);
    return parsed.data;
  }

  /** Cancels all of the wallet's orders that the filter names; returns how many cancels were queued. */
  async cancelAll(filter: OrderFilter = {}): Promise<number> {
    const answer = await this.#send("DELETE", "/v3/orders", "anew", filter);
    return readAnswer(answer, CancelAllAnswer).canceled;
  }

  order(orderId: string): Promise<OrderAnswer> {
    return this.#read(`/v3/orders/${orderId}`, OrderAnswer);
  }

  /** The wallet's orders of one status (OPEN unless told), all pages. */
  orders(filter: OrderFilter & { readonly status?: string } = {}): Promise<OrderAnswer[]> {
    return this.#readAll("/v3/orders", OrderAnswer, filter);
  }

  fills(filter: OrderFilter & { readonly order?: string } = {}): Promise<z.infer<typeof FillAnswer>[]> {
    return this.#readAll("/v3/portfolio/fills", FillAnswer, filter);
  }

  positions(filter: OrderFilter = {}): Promise<z.infer<typeof PositionAnswer>[]> {
    return this.#read("/v3/portfolio/positions", z.array(PositionAnswer), filter);
  }

  events(filter: Readonly<{ league?: string; status?: string }> = {}): Promise<EventAnswer[]> {
    return this.#readAll("/v3/catalog/events", EventAnswer, filter);
  }

  markets(filter: Readonly<{ league?: string; event?: string }> = {}): Promise<MarketAnswer[]> {
    return this.#readAll("/v3/catalog/markets", MarketAnswer, filter);
  }

  market(marketId: string): Promise<MarketAnswer> {
    return this.#read(`/v3/catalog/markets/${marketId}`, MarketAnswer);
  }

  book(marketId: string, currency?: "COIN"): Promise<BookAnswer> {
    return this.#read(`/v3/catalog/markets/${marketId}/book`, BookAnswer, { currency });
  }

  /** The key's buckets as they are now. */
  limits(): Promise<z.infer<typeof LimitsAnswer>> {
    return this.#read("/v3/limits", LimitsAnswer);
  }

  /** The wallet of the subaccount that `keyId` reaches; by default the one of this client's own key. */
  balance(keyId = this.keyId): Promise<BalanceAnswer> {
    return this.#read(`/v3/account/subaccounts/${keyId}/balance`, BalanceAnswer);
  }

  transactions(keyId = this.keyId): Promise<z.infer<typeof TransactionAnswer>[]> {
    return this.#readAll(`/v3/account/subaccounts/${keyId}/transactions`, TransactionAnswer, {});
  }

  /** Opens a subaccount with its trading key (management keys). */
  async openSubaccount(
    label: string,
    publicKey: string,
    algorithm: string,
  ): Promise<z.infer<typeof SubaccountAnswer>> {
    const body = { label, publicKey, algorithm };
    const answer = await this.#send("POST", "/v3/account/subaccounts", "same bytes", {}, body);
    return readAnswer(answer, SubaccountAnswer);
  }

  /** Mints a key of an own subaccount (management keys). */
  async issueKey(
    keyId: string,
    key: Readonly<{ name: string; publicKey: string; algorithm: string; scope: "trading" | "trading::read" }>,
  ): Promise<z.infer<typeof NewKey>> {
    const path = `/v3/account/subaccounts/${keyId}/keys`;
    return readAnswer(await this.#send("POST", path, "same bytes", {}, key), NewKey);
  }

  /**
   * Moves money between the trader's own wallet and a subaccount (management keys). The `clientTransferId` makes a
   * repeat safe. Too much is no error but a transfer that reads `Rejected`.
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
    const bytes = body === undefined ? new Uint8Array(0) : Buffer.from(JSON.stringify(body));
    const prepare: Prepare = () => ({
      method,
      target: raw === "" ? path : `${path}?${raw}`,
      headers: this.#signer.headers(method, path, raw, bytes),
      body: bytes,
    });
    return this.#connection.send(prepare, { repeat, patienceMs: this.#patienceMs });
  }
}

/** What a batch answer says of each order. A refusal of the whole request, such as a bad signature, throws. */
function readBatch(answer: RawAnswer, atomic: boolean): BatchPlaced {
  if (answer.status === 201 || answer.status === 200 || answer.status === 207) {
    return readAnswer(answer, BatchAnswer);
  }
  const error = errorOf(answer);
  const refused = BatchAnswer.safeParse(error.body);
  if (atomic || !refused.success || refused.data.rejected.length === 0) throw error;
  return refused.data;
}
