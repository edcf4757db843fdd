/** The bodies, answers and messages that a client exchanges with the service (contract sections 5, 6 and 8). */

import { z } from "zod";
import { TIMES_IN_FORCE } from "../../actors/market/time-in-force.js";
import { MARKET_STATUSES, type Currency, type SelfTrade } from "../../actors/market/types.js";
import { TRANSFER_STATUSES, ORDER_STATUSES } from "../../actors/ledger/types.js";

const Text = z.string();
const Whole = z.number().int();

export const TimeInForce = z.enum(TIMES_IN_FORCE);
export const OrderStatus = z.enum(ORDER_STATUSES);
export type OrderStatus = z.infer<typeof OrderStatus>;

/** One order to place. Prices are decimal strings on the grid; `qty` counts contracts. */
export interface PlaceOrder {
  readonly outcomeId: string;
  readonly price: string;
  readonly qty: number;
  readonly tif: z.infer<typeof TimeInForce>;
  readonly ttl?: number;
  /** A uuid that makes a repeat of the order safe for 24 hours. */
  readonly clientId?: string;
  readonly currency?: Currency;
  readonly selfTrade?: SelfTrade;
  readonly notAfter?: number;
  readonly groupId?: string;
}

export const OrderAccepted = z.object({ orderId: Text, clientId: Text.nullish() });
export type OrderAccepted = z.infer<typeof OrderAccepted>;

export const BatchOrderError = z.object({
  index: Whole,
  outcomeId: Text,
  reason: Text,
  code: Text.optional(),
});
export type BatchOrderError = z.infer<typeof BatchOrderError>;

/** What became of a batch: every order is in one of the two lists. */
export interface BatchPlaced {
  readonly accepted: readonly OrderAccepted[];
  readonly rejected: readonly BatchOrderError[];
}

export const BatchAnswer = z.object({
  accepted: z.array(OrderAccepted).default([]),
  rejected: z.array(BatchOrderError).default([]),
});

export const CancelAnswer = z.object({
  canceled: z.array(Text),
  notCanceled: z.array(z.object({ orderId: Text, reason: Text })),
});
export type CancelAnswer = z.infer<typeof CancelAnswer>;

export const CancelAllAnswer = z.object({ canceled: Whole });

export const OrderAnswer = z.object({
  orderId: Text,
  clientId: Text.nullish(),
  marketId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  remaining: Whole,
  tif: TimeInForce,
  status: OrderStatus,
  reason: Text.nullish(),
});
export type OrderAnswer = z.infer<typeof OrderAnswer>;

export const OpenOrder = z.object({
  orderId: Text,
  clientId: Text.nullish(),
  marketId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  tif: TimeInForce,
  expiresAt: Whole.optional(),
  currency: z.literal("COIN").optional(),
});
export type OpenOrder = z.infer<typeof OpenOrder>;

const BookOrder = z.object({ orderId: Text, price: Text, qty: Whole });
export type BookOrder = z.infer<typeof BookOrder>;

/** A book: per outcome the resting orders, best first, then queue order. */
export const BookAnswer = z.object({ seq: Whole, orders: z.record(Text, z.array(BookOrder)) });
export type BookAnswer = z.infer<typeof BookAnswer>;

export const BalanceAnswer = z.object({ keyId: Text, balance: Text, available: Text, reserved: Text });
export type BalanceAnswer = z.infer<typeof BalanceAnswer>;

export const PositionAnswer = z.object({
  marketId: Text,
  outcomeId: Text,
  qty: Whole,
  cost: Text,
  currency: z.literal("COIN").optional(),
});
export type PositionAnswer = z.infer<typeof PositionAnswer>;

export const FillAnswer = z.object({
  fillId: Text,
  orderId: Text,
  marketId: Text,
  outcomeId: Text,
  qty: Whole,
  cost: Text,
  taker: z.boolean(),
  fee: Text.nullish(),
  ts: Whole,
});

export const TransactionAnswer = z.object({
  transactionId: Text,
  kind: Text,
  amount: Text,
  ts: Whole,
  ref: Text,
});

export const TransferAnswer = z.object({
  transferId: Text,
  status: z.enum(["Requested", ...TRANSFER_STATUSES]),
  amount: Text,
  actualBalance: Text.nullish(),
});
export type TransferAnswer = z.infer<typeof TransferAnswer>;

const Bucket = z.object({ capacity: z.number(), refillPerSec: z.number(), remaining: z.number() });
export const LimitsAnswer = z.object({
  read: Bucket,
  account: Bucket,
  place: Bucket,
  cancel: Bucket,
  stream: Bucket,
  history: Bucket,
  maxWatchedMarkets: Whole,
});

export const NewKey = z.object({ keyId: Text, fingerprint: Text });
export const SubaccountAnswer = z.object({ keyId: Text, label: Text, balance: Text });

export const MarketAnswer = z.object({
  marketId: Text,
  eventId: Text,
  marketType: Text,
  status: z.enum(MARKET_STATUSES),
  description: Text,
  outcomes: z.array(z.object({ outcomeId: Text, name: Text, status: Text })),
  /** Only the operator is told. */
  paused: z.boolean().optional(),
});
export type MarketAnswer = z.infer<typeof MarketAnswer>;

export const EventAnswer = z.object({
  eventId: Text,
  sport: Text,
  league: Text,
  status: Text,
  description: Text,
  startsTs: Whole,
});
export type EventAnswer = z.infer<typeof EventAnswer>;

/** One page of a list; `next` is absent on the last. */
export function pageOf<T extends z.core.$ZodType>(item: T) {
  return z.object({ items: z.array(item), next: Text.nullish() });
}

export const RegisterAnswer = z.object({ traderId: Text, email: Text });
export const LoginAnswer = z.object({ token: Text });
export const SessionAnswer = z.object({
  traderId: Text,
  email: Text,
  role: Text,
  kyc: Text,
  cash: z.object({ CASH: Text, COIN: Text }),
});

export const SettlementAnswer = z.object({ status: Text });
export const OperatorTransaction = z.object({ transactionId: Text });
export const TicksAnswer = z.object({ prices: z.array(Text) });

const Money = z.object({
  deposits: Text,
  withdrawals: Text,
  adjustments: Text,
  wallets: Text,
  reserved: Text,
  escrow: Text,
  house: Text,
  inFlight: Text,
  difference: Text,
});
export type Money = z.infer<typeof Money>;
const MoneyByCurrency = z.object({ CASH: Money, COIN: Money });
export const MoneyReport = z.object({
  agree: z.boolean(),
  actors: MoneyByCurrency,
  postgres: MoneyByCurrency,
});
export type MoneyReport = z.infer<typeof MoneyReport>;

const Seq = { seq: Whole };

export const OrdersDelta = z.discriminatedUnion("kind", [
  OpenOrder.extend({ kind: z.literal("open") }),
  z.object({
    kind: z.literal("fill"),
    orderId: Text,
    outcomeId: Text,
    price: Text,
    qty: Whole,
    remaining: Whole,
    clientId: Text.nullish(),
    wash: z.boolean().optional(),
  }),
  z.object({ kind: z.literal("cancel"), orderId: Text, reason: Text.nullish() }),
  z.object({ kind: z.literal("reject"), orderId: Text, reason: Text.nullish() }),
]);
export type OrdersDelta = z.infer<typeof OrdersDelta>;

export const BookDelta = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("add"), orderId: Text, outcomeId: Text, price: Text, qty: Whole }),
  z.object({ kind: z.literal("update"), orderId: Text, remaining: Whole }),
  z.object({ kind: z.literal("remove"), orderId: Text, reason: Text.nullish() }),
]);
export type BookDelta = z.infer<typeof BookDelta>;

const Level = z.object({ price: Text, qty: Whole });
/** A best bid level. */
export type Level = z.infer<typeof Level>;

/** The new best bid of an outcome; `null`, or absent: it has none. */
export const BboDelta = z.object({ outcomeId: Text, bbo: Level.nullish() });
export type BboDelta = z.infer<typeof BboDelta>;

export const TradeDelta = z.object({ outcomeId: Text, price: Text, qty: Whole, tradeId: Text, ts: Whole });
export type TradeDelta = z.infer<typeof TradeDelta>;

export const LifecycleDelta = z.object({ kind: Text, status: Text });
export type LifecycleDelta = z.infer<typeof LifecycleDelta>;

function batchOf<T extends z.core.$ZodType>(delta: T) {
  return z.object({ ...Seq, deltas: z.array(delta) });
}

/** The public batches of one market in a frame. */
export const MarketBatches = z.object({
  eventId: Text,
  lifecycle: batchOf(LifecycleDelta).optional(),
  trades: batchOf(TradeDelta).optional(),
  bbo: batchOf(BboDelta).optional(),
  book: batchOf(BookDelta).optional(),
});
export type MarketBatches = z.infer<typeof MarketBatches>;

/** A frame with deltas of markets or of the caller's own channels. */
export const DeltaFrame = z.object({
  ts: Whole,
  delta: z.record(Text, MarketBatches),
  orders: batchOf(OrdersDelta).optional(),
  positions: batchOf(PositionAnswer).optional(),
});
export type DeltaFrame = z.infer<typeof DeltaFrame>;

/** A market at one moment, by the channels that were asked for. */
export const MarketSnapshot = z.object({
  eventId: Text,
  lifecycle: z.object({ ...Seq, status: Text }).optional(),
  trades: z.object({ ...Seq, trades: z.array(batchOf(TradeDelta)) }).optional(),
  bbo: z.object({ ...Seq, bbo: z.record(Text, Level.nullable()) }).optional(),
  book: BookAnswer.optional(),
});
export type MarketSnapshot = z.infer<typeof MarketSnapshot>;

/** The state at one moment, as `subscribe` and `snapshot` answer it. `resumed` names what goes on where it was. */
export const SnapshotFrame = z.object({
  resumed: z.record(Text, z.unknown()).optional(),
  snapshot: z.record(Text, MarketSnapshot),
  orders: z.object({ ...Seq, open: z.array(OpenOrder) }).optional(),
  positions: z.object({ ...Seq, positions: z.array(PositionAnswer) }).optional(),
});
export type SnapshotFrame = z.infer<typeof SnapshotFrame>;

/** The last seq of everything watched; books with their checksum. */
export const HeartbeatFrame = z.object({
  heartbeat: z.object({
    orders: Whole.optional(),
    positions: Whole.optional(),
    markets: z.record(Text, z.record(Text, Whole)).optional(),
  }),
});
export type HeartbeatFrame = z.infer<typeof HeartbeatFrame>;
