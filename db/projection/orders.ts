/** Orders and fills, out of the ledgers' `accepted` and `order` deltas. */

import type pg from "pg";
import type { AcceptedDelta, WalletOrderDelta } from "../../actors/ledger/deltas.js";
import type { Currency } from "../../actors/market/types.js";
import type { OrderStatus } from "../schema/wallets.js";
import type { Origin } from "./place.js";
import { insertInto, updateRows, writeRows } from "./rows.js";
import { unreachable } from "../../actors/unreachable.js";

type FillDelta = Extract<WalletOrderDelta, { kind: "fill" }>;

/** What a batch does to an order: the latest of everything, and the sum of what filled. */
interface OrderChange {
  readonly orderId: string;
  status: OrderStatus | undefined;
  remaining: number | undefined;
  reason: string | undefined;
  filled: number;
  updatedTs: number;
}

interface NewOrder {
  readonly delta: AcceptedDelta;
  readonly origin: Origin;
  readonly change: OrderChange;
}

interface Fill {
  readonly delta: FillDelta;
  readonly origin: Origin;
}

/** What a fill's delta does not say and its order does. */
interface OrderFacts {
  readonly currency: Currency;
  readonly clientId: string | null;
}

interface UpdatedOrder {
  readonly order_id: string;
  readonly currency: Currency;
  readonly client_id: string | null;
}

const INSERT_ORDERS = insertInto<NewOrder>("orders", {
  order_id: ["uuid", ({ delta }) => delta.order.orderId],
  wallet: ["uuid", ({ delta }) => delta.wallet],
  trader_id: ["uuid", ({ delta }) => delta.order.trader],
  market_id: ["uuid", ({ delta }) => delta.marketId],
  outcome: ["smallint", ({ delta }) => delta.order.outcome],
  currency: ["text", ({ delta }) => delta.order.currency],
  price: ["smallint", ({ delta }) => delta.order.price],
  qty: ["integer", ({ delta }) => delta.order.qty],
  filled: ["integer", ({ change }) => change.filled],
  remaining: ["integer", ({ delta, change }) => change.remaining ?? delta.order.qty],
  tif: ["text", ({ delta }) => delta.order.tif],
  status: ["text", ({ change }) => change.status ?? "PENDING"],
  reason: ["text", ({ change }) => change.reason],
  client_id: ["text", ({ delta }) => delta.clientId],
  group_id: ["text", ({ delta }) => delta.groupId],
  expires_ts: ["bigint", ({ delta }) => delta.order.expiresAt],
  ts: ["bigint", ({ origin }) => origin.ts],
  place: ["bigint", ({ origin }) => origin.place],
  updated_ts: ["bigint", ({ change }) => change.updatedTs],
});

const UPDATE_ORDERS = updateRows<OrderChange>(
  "orders",
  {
    order_id: ["uuid", (change) => change.orderId],
    status: ["text", (change) => change.status],
    remaining: ["integer", (change) => change.remaining],
    reason: ["text", (change) => change.reason],
    filled: ["integer", (change) => change.filled],
    updated_ts: ["bigint", (change) => change.updatedTs],
  },
  {
    assignments:
      "status = coalesce(u.status, orders.status), remaining = coalesce(u.remaining, orders.remaining), " +
      "reason = u.reason, filled = orders.filled + u.filled, updated_ts = u.updated_ts",
    where: "orders.order_id = u.order_id",
    returning: "orders.order_id, orders.currency, orders.client_id",
  },
);

const INSERT_FILLS = insertInto<Fill & OrderFacts>("fills", {
  wallet: ["uuid", ({ delta }) => delta.wallet],
  ts: ["bigint", ({ origin }) => origin.ts],
  place: ["bigint", ({ origin }) => origin.place],
  fill_id: ["uuid", ({ delta }) => delta.fillId],
  match_id: ["uuid", ({ delta }) => delta.matchId],
  order_id: ["uuid", ({ delta }) => delta.orderId],
  client_id: ["text", ({ clientId }) => clientId],
  market_id: ["uuid", ({ delta }) => delta.marketId],
  outcome: ["smallint", ({ delta }) => delta.outcome],
  currency: ["text", ({ currency }) => currency],
  price: ["smallint", ({ delta }) => delta.price],
  qty: ["integer", ({ delta }) => delta.qty],
  cost: ["bigint", ({ delta }) => delta.cost],
  payout: ["bigint", ({ delta }) => delta.payout],
  fee: ["bigint", ({ delta }) => delta.fee],
  credit: ["bigint", ({ delta }) => delta.credit],
  taker: ["boolean", ({ delta }) => delta.taker],
  wash: ["boolean", ({ delta }) => delta.wash],
});

/** The orders and fills of one batch of entries. */
export class OrderRows {
  readonly #accepted = new Map<string, NewOrder>();
  readonly #changed = new Map<string, OrderChange>();
  readonly #fills: Fill[] = [];

  accept(delta: AcceptedDelta, origin: Origin): void {
    const { orderId } = delta.order;
    this.#accepted.set(orderId, { delta, origin, change: unchanged(orderId, origin.ts) });
  }

  follow(delta: WalletOrderDelta, origin: Origin): void {
    const change = this.#changeOf(delta.orderId, origin.ts);
    change.updatedTs = origin.ts;
    switch (delta.kind) {
      case "open":
        change.status = "OPEN";
        change.remaining = delta.qty;
        return;
      case "fill":
        change.filled += delta.qty;
        change.remaining = delta.remaining;
        if (delta.remaining === 0) change.status = "FILLED";
        this.#fills.push({ delta, origin });
        return;
      case "reduce":
        change.remaining = delta.remaining;
        return;
      case "cancel":
        change.status = "CANCELED";
        change.remaining = delta.remaining;
        change.reason = delta.reason;
        return;
      case "reject":
        change.status = "REJECTED";
        change.reason = delta.reason;
        return;
      default:
        unreachable(delta);
    }
  }

  #changeOf(orderId: string, ts: number): OrderChange {
    const accepted = this.#accepted.get(orderId);
    if (accepted !== undefined) return accepted.change;
    const known = this.#changed.get(orderId);
    if (known !== undefined) return known;
    const change = unchanged(orderId, ts);
    this.#changed.set(orderId, change);
    return change;
  }

  /** Writes the orders, then the fills with what their orders say. Throws when an order is not in the tables. */
  async write(client: pg.ClientBase): Promise<void> {
    await writeRows(client, INSERT_ORDERS, [...this.#accepted.values()]);
    const updated = await writeRows<OrderChange, UpdatedOrder>(client, UPDATE_ORDERS, [
      ...this.#changed.values(),
    ]);
    const facts = new Map<string, OrderFacts>();
    for (const { order_id: orderId, currency, client_id: clientId } of updated) {
      facts.set(orderId, { currency, clientId });
    }
    for (const [orderId, { delta }] of this.#accepted) {
      facts.set(orderId, { currency: delta.order.currency, clientId: delta.clientId ?? null });
    }
    const fills = this.#fills.map((fill) => {
      const order = facts.get(fill.delta.orderId);
      if (order === undefined) throw new Error(`fill ${fill.delta.fillId} has no order`);
      return { ...fill, ...order };
    });
    await writeRows(client, INSERT_FILLS, fills);
  }
}

function unchanged(orderId: string, ts: number): OrderChange {
  return {
    orderId,
    status: undefined,
    remaining: undefined,
    reason: undefined,
    filled: 0,
    updatedTs: ts,
  };
}
