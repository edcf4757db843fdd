/** The first order of the demo: something that is offered now, bought with play money of the faucet. */

import type { z } from "zod";
import type { Transacted } from "../../admin/schemas/traders.js";
import type { Balance } from "../../surface-a/schemas/account.js";
import type { Market, Prices } from "../../surface-a/schemas/catalog.js";
import type { Order, OrderAccepted, OrderPreview } from "../../surface-a/schemas/orders.js";
import {
  CONTRACT_TICKS,
  contracts,
  cost,
  formatMoney,
  formatPrice,
  fullValue,
  ticks,
} from "../../../actors/units.js";
import { call } from "../data/api.js";
import { ticksOf } from "../data/prices.js";
import { moneyOf } from "../data/money.js";
import { signedCall, webKey } from "../trading/web-key.js";
import { asRefusal, isUnknown, Refusal } from "../data/refusal.js";

/** Contracts of the first order; each pays one cent, so all of them pay a dollar. */
const QTY = contracts(100);
/** Markets among which the first order looks for an offer. */
const MARKETS = 20;
/** Time in ms for which the page waits to see what became of the order. */
const SETTLE_MS = 5_000;
const ASK_MS = 400;

/** Something that is offered now. */
export interface Offer {
  readonly marketId: string;
  readonly market: string;
  readonly outcomeId: string;
  readonly outcome: string;
  readonly price: string;
  readonly qty: number;
  /** Money that the contracts cost, and that they pay when the outcome wins. */
  readonly costs: string;
  readonly pays: string;
}

/** Returns an offer in one of the open markets, or `undefined` when nothing is offered. */
export async function findOffer(signal: AbortSignal): Promise<Offer | undefined> {
  const { items: known } = await call<{ items: Market[] }>("GET", "/v3/public/catalog/markets", {
    query: { limit: MARKETS },
    signal,
  });
  const markets = known.filter(({ status, paused }) => status === "OPEN" && paused !== true);
  if (markets.length === 0) return undefined;
  const { items } = await call<z.infer<typeof Prices>>("GET", "/v3/public/catalog/prices", {
    query: { markets: markets.map(({ marketId }) => marketId).join(",") },
    signal,
  });
  const bids = new Map(items.map((prices) => [prices.marketId, prices.bids]));
  for (const { marketId, description, outcomes } of markets) {
    const [first, second] = outcomes;
    if (first === undefined || second === undefined || outcomes.length > 2) continue;
    // A bid on one of two outcomes offers the other one at the rest of the payout.
    const bid = bids.get(marketId)?.[second.outcomeId];
    if (bid === undefined || bid === null || bid.qty < QTY) continue;
    const price = ticks(CONTRACT_TICKS - ticksOf(bid.price));
    return {
      marketId,
      market: description,
      outcomeId: first.outcomeId,
      outcome: first.name,
      price: formatPrice(price),
      qty: QTY,
      costs: formatMoney(cost(price, QTY)),
      pays: formatMoney(fullValue(QTY)),
    };
  }
  return undefined;
}

/** Asks the faucet for play money, for a subaccount or else the trader's own wallet. */
export function askFaucet(clientRef: string, subaccountKeyId?: string): Promise<z.infer<typeof Transacted>> {
  const body = { clientRef, ...(subaccountKeyId === undefined ? {} : { subaccountKeyId }) };
  return call("POST", "/v3/session/faucet", { body });
}

/** Attempt to place the first order. */
export interface Attempt {
  readonly offer: Offer;
  readonly clientId: string;
  /** True from the request that places the order, unless the exchange has refused it. */
  mayBePlaced: boolean;
}

/** Buys an offer with the key of this browser, and with money of the faucet where it is missing. Returns the order. */
export async function placeFirst(attempt: Attempt): Promise<Order> {
  const { outcomeId, price, qty } = attempt.offer;
  const order = { outcomeId, price, qty, tif: "GTC" };
  const isRepeat = attempt.mayBePlaced;
  // An order that may have been placed holds its money already.
  if (!isRepeat) await fund(order, attempt.clientId);
  attempt.mayBePlaced = true;
  const body = { ...order, clientId: attempt.clientId };
  const accepted = await signedCall<z.infer<typeof OrderAccepted>>("POST", "/v3/orders", { body }).catch(
    (error: unknown) => {
      attempt.mayBePlaced = isRepeat || isUnknown(asRefusal(error));
      throw error;
    },
  );
  return settled(accepted.orderId);
}

/** Asks the faucet for the money that an order needs and the subaccount lacks. */
async function fund(order: object, clientId: string): Promise<void> {
  const key = webKey.peek();
  if (key === undefined) throw new Refusal(0, "NO_WEB_KEY", "This browser has no key to trade with.");
  const preview = await signedCall<z.infer<typeof OrderPreview>>("POST", "/v3/orders/preview", {
    body: order,
  });
  const path = `/v3/account/subaccounts/${key.subaccount}/balance`;
  const { available } = await call<z.infer<typeof Balance>>("GET", path);
  if (moneyOf(available) < moneyOf(preview.reserve))
    await askFaucet(`first order ${clientId}`, key.subaccount);
}

/** Waits until the book has the order, and returns the order. A read that fails meanwhile is repeated. */
async function settled(orderId: string): Promise<Order> {
  const deadlineMs = Date.now() + SETTLE_MS;
  for (;;) {
    const isLast = Date.now() > deadlineMs;
    try {
      const order = await signedCall<Order>("GET", `/v3/orders/${orderId}`);
      if (order.status !== "PENDING" || isLast) return order;
    } catch (error) {
      if (isLast) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_MS));
  }
}
