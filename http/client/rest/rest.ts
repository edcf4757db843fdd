/** Typed client of surface A for one signing key (contract section 5). */

import { z } from "zod/mini";
import type { TransferDirection } from "../../../actors/ledger/types.js";
import type { Currency } from "../../../actors/market/types.js";
import { PATIENCE_MS } from "../calls.js";
import { type Connection, errorOf, readAnswer, type RawAnswer } from "../connection.js";
import type { Signer } from "../signer.js";
import { type BucketName, TokenBuckets } from "../token-buckets.js";
import {
  SubaccountAnswer,
  TransferAnswer,
  type BalanceAnswer,
  type LimitsAnswer,
  type TransactionAnswer,
} from "../wire/account.js";
import {
  AmendAnswer,
  BatchAnswer,
  CancelAllAnswer,
  CancelAnswer,
  CancelOneAnswer,
  GroupAnswer,
  GroupsRemoved,
  HeartbeatAnswer,
  OrderAccepted,
  placedOf,
  type BatchPlaced,
  type NewGroup,
  type OrderChange,
  type PlaceOrder,
} from "../wire/orders.js";
import { fits } from "../wire/values.js";
import { AccountCalls, type OrderFilter, type TransactionsFilter } from "./account.js";

const ACCOUNT = { bucket: "account", cost: 1 } as const;

/** Returns true when every order has a `clientId`, which makes a repeat safe. */
function haveClientIds(orders: readonly PlaceOrder[]): boolean {
  return orders.every((order) => order.clientId !== undefined);
}

/**
 * Surface A with one key: routes of trading need a trading key, routes of accounts a management key. Each call throws
 * `ApiError` for a refusal, and `UnknownOutcome` when the exchange stayed out of reach for the retry time. Requests are
 * repeated only in ways that take effect once, and wait for the tokens that they cost.
 */
export class RestClient extends AccountCalls {
  protected override readonly repeat = "same bytes";
  readonly #signer: Signer;
  readonly #buckets: TokenBuckets;

  /** `patienceMs` is the time that a request is retried, in ms (default 60,000). */
  constructor(connection: Connection, signer: Signer, patienceMs = PATIENCE_MS) {
    const buckets = new TokenBuckets();
    super(connection, "/v3", patienceMs, buckets);
    this.#buckets = buckets;
    this.#signer = signer;
  }

  /** Id of the signing key. */
  get keyId(): string {
    return this.#signer.keyId;
  }

  /** Returns the tokens that a bucket of the key holds now, as far as this client knows. */
  tokens(bucket: BucketName): number {
    return this.#buckets.level(bucket);
  }

  /** Returns the token buckets, which also corrects what `tokens` knows. */
  override async limits(): Promise<LimitsAnswer> {
    const limits = await super.limits();
    this.#buckets.replace(limits);
    return limits;
  }

  /** Returns the content as JSON text, as the exchange received it. A refusal says what is wrong with the signature. */
  async echo(content: unknown): Promise<string> {
    const answer = await this.send({ method: "POST", path: "/v3/echo", body: content });
    if (answer.status !== 200) throw errorOf(answer);
    return answer.body;
  }

  /**
   * Places one order and returns its acceptance (contract section 5.15). After a lost connection the order is sent again
   * and takes effect once. Throws `ApiError` for a refusal.
   */
  placeOrder(order: PlaceOrder): Promise<OrderAccepted> {
    return this.call(OrderAccepted, {
      method: "POST",
      path: "/v3/orders",
      body: order,
      repeat: haveClientIds([order]) ? "anew" : "same bytes",
      price: { bucket: "place", cost: 1 },
    });
  }

  /**
   * Places up to 256 orders (contract section 5.15). Returns refused orders in `rejected`. With `atomic` any refusal
   * throws `ApiError` and nothing is placed.
   */
  async placeOrders(orders: readonly PlaceOrder[], atomic = false): Promise<BatchPlaced> {
    const answer = await this.send({
      method: "POST",
      path: "/v3/orders/batch",
      body: { orders, atomic },
      repeat: haveClientIds(orders) ? "anew" : "same bytes",
      price: { bucket: "place", cost: orders.length },
    });
    return readBatch(answer, atomic);
  }

  /** Changes quantity or price of a resting order; a smaller quantity keeps its place in the queue. */
  async amendOrder(orderId: string, change: OrderChange): Promise<void> {
    await this.call(AmendAnswer, {
      method: "PATCH",
      path: `/v3/orders/${orderId}`,
      body: change,
      repeat: "same bytes",
      price: { bucket: "place", cost: 1 },
    });
  }

  /** Cancels one order and returns its status. Throws `ApiError` when it has ended already. */
  cancelOrder(orderId: string): Promise<CancelOneAnswer> {
    const price = { bucket: "cancel", cost: 1 } as const;
    return this.call(CancelOneAnswer, { method: "DELETE", path: `/v3/orders/${orderId}`, price });
  }

  /**
   * Cancels up to 256 orders (contract section 5.16). Returns orders that could not be canceled in `notCanceled` with
   * their reason, and does not throw for them.
   */
  async cancelOrders(orderIds: readonly string[]): Promise<CancelAnswer> {
    const answer = await this.send({
      method: "DELETE",
      path: "/v3/orders/batch",
      body: { orderIds },
      price: { bucket: "cancel", cost: orderIds.length },
    });
    if (answer.status !== 404) return readAnswer(answer, CancelAnswer);
    const error = errorOf(answer);
    if (!fits(CancelAnswer, error.body)) throw error;
    return error.body;
  }

  /** Cancels all orders of the wallet that match the filter. Returns the number of cancels that were queued. */
  async cancelAll(filter: OrderFilter = {}): Promise<number> {
    const price = { bucket: "cancel", cost: 1 } as const;
    const call = { method: "DELETE", path: "/v3/orders", query: filter, price };
    return (await this.call(CancelAllAnswer, call)).canceled;
  }

  /** Returns the balance of the subaccount of `keyId` (default: the key of this client), in dollars. */
  override balance(keyId = this.keyId, currency?: Currency): Promise<BalanceAnswer> {
    return super.balance(keyId, currency);
  }

  /** Returns the transactions of the subaccount of `keyId` (default: the key of this client), newest first, from all pages. */
  override transactions(keyId = this.keyId, filter: TransactionsFilter = {}): Promise<TransactionAnswer[]> {
    return super.transactions(keyId, filter);
  }

  /** Changes the label of a subaccount. Needs a management key. */
  relabelSubaccount(keyId: string, label: string): Promise<SubaccountAnswer> {
    return this.call(SubaccountAnswer, {
      method: "PATCH",
      path: `/v3/account/subaccounts/${keyId}`,
      body: { label },
      price: ACCOUNT,
    });
  }

  /**
   * Moves money between the trader's own wallet and a subaccount; `amount` is in dollars with at most five decimals. A
   * repeat with the same `clientTransferId` takes effect once. A transfer of more than the wallet holds does not throw;
   * it ends `Rejected`. Needs a management key (contract section 5.13).
   */
  transfer(
    keyId: string,
    direction: TransferDirection,
    amount: string,
    clientTransferId: string,
    currency?: Currency,
  ): Promise<TransferAnswer> {
    return this.call(TransferAnswer, {
      method: "POST",
      path: `/v3/account/subaccounts/${keyId}/transfer`,
      body: { direction, amount, clientTransferId, currency },
      price: ACCOUNT,
    });
  }

  /**
   * Arms the dead-man switch (contract section 5.18): without another heartbeat within `timeoutMs`, from 5,000 to 300,000,
   * all orders of the wallet are canceled. 0 disarms it.
   */
  async heartbeat(timeoutMs: number): Promise<void> {
    await this.call(HeartbeatAnswer, { method: "POST", path: "/v3/safety/heartbeat", body: { timeoutMs } });
  }

  /** Creates an order group, which takes no more orders once it has filled too much within its window. */
  createGroup(group: NewGroup): Promise<GroupAnswer> {
    return this.call(GroupAnswer, {
      method: "POST",
      path: "/v3/safety/groups",
      body: group,
      repeat: "same bytes",
      price: ACCOUNT,
    });
  }

  /** Returns the order groups of the wallet. */
  groups(): Promise<GroupAnswer[]> {
    return this.read("/v3/safety/groups", z.array(GroupAnswer), {}, ACCOUNT);
  }

  /** Returns one order group. */
  group(groupId: string): Promise<GroupAnswer> {
    return this.read(`/v3/safety/groups/${groupId}`, GroupAnswer, {}, ACCOUNT);
  }

  /** Lets a tripped group take orders again. */
  resetGroup(groupId: string): Promise<GroupAnswer> {
    const path = `/v3/safety/groups/${groupId}/reset`;
    return this.call(GroupAnswer, { method: "POST", path, price: ACCOUNT });
  }

  /** Removes an order group. */
  removeGroup(groupId: string): Promise<void> {
    return this.run({ method: "DELETE", path: `/v3/safety/groups/${groupId}`, price: ACCOUNT });
  }

  /** Removes all order groups of the wallet. Returns their number. */
  async removeGroups(): Promise<number> {
    const call = { method: "DELETE", path: "/v3/safety/groups", price: ACCOUNT };
    return (await this.call(GroupsRemoved, call)).removed;
  }

  protected override authorize(
    method: string,
    path: string,
    query: string,
    body: Uint8Array,
  ): Promise<Readonly<Record<string, string>>> {
    return this.#signer.headers(method, path, query, body);
  }
}

/** Returns the result of a batch placement. Throws `ApiError` when the whole request was refused. */
function readBatch(answer: RawAnswer, atomic: boolean): BatchPlaced {
  if (answer.status < 300) return placedOf(readAnswer(answer, BatchAnswer));
  const error = errorOf(answer);
  const refused = fits(BatchAnswer, error.body) ? placedOf(error.body) : undefined;
  if (atomic || refused === undefined || refused.rejected.length === 0) throw error;
  return refused;
}
