/** Calls about the account of a trader, which keys and web sessions share (contract sections 5.11 to 5.13 and 5.17). */

import type { Currency } from "../../../actors/market/types.js";
import type { PageQuery } from "../calls.js";
import type { Price } from "../token-buckets.js";
import {
  AccountTransfer,
  BalanceAnswer,
  KeyAnswer,
  LimitsAnswer,
  NewKey,
  SubaccountAnswer,
  TicketAnswer,
  TransactionAnswer,
  type NewKeyFields,
  type NewSubaccountKey,
} from "../wire/account.js";
import { MarketAnswer } from "../wire/catalog.js";
import {
  FillAnswer,
  HeldPositions,
  OpenOrders,
  OrderAnswer,
  PositionAnswer,
  PreviewAnswer,
  type PlaceOrder,
} from "../wire/orders.js";
import { catalogPageOf, pageOf, type Page } from "../wire/values.js";
import { z } from "zod/mini";
import { CatalogCalls, READ, type TimeBounds } from "./catalog.js";

/** Filter of the orders of a wallet, by ids; an absent field does not narrow it. */
export type OrderFilter = Readonly<{
  event?: string;
  market?: string;
  outcome?: string;
  currency?: Currency;
}>;
/** Wallet that a web session reads: any key of its subaccount. A key reads its own wallet. */
export type OfWallet = Readonly<{ subaccount?: string }>;
/** Filter of orders; `status` is a comma-separated list (default OPEN). */
export type OrdersFilter = OrderFilter & OfWallet & TimeBounds & Readonly<{ status?: string }>;
export type FillsFilter = OrderFilter & OfWallet & TimeBounds & Readonly<{ order?: string }>;
export type TransactionsFilter = TimeBounds & Readonly<{ kind?: string; currency?: Currency }>;

const ACCOUNT: Price = { bucket: "account", cost: 1 };
/** Costs before the rows of an answer are charged. */
const FILLS: Price = { bucket: "history", cost: 8 };
const TRANSACTIONS: Price = { bucket: "history", cost: 6 };
const ENDED: Price = { bucket: "history", cost: 4 };

const OrderOrPage = z.union([OrderAnswer, pageOf(OrderAnswer)]);

/** Price of a list of orders: those that have ended are history. */
function ordersPrice(status: string | undefined): Price {
  return status === undefined || status === "OPEN" ? READ : ENDED;
}

/** Calls of a key or a web session. */
export abstract class AccountCalls extends CatalogCalls {
  /** Returns the token buckets. */
  limits(): Promise<LimitsAnswer> {
    return this.read("/v3/limits", LimitsAnswer);
  }

  /** Returns the management keys of the trader. */
  keys(): Promise<KeyAnswer[]> {
    return this.read("/v3/keys", z.array(KeyAnswer), {}, ACCOUNT);
  }

  /** Returns one key of the trader. */
  key(keyId: string): Promise<KeyAnswer> {
    return this.read(`/v3/keys/${keyId}`, KeyAnswer, {}, ACCOUNT);
  }

  /** Creates a management key. Only the first may be created by a web session. */
  createKey(key: NewKeyFields): Promise<NewKey> {
    return this.call(NewKey, {
      method: "POST",
      path: "/v3/keys",
      body: key,
      repeat: this.repeat,
      price: ACCOUNT,
    });
  }

  /** Revokes a key. */
  revokeKey(keyId: string): Promise<void> {
    return this.run({ method: "DELETE", path: `/v3/keys/${keyId}`, price: ACCOUNT });
  }

  /** Returns the subaccounts of the trader. */
  subaccounts(): Promise<SubaccountAnswer[]> {
    return this.read("/v3/account/subaccounts", z.array(SubaccountAnswer), {}, ACCOUNT);
  }

  /** Opens a subaccount with its trading key; `publicKey` is SPKI PEM. */
  openSubaccount(
    label: string,
    publicKey: string,
    algorithm: NewKeyFields["algorithm"],
    expiresAt?: NewKeyFields["expiresAt"],
  ): Promise<SubaccountAnswer> {
    const body = { label, publicKey, algorithm, expiresAt };
    return this.call(SubaccountAnswer, {
      method: "POST",
      path: "/v3/account/subaccounts",
      body,
      repeat: this.repeat,
      price: ACCOUNT,
    });
  }

  /** Closes an empty subaccount. */
  closeSubaccount(keyId: string): Promise<void> {
    return this.run({ method: "DELETE", path: `/v3/account/subaccounts/${keyId}`, price: ACCOUNT });
  }

  /** Issues a key for the subaccount of `keyId`. */
  issueKey(keyId: string, key: NewSubaccountKey): Promise<NewKey> {
    const path = `/v3/account/subaccounts/${keyId}/keys`;
    return this.call(NewKey, { method: "POST", path, body: key, repeat: this.repeat, price: ACCOUNT });
  }

  /** Returns the balance of a subaccount in dollars. */
  balance(keyId: string, currency?: Currency): Promise<BalanceAnswer> {
    return this.read(`/v3/account/subaccounts/${keyId}/balance`, BalanceAnswer, { currency }, ACCOUNT);
  }

  /** Returns one transfer of the subaccount of `keyId`. */
  readTransfer(keyId: string, transferId: string): Promise<AccountTransfer> {
    return this.read(
      `/v3/account/subaccounts/${keyId}/transfers/${transferId}`,
      AccountTransfer,
      {},
      ACCOUNT,
    );
  }

  /** Returns the transactions of a subaccount, newest first, from all pages. */
  transactions(keyId: string, filter: TransactionsFilter = {}): Promise<TransactionAnswer[]> {
    const path = `/v3/account/subaccounts/${keyId}/transactions`;
    return this.readAll(path, pageOf(TransactionAnswer), filter, TRANSACTIONS);
  }

  /** Returns one page of the transactions of a subaccount, newest first. */
  transactionsPage(
    keyId: string,
    query: TransactionsFilter & PageQuery = {},
  ): Promise<Page<TransactionAnswer>> {
    const path = `/v3/account/subaccounts/${keyId}/transactions`;
    return this.read(path, pageOf(TransactionAnswer), query, TRANSACTIONS);
  }

  /** Returns the resting orders of the wallet, with the last batch of the orders channel. */
  openOrders(of: OfWallet = {}): Promise<OpenOrders> {
    return this.read("/v3/account/orders", OpenOrders, of, ACCOUNT);
  }

  /** Returns the positions of the wallet, with the last batch of the positions channel. */
  heldPositions(of: OfWallet = {}): Promise<HeldPositions> {
    return this.read("/v3/account/positions", HeldPositions, of, ACCOUNT);
  }

  /** Returns one own order, in any status. */
  order(orderId: string, of: OfWallet = {}): Promise<OrderAnswer> {
    return this.read(`/v3/orders/${orderId}`, OrderAnswer, of, READ);
  }

  /** Returns the own order with a `clientId`. */
  async orderOfClient(clientId: string, of: OfWallet = {}): Promise<OrderAnswer> {
    const answer = await this.read("/v3/orders", OrderOrPage, { ...of, clientId }, READ);
    if ("orderId" in answer) return answer;
    throw new Error("the exchange answered with a list of orders instead of one");
  }

  /** Returns the orders of the wallet in some statuses, from all pages. */
  orders(filter: OrdersFilter = {}): Promise<OrderAnswer[]> {
    return this.readAll("/v3/orders", pageOf(OrderAnswer), filter, ordersPrice(filter.status));
  }

  /** Returns one page of the orders of the wallet in some statuses. */
  ordersPage(query: OrdersFilter & PageQuery = {}): Promise<Page<OrderAnswer>> {
    return this.read("/v3/orders", pageOf(OrderAnswer), query, ordersPrice(query.status));
  }

  /** Returns the fills of the wallet, newest first, from all pages. */
  fills(filter: FillsFilter = {}): Promise<FillAnswer[]> {
    return this.readAll("/v3/portfolio/fills", pageOf(FillAnswer), filter, FILLS);
  }

  /** Returns one page of the fills of the wallet, newest first. */
  fillsPage(query: FillsFilter & PageQuery = {}): Promise<Page<FillAnswer>> {
    return this.read("/v3/portfolio/fills", pageOf(FillAnswer), query, FILLS);
  }

  /** Returns the positions of the wallet. */
  positions(filter: OrderFilter & OfWallet = {}): Promise<PositionAnswer[]> {
    return this.read("/v3/portfolio/positions", z.array(PositionAnswer), filter, READ);
  }

  /** Returns the settled markets, newest first, from all pages. */
  history(): Promise<MarketAnswer[]> {
    return this.readAll("/v3/history/markets", catalogPageOf(MarketAnswer), {}, ENDED);
  }

  /** Returns one page of the settled markets, newest first. */
  historyPage(query: PageQuery = {}): Promise<Page<MarketAnswer>> {
    return this.read("/v3/history/markets", catalogPageOf(MarketAnswer), query, ENDED);
  }

  /** Returns what an order would cost and fill if it were placed now. */
  preview(order: PlaceOrder, of: OfWallet = {}): Promise<PreviewAnswer> {
    return this.call(PreviewAnswer, {
      method: "POST",
      path: "/v3/orders/preview",
      query: of,
      body: order,
      price: READ,
    });
  }

  /** Returns a one-use ticket for the stream. A web session names the key to stream with, unless the trader has only one. */
  async ticket(keyId?: string): Promise<string> {
    const call = { method: "POST", path: "/v3/ws/tickets", body: { keyId }, price: ACCOUNT };
    return (await this.call(TicketAnswer, call)).ticket;
  }

  /** Rule for repeating a request without an id of its own: signed bytes take effect once, those of a session each time. */
  protected abstract readonly repeat: "same bytes" | "never";
}
