/** Orders, cancels, positions, fills and the switches of safety (contract sections 5.15 to 5.18). */

import { z } from "zod/mini";
import { ORDER_STATUSES } from "../../../actors/ledger/types.js";
import type { Currency, SelfTrade } from "../../../actors/market/types.js";
import { Coin, Text, TimeInForce, Whole } from "./values.js";

/** Order statuses (contract section 2.8). */
export const OrderStatus = z.enum(ORDER_STATUSES);
export type OrderStatus = z.infer<typeof OrderStatus>;

/** One order to place. */
export interface PlaceOrder {
  readonly outcomeId: string;
  /** Decimal string on the tick table, such as `"0.665"`. */
  readonly price: string;
  /** Number of contracts. */
  readonly qty: number;
  readonly tif: z.infer<typeof TimeInForce>;
  /** Time to live in ms, from 1,000 to 30 days; for GTT (required) and PO. */
  readonly ttl?: number;
  /** A uuid of your own. Within 24 hours the same order with the same id is placed once. */
  readonly clientId?: string;
  /** Book of the order (default CASH). */
  readonly currency?: Currency;
  /** Treatment of a match with an order of the same trader (default `wash`). */
  readonly selfTrade?: SelfTrade;
  /** The market rejects the order when it arrives after this time, Unix ms. */
  readonly notAfter?: number;
  /** Order group whose fill limit applies to the order. */
  readonly groupId?: string;
}

/** Change of a resting order; the parts that are left out stay. */
export interface OrderChange {
  readonly qty?: number;
  readonly price?: string;
  /** The market rejects the change when it arrives after this time, Unix ms. */
  readonly notAfter?: number;
}

/** One accepted order of a placement. */
export const OrderAccepted = z.object({ orderId: Text, clientId: z.optional(Text) });
export type OrderAccepted = z.infer<typeof OrderAccepted>;

/** One refused order of a batch; `index` is its zero-based position in the request. */
const BatchOrderError = z.object({ index: Whole, outcomeId: Text, reason: Text });
type BatchOrderError = z.infer<typeof BatchOrderError>;

/** Result of a batch placement: every order is in one of the two lists. */
export interface BatchPlaced {
  readonly accepted: readonly OrderAccepted[];
  readonly rejected: readonly BatchOrderError[];
}

/** Answer to a batch placement; that to a refused one has no `accepted`. */
export const BatchAnswer = z.object({
  code: z.optional(Text),
  message: z.optional(Text),
  accepted: z.optional(z.array(OrderAccepted)),
  rejected: z.optional(z.array(BatchOrderError)),
});

/** Returns the orders of an answer to a batch, where either list may be missing. */
export function placedOf({ accepted = [], rejected = [] }: z.infer<typeof BatchAnswer>): BatchPlaced {
  return { accepted, rejected };
}

/** An amended order. */
export const AmendAnswer = z.object({ orderId: Text });

/** Result of an order if it were placed now; money in dollars. */
export const PreviewAnswer = z.object({
  reserve: Text,
  fee: Text,
  fills: z.array(z.object({ price: Text, qty: Whole })),
  rests: Whole,
  queueAhead: Whole,
  reject: z.optional(Text),
  partial: z.optional(z.literal(true)),
});
export type PreviewAnswer = z.infer<typeof PreviewAnswer>;

/** Answer to a cancel by ids. */
export const CancelAnswer = z.object({
  canceled: z.array(Text),
  notCanceled: z.array(z.object({ orderId: Text, reason: Text })),
});
export type CancelAnswer = z.infer<typeof CancelAnswer>;

/** Answer to a cancel of one order: its status after the cancel. */
export const CancelOneAnswer = z.object({ orderId: Text, status: OrderStatus });
export type CancelOneAnswer = z.infer<typeof CancelOneAnswer>;

/** Answer to a cancel of all orders: the number of cancels that were queued. */
export const CancelAllAnswer = z.object({ canceled: Whole });

/** An order in any status; `remaining` is its unfilled quantity, times are Unix ms. */
export const OrderAnswer = z.object({
  orderId: Text,
  clientId: z.optional(Text),
  /** The order whose place this one took by an amendment. */
  replaces: z.optional(Text),
  marketId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  remaining: Whole,
  tif: TimeInForce,
  status: OrderStatus,
  reason: z.optional(Text),
  createdTs: Whole,
  expiresTs: z.optional(Whole),
  ...Coin,
});
export type OrderAnswer = z.infer<typeof OrderAnswer>;

/** A resting order; `qty` is the resting quantity, `expiresAt` is Unix ms. */
export const OpenOrder = z.object({
  orderId: Text,
  clientId: z.optional(Text),
  marketId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  tif: TimeInForce,
  expiresAt: z.optional(Whole),
  ...Coin,
});
export type OpenOrder = z.infer<typeof OpenOrder>;

/** All resting orders of a wallet, with the last batch of the orders channel. */
export const OpenOrders = z.object({ seq: Whole, open: z.array(OpenOrder) });
export type OpenOrders = z.infer<typeof OpenOrders>;

/** Contracts held of an outcome and their cost in dollars. */
export const PositionAnswer = z.object({
  marketId: Text,
  outcomeId: Text,
  qty: Whole,
  cost: Text,
  ...Coin,
});
export type PositionAnswer = z.infer<typeof PositionAnswer>;

/** All positions of a wallet, with the last batch of the positions channel. */
export const HeldPositions = z.object({ seq: Whole, positions: z.array(PositionAnswer) });
export type HeldPositions = z.infer<typeof HeldPositions>;

/** One execution of an own order; `ts` is Unix ms. */
export const FillAnswer = z.object({
  fillId: Text,
  orderId: Text,
  clientId: z.optional(Text),
  marketId: Text,
  outcomeId: Text,
  qty: Whole,
  cost: Text,
  taker: z.boolean(),
  fee: z.optional(Text),
  wash: z.optional(z.literal(true)),
  ts: Whole,
  ...Coin,
});
export type FillAnswer = z.infer<typeof FillAnswer>;

/** The dead-man switch: the time after the last heartbeat until all orders are canceled, in ms; 0 is off. */
export const HeartbeatAnswer = z.object({ timeoutMs: Whole });

/** An order group to create. */
export interface NewGroup {
  readonly groupId?: string;
  /** Contracts that the group may fill within the window before it trips. */
  readonly maxFilledQty: number;
  readonly windowMs: number;
}

/** An order group; a tripped one takes no orders until it is reset. */
export const GroupAnswer = z.object({
  groupId: Text,
  maxFilledQty: Whole,
  windowMs: Whole,
  tripped: z.boolean(),
});
export type GroupAnswer = z.infer<typeof GroupAnswer>;
export const GroupsRemoved = z.object({ removed: Whole });
