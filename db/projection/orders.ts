/** Orders and fills, from the ledgers' `accepted` and `order` deltas. */

import type pg from "pg";
import { isFixed } from "../../actors/ledger/ids/digest.js";
import type { AcceptedDelta, WalletOrderDelta } from "../../actors/ledger/deltas.js";
import { contracts, NONE } from "../../actors/units.js";
import { unreachable } from "../../actors/unreachable.js";
import { fills, orders } from "../schema/wallets.js";
import { type Origin, UnprojectableDelta } from "./origin.js";
import { insertInto, updateRows, writeExistingRows, writeRows, type RowsOf } from "./rows.js";

const INSERT_ORDERS = insertInto(orders);
/** Updates orders of some partitions. An order that ends moves to the partition of its month. */
const updateOrders = (part: { readonly name: string; readonly condition: string }) =>
  updateRows(
    orders,
    {
      orderId: "key",
      status: "replaceUnlessNull",
      remaining: "replaceUnlessNull",
      reason: "replace",
      filled: "add",
      updatedTs: "replace",
      endedTs: "replace",
    },
    ["orderId", "currency", "clientId"],
    part,
  );
const UPDATE_LIVE_ORDERS = updateOrders({ name: "live_", condition: "orders.ended_ts = 0" });
const UPDATE_OTHER_ORDERS = updateOrders({
  name: "other_",
  condition: "(orders.ended_ts < 0 or orders.ended_ts > 0)",
});
const INSERT_FILLS = insertInto(fills);

type OrderRow = typeof orders.$inferSelect;
type FillRow = typeof fills.$inferSelect;
type FillDelta = Extract<WalletOrderDelta, { kind: "fill" }>;
/** The changes of an order in a batch: the last value of each field, and the sum of the fills. */
type OrderChange = RowsOf<typeof UPDATE_LIVE_ORDERS>;
/** The columns of a fill that its delta lacks; they come from its order. */
type OrderFacts = Pick<FillRow, "currency" | "clientId">;
type UpdatedOrder = Pick<OrderRow, "orderId"> & OrderFacts;

/** The orders and fills of one batch of entries. */
export class OrderRows {
  readonly #accepted = new Map<string, OrderRow>();
  readonly #changed = new Map<string, OrderChange>();
  readonly #fills: { readonly delta: FillDelta; readonly origin: Origin }[] = [];

  accept(
    { wallet, marketId, order, clientId, digest, groupId, replaces }: AcceptedDelta,
    { ts, place, seq }: Origin,
  ): void {
    const { orderId, trader, outcome, currency, price, qty, tif, expiresAt } = order;
    this.#accepted.set(orderId, {
      orderId,
      wallet,
      traderId: trader,
      marketId,
      outcome,
      currency,
      price,
      qty,
      filled: NONE,
      remaining: qty,
      tif,
      status: "PENDING",
      reason: null,
      clientId: clientId ?? null,
      digest: digest !== undefined && isFixed(digest) ? digest : null,
      groupId: groupId ?? null,
      replaces: replaces?.orderId ?? null,
      expiresTs: expiresAt ?? null,
      ts,
      place,
      seq,
      updatedTs: ts,
      endedTs: 0,
    });
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
        change.filled = contracts(change.filled + delta.qty);
        change.remaining = delta.remaining;
        if (delta.remaining === 0) {
          change.status = "FILLED";
          change.endedTs = origin.ts;
        }
        this.#fills.push({ delta, origin });
        return;
      case "reduce":
        change.remaining = delta.remaining;
        return;
      case "cancel":
        change.status = "CANCELED";
        change.remaining = delta.remaining;
        change.reason = delta.reason ?? null;
        change.endedTs = origin.ts;
        return;
      case "reject":
        change.status = "REJECTED";
        change.reason = delta.reason;
        change.endedTs = origin.ts;
        return;
      default:
        unreachable(delta);
    }
  }

  /** Returns the row of an order that this batch accepts, or else the change of an order in the tables. */
  #changeOf(orderId: string, ts: number): OrderChange {
    const known = this.#accepted.get(orderId) ?? this.#changed.get(orderId);
    if (known !== undefined) return known;
    const change: OrderChange = {
      orderId,
      status: null,
      remaining: null,
      reason: null,
      filled: NONE,
      updatedTs: ts,
      endedTs: 0,
    };
    this.#changed.set(orderId, change);
    return change;
  }

  /** Writes the orders, then the fills with the facts of their orders. Throws when an order is not in the tables. */
  async write(client: pg.ClientBase): Promise<void> {
    await writeRows(client, INSERT_ORDERS, [...this.#accepted.values()]);
    const facts = new Map<string, OrderFacts>(this.#accepted);
    for (const order of await this.#update(client)) facts.set(order.orderId, order);
    const rows = this.#fills.map(({ delta, origin }) => {
      const order = facts.get(delta.orderId);
      if (order === undefined) throw new UnprojectableDelta(origin, delta, "its order is not in the tables");
      return fillRow(delta, origin, order);
    });
    await writeRows(client, INSERT_FILLS, rows);
  }

  /**
   * Updates the orders of earlier batches. Those in the live partition come first: only orders that are older than the
   * partitions, and in a repair orders that lost entries had ended, are in another one.
   */
  async #update(client: pg.ClientBase): Promise<readonly UpdatedOrder[]> {
    const changes = [...this.#changed.values()];
    const live = await writeExistingRows(client, UPDATE_LIVE_ORDERS, changes);
    if (live.length === changes.length) return live;
    const found = new Set(live.map(({ orderId }) => orderId));
    const others = changes.filter(({ orderId }) => !found.has(orderId));
    return [...live, ...(await writeRows(client, UPDATE_OTHER_ORDERS, others))];
  }
}

function fillRow(delta: FillDelta, { ts, place, seq }: Origin, { currency, clientId }: OrderFacts): FillRow {
  return {
    wallet: delta.wallet,
    ts,
    place,
    seq,
    fillId: delta.fillId,
    matchId: delta.matchId,
    orderId: delta.orderId,
    clientId,
    marketId: delta.marketId,
    outcome: delta.outcome,
    currency,
    price: delta.price,
    qty: delta.qty,
    cost: delta.cost,
    payout: delta.payout,
    fee: delta.fee,
    credit: delta.credit,
    taker: delta.taker,
    wash: delta.wash,
  };
}
