/** The bodies, answers and messages that a client exchanges with the service (contract sections 5, 6 and 8). */

import { z } from "zod/mini";
import { TIMES_IN_FORCE } from "../../actors/market/time-in-force.js";
import { MARKET_STATUSES, type Currency, type SelfTrade } from "../../actors/market/types.js";
import { TRANSFER_STATUSES, ORDER_STATUSES } from "../../actors/ledger/types.js";

const Text = z.string();
const Whole = z.int();

/** Times in force (contract section 2.6). */
const TimeInForce = z.enum(TIMES_IN_FORCE);
/** Order statuses (contract section 2.8). */
export const OrderStatus = z.enum(ORDER_STATUSES);
export type OrderStatus = z.infer<typeof OrderStatus>;

/** One order to place (contract section 5.15). */
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

/** One accepted order of a placement. */
export const OrderAccepted = z.object({ orderId: Text, clientId: z.nullish(Text) });
export type OrderAccepted = z.infer<typeof OrderAccepted>;

/** One refused order of a batch; `index` is its zero-based position in the request. */
const BatchOrderError = z.object({
  index: Whole,
  outcomeId: Text,
  reason: Text,
  code: z.optional(Text),
});
type BatchOrderError = z.infer<typeof BatchOrderError>;

/** Result of a batch placement: every order is in one of the two lists. */
export interface BatchPlaced {
  readonly accepted: readonly OrderAccepted[];
  readonly rejected: readonly BatchOrderError[];
}

/** Answer to a batch placement (contract section 5.15). */
export const BatchAnswer = z.object({
  accepted: z._default(z.array(OrderAccepted), []),
  rejected: z._default(z.array(BatchOrderError), []),
});

/** Answer to a cancel by ids (contract section 5.16). */
export const CancelAnswer = z.object({
  canceled: z.array(Text),
  notCanceled: z.array(z.object({ orderId: Text, reason: Text })),
});
export type CancelAnswer = z.infer<typeof CancelAnswer>;

/** Answer to a cancel of all orders: the number of cancels that were queued (contract section 5.16). */
export const CancelAllAnswer = z.object({ canceled: Whole });

/** An order in any status; `remaining` is its unfilled quantity (contract section 5.17). */
export const OrderAnswer = z.object({
  orderId: Text,
  clientId: z.nullish(Text),
  marketId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  remaining: Whole,
  tif: TimeInForce,
  status: OrderStatus,
  reason: z.nullish(Text),
});
export type OrderAnswer = z.infer<typeof OrderAnswer>;

/** A resting order; `qty` is the resting quantity, `expiresAt` is Unix ms (contract section 5.17). */
export const OpenOrder = z.object({
  orderId: Text,
  clientId: z.nullish(Text),
  marketId: Text,
  outcomeId: Text,
  price: Text,
  qty: Whole,
  tif: TimeInForce,
  expiresAt: z.optional(Whole),
  currency: z.optional(z.literal("COIN")),
});
export type OpenOrder = z.infer<typeof OpenOrder>;

/** One resting order of a book. */
const BookOrder = z.object({ orderId: Text, price: Text, qty: Whole });
export type BookOrder = z.infer<typeof BookOrder>;

/** A book: resting orders by outcome, best price first, then queue order. */
export const BookAnswer = z.object({
  seq: Whole,
  orders: z.record(Text, z.array(BookOrder)),
  /** Cursor of the next page of a long book. */
  next: z.optional(Text),
});
export type BookAnswer = z.infer<typeof BookAnswer>;

/** Balance of a subaccount in dollars: in all, available and reserved (contract section 5.13). */
export const BalanceAnswer = z.object({ keyId: Text, balance: Text, available: Text, reserved: Text });
export type BalanceAnswer = z.infer<typeof BalanceAnswer>;

/** Contracts held of an outcome and their cost in dollars (contract section 5.17). */
export const PositionAnswer = z.object({
  marketId: Text,
  outcomeId: Text,
  qty: Whole,
  cost: Text,
  currency: z.optional(z.literal("COIN")),
});
export type PositionAnswer = z.infer<typeof PositionAnswer>;

/** One execution of an own order; `ts` is Unix ms (contract section 5.17). */
export const FillAnswer = z.object({
  fillId: Text,
  orderId: Text,
  marketId: Text,
  outcomeId: Text,
  qty: Whole,
  cost: Text,
  taker: z.boolean(),
  fee: z.nullish(Text),
  ts: Whole,
});

/** One movement of money; `amount` is signed, `ts` is Unix ms (contract section 5.13). */
export const TransactionAnswer = z.object({
  transactionId: Text,
  kind: Text,
  amount: Text,
  ts: Whole,
  ref: Text,
});

/** A transfer; `actualBalance` is set when it was rejected (contract section 5.13). */
export const TransferAnswer = z.object({
  transferId: Text,
  status: z.enum(TRANSFER_STATUSES),
  amount: Text,
  actualBalance: z.nullish(Text),
});
export type TransferAnswer = z.infer<typeof TransferAnswer>;

const Bucket = z.object({ capacity: z.number(), refillPerSec: z.number(), remaining: z.number() });
/** Token buckets of a key, and the cap on watched markets (contract section 5.11). */
export const LimitsAnswer = z.object({
  read: Bucket,
  account: Bucket,
  place: Bucket,
  cancel: Bucket,
  stream: Bucket,
  history: Bucket,
  maxWatchedMarkets: Whole,
});

/** A ticket for the stream (contract section 6.1). */
export const TicketAnswer = z.object({ ticket: Text });

/** A created key (contract section 5.12). */
export const NewKey = z.object({ keyId: Text, fingerprint: Text });
/** A subaccount with its balance in dollars (contract section 5.13). */
export const SubaccountAnswer = z.object({ keyId: Text, label: Text, balance: Text });

/** A market of the catalog (contract section 5.14). */
export const MarketAnswer = z.object({
  marketId: Text,
  eventId: Text,
  marketType: Text,
  status: z.enum(MARKET_STATUSES),
  description: Text,
  outcomes: z.array(z.object({ outcomeId: Text, name: Text, status: Text })),
  /** Present only in answers to the operator. */
  paused: z.optional(z.boolean()),
});
export type MarketAnswer = z.infer<typeof MarketAnswer>;

/** An event of the catalog; `startsTs` is Unix ms (contract section 5.14). */
export const EventAnswer = z.object({
  eventId: Text,
  sport: Text,
  league: Text,
  status: Text,
  description: Text,
  startsTs: Whole,
});
export type EventAnswer = z.infer<typeof EventAnswer>;

/** One page of a list; `next` is absent on the last page. */
export function pageOf<T extends z.core.$ZodType>(item: T) {
  return z.object({ items: z.array(item), next: z.nullish(Text) });
}

/** Answer to a registration (contract section 8.1). */
export const RegisterAnswer = z.object({ traderId: Text, email: Text });
/** Answer to a login (contract section 8.1). */
export const LoginAnswer = z.object({ token: Text });
/** The trader of a web session, with the cash of their own wallet in dollars (contract section 8.1). */
export const SessionAnswer = z.object({
  traderId: Text,
  email: Text,
  role: Text,
  kyc: Text,
  cash: z.object({ CASH: Text, COIN: Text }),
});

/** Status of a settlement (contract section 8.9). */
export const SettlementAnswer = z.object({ status: Text });
/** A transaction that the operator posted (contract section 8.10). */
export const OperatorTransaction = z.object({ transactionId: Text });
/** The tick table: the submittable prices, rising (contract section 1.4). */
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
type Money = z.infer<typeof Money>;
const MoneyByCurrency = z.object({ CASH: Money, COIN: Money });
/** Money report, computed from the live actors and again from Postgres (contract section 8.17). */
export const MoneyReport = z.object({
  agree: z.boolean(),
  actors: MoneyByCurrency,
  postgres: MoneyByCurrency,
});
export type MoneyReport = z.infer<typeof MoneyReport>;

const Seq = { seq: Whole };

/** One delta of the private orders channel (contract section 6.9). */
export const OrdersDelta = z.discriminatedUnion("kind", [
  z.extend(OpenOrder, { kind: z.literal("open") }),
  z.object({
    kind: z.literal("fill"),
    orderId: Text,
    outcomeId: Text,
    price: Text,
    qty: Whole,
    remaining: Whole,
    clientId: z.nullish(Text),
    wash: z.optional(z.boolean()),
  }),
  z.object({ kind: z.literal("cancel"), orderId: Text, reason: z.nullish(Text) }),
  z.object({ kind: z.literal("reject"), orderId: Text, reason: z.nullish(Text) }),
]);
export type OrdersDelta = z.infer<typeof OrdersDelta>;

/** One delta of a book (contract section 6.8). */
export const BookDelta = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("add"), orderId: Text, outcomeId: Text, price: Text, qty: Whole }),
  z.object({ kind: z.literal("update"), orderId: Text, remaining: Whole }),
  z.object({ kind: z.literal("remove"), orderId: Text, reason: z.nullish(Text) }),
]);
export type BookDelta = z.infer<typeof BookDelta>;

const Level = z.object({ price: Text, qty: Whole });
/** A best bid level. */
export type Level = z.infer<typeof Level>;

/** The new best bid of an outcome; `null` or absent when it has no bid. */
export const BboDelta = z.object({ outcomeId: Text, bbo: z.nullish(Level) });
export type BboDelta = z.infer<typeof BboDelta>;

/** One public trade; `ts` is Unix ms (contract section 6.8). */
export const TradeDelta = z.object({ outcomeId: Text, price: Text, qty: Whole, tradeId: Text, ts: Whole });
export type TradeDelta = z.infer<typeof TradeDelta>;

/** One lifecycle transition, with the market status after it (contract section 6.8). */
export const LifecycleDelta = z.object({ kind: Text, status: Text });
export type LifecycleDelta = z.infer<typeof LifecycleDelta>;

function batchOf<T extends z.core.$ZodType>(delta: T) {
  return z.object({ ...Seq, deltas: z.array(delta) });
}

/** Public batches of one market in a frame. */
export const MarketBatches = z.object({
  eventId: Text,
  lifecycle: z.optional(batchOf(LifecycleDelta)),
  trades: z.optional(batchOf(TradeDelta)),
  bbo: z.optional(batchOf(BboDelta)),
  book: z.optional(batchOf(BookDelta)),
});
export type MarketBatches = z.infer<typeof MarketBatches>;

/** A frame with deltas of markets or of private channels. */
export const DeltaFrame = z.object({
  ts: Whole,
  delta: z.record(Text, MarketBatches),
  orders: z.optional(batchOf(OrdersDelta)),
  positions: z.optional(batchOf(PositionAnswer)),
});
export type DeltaFrame = z.infer<typeof DeltaFrame>;

/** Snapshot of a market, by requested channels. */
export const MarketSnapshot = z.object({
  eventId: Text,
  lifecycle: z.optional(z.object({ ...Seq, status: Text })),
  trades: z.optional(z.object({ ...Seq, trades: z.array(batchOf(TradeDelta)) })),
  bbo: z.optional(z.object({ ...Seq, bbo: z.record(Text, z.nullable(Level)) })),
  book: z.optional(BookAnswer),
});
export type MarketSnapshot = z.infer<typeof MarketSnapshot>;

/** Answer to `subscribe` and `snapshot`. `resumed` names the channels that resume; the others have a snapshot. */
export const SnapshotFrame = z.object({
  resumed: z.optional(z.record(Text, z.unknown())),
  snapshot: z.record(Text, MarketSnapshot),
  orders: z.optional(z.object({ ...Seq, open: z.array(OpenOrder) })),
  positions: z.optional(z.object({ ...Seq, positions: z.array(PositionAnswer) })),
});
export type SnapshotFrame = z.infer<typeof SnapshotFrame>;

/** Last seq of every watched channel, with the checksums of books. */
export const HeartbeatFrame = z.object({
  heartbeat: z.object({
    orders: z.optional(Whole),
    positions: z.optional(Whole),
    markets: z.optional(z.record(Text, z.record(Text, Whole))),
  }),
});
export type HeartbeatFrame = z.infer<typeof HeartbeatFrame>;
