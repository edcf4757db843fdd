/**
 * The deltas of a market. The state of a market is the fold of its deltas, and gateways, ledgers and the projector read
 * only these deltas. `seq` numbers the batches of a public channel by market and currency: all deltas of one command on
 * one channel have the same `seq`, and the next command with a delta on that channel has the next number. Each
 * life-cycle step is a batch of its own, even when one command takes several.
 */

import type { Contracts, Millicents, Ticks } from "../units.js";
import { unreachable } from "../unreachable.js";
import type {
  CancelReason,
  Currency,
  FeeSchedule,
  Grade,
  LifecycleKind,
  MarketDefinition,
  MarketStatus,
  Order,
  RejectReason,
  Voids,
} from "./types.js";

/** The owner of an order or a position: the wallet, and the ledger shard that receives its effects. */
interface Owner {
  readonly wallet: string;
  readonly ledger: number;
}

/** Creation of the market. */
export interface CreatedDelta {
  readonly type: "created";
  readonly definition: MarketDefinition;
}

/** Change of the configuration. Absent fields stay as they are. */
export interface ConfiguredDelta {
  readonly type: "configured";
  readonly fee?: FeeSchedule | undefined;
  readonly liveDelayMs?: number | undefined;
  readonly description?: string | undefined;
  readonly ticks?: readonly Ticks[] | undefined;
}

/** One life-cycle step, and the status of the market after it. */
export interface LifecycleDelta {
  readonly type: "lifecycle";
  readonly seq: number;
  readonly kind: LifecycleKind;
  readonly status: MarketStatus;
  /** Set on a `CLOSE` that the event has caused. A build that does not know the field leaves the cause unknown. */
  readonly byEvent?: true | undefined;
}

/** Facts of one side of an execution, shared by the deltas of the market and of the ledger, and by the tables. */
export interface FillFacts {
  readonly outcome: number;
  readonly fillId: string;
  readonly matchId: string;
  /** Price that this side pays for a contract. */
  readonly price: Ticks;
  readonly qty: Contracts;
  /** Unfilled quantity of the order after the execution. */
  readonly remaining: Contracts;
  readonly cost: Millicents;
  /** Amount that closing complete sets pays at once. */
  readonly payout: Millicents;
  /** Fee of the taker, never negative. */
  readonly fee: Millicents;
  /** Share of the taker's fee that this maker receives, never negative. */
  readonly credit: Millicents;
  readonly taker: boolean;
  /** True when two orders of one trader met: both lose the quantity, and no money moves. */
  readonly wash: boolean;
}

/** Progress of an order. Every kind goes to the owner's ledger. */
export type OrderDelta =
  /** The order waits for the in-play delay until `untilMs`. */
  | { readonly type: "order"; readonly kind: "hold"; readonly order: Order; readonly untilMs: number }
  /** The order rests in the book with `qty`. */
  | { readonly type: "order"; readonly kind: "open"; readonly order: Order; readonly qty: Contracts }
  | ({
      readonly type: "order";
      readonly kind: "fill";
      readonly orderId: string;
      readonly currency: Currency;
    } & Owner &
      FillFacts)
  /** The order is amended to a lower quantity and keeps its place. */
  | ({
      readonly type: "order";
      readonly kind: "reduce";
      readonly orderId: string;
      readonly remaining: Contracts;
    } & Owner)
  | ({
      readonly type: "order";
      readonly kind: "cancel";
      readonly orderId: string;
      readonly remaining: Contracts;
      readonly reason?: CancelReason | undefined;
    } & Owner)
  | ({
      readonly type: "order";
      readonly kind: "reject";
      readonly orderId: string;
      readonly reason: RejectReason;
    } & Owner);

/** Change of one order in the resting book. */
export type BookDelta =
  | {
      readonly type: "book";
      readonly seq: number;
      readonly currency: Currency;
      readonly kind: "add";
      readonly orderId: string;
      readonly outcome: number;
      readonly price: Ticks;
      readonly qty: Contracts;
    }
  | {
      readonly type: "book";
      readonly seq: number;
      readonly currency: Currency;
      readonly kind: "update";
      readonly orderId: string;
      readonly remaining: Contracts;
    }
  | {
      readonly type: "book";
      readonly seq: number;
      readonly currency: Currency;
      readonly kind: "remove";
      readonly orderId: string;
      readonly reason: "fill" | "cancel";
    };

/** Change of the best bid level of an outcome; `null` when it has no bid. */
export interface BboDelta {
  readonly type: "bbo";
  readonly seq: number;
  readonly currency: Currency;
  readonly outcome: number;
  readonly bbo: { readonly price: Ticks; readonly qty: Contracts } | null;
}

/** Public print of one resting order that was executed, with a price on the grid. */
export interface TradeDelta {
  readonly type: "trade";
  readonly seq: number;
  readonly currency: Currency;
  readonly tradeId: string;
  readonly matchId: string;
  readonly outcome: number;
  readonly price: Ticks;
  readonly qty: Contracts;
}

/** Minting of `qty` complete sets by a match. `outcome` and `price` are the taker's, with the price on the grid. */
export interface MatchDelta {
  readonly type: "match";
  readonly currency: Currency;
  readonly outcome: number;
  readonly price: Ticks;
  readonly qty: Contracts;
}

/** New holding of a wallet in an outcome. Goes to the owner's ledger. */
interface PositionDelta extends Owner {
  readonly type: "position";
  readonly currency: Currency;
  readonly outcome: number;
  readonly qty: Contracts;
  readonly cost: Millicents;
}

/**
 * New amounts that netting on a PUSH market leaves for settlement: `win` is paid if an outcome wins, `push` if the market
 * is pushed (contract section 3.5).
 */
interface LockedDelta extends Owner {
  readonly type: "locked";
  readonly currency: Currency;
  readonly win: Millicents;
  readonly push: Millicents;
}

/** Start of a grade. Payouts follow. */
export interface GradedDelta {
  readonly type: "graded";
  readonly settlementId: string;
  readonly grade: Grade;
}

/** Start of a remediation. Reversals follow. */
export interface RemediatingDelta {
  readonly type: "remediating";
  readonly reason: string;
}

/** Payout of a wallet. Goes to the owner's ledger, which credits it and closes the positions. */
interface PayoutDelta extends Owner {
  readonly type: "payout";
  readonly settlementId: string;
  readonly currency: Currency;
  readonly amount: Millicents;
}

/** Reversal of a payout by remediation, with the holdings that the payout had closed, by outcome. */
interface ReversalDelta extends Owner {
  readonly type: "reversal";
  readonly settlementId: string;
  readonly currency: Currency;
  readonly amount: Millicents;
  readonly voids: Voids;
  readonly outcomes: number;
  readonly holdings: readonly {
    readonly outcome: number;
    readonly qty: Contracts;
    readonly cost: Millicents;
  }[];
}

/** Seqs that every channel leaves out, because the log may have lost batches that were sent with them. */
interface SkippedDelta {
  readonly type: "skipped";
  readonly count: number;
}

export type MarketDelta =
  | CreatedDelta
  | ConfiguredDelta
  | LifecycleDelta
  | OrderDelta
  | BookDelta
  | BboDelta
  | TradeDelta
  | MatchDelta
  | PositionDelta
  | LockedDelta
  | GradedDelta
  | RemediatingDelta
  | PayoutDelta
  | ReversalDelta
  | SkippedDelta;

/** The public channels, in the order in which answers list them (contract section 6.8). */
export const PUBLIC_CHANNELS = ["lifecycle", "trades", "bbo", "book"] as const;
export type PublicChannel = (typeof PUBLIC_CHANNELS)[number];

/** Reader of each kind of delta besides the fold and the tables: a public channel, the owner's ledger, or nobody. */
const MARKET_DELTA_READERS = {
  created: "nobody",
  configured: "nobody",
  lifecycle: "lifecycle",
  order: "ledger",
  book: "book",
  bbo: "bbo",
  trade: "trades",
  match: "nobody",
  position: "ledger",
  locked: "nobody",
  graded: "nobody",
  remediating: "nobody",
  payout: "ledger",
  reversal: "ledger",
  skipped: "nobody",
} as const satisfies Readonly<Record<MarketDelta["type"], PublicChannel | "ledger" | "nobody">>;

type Readers = typeof MARKET_DELTA_READERS;
type ReadBy<Reader> = { [T in keyof Readers]: Readers[T] extends Reader ? T : never }[keyof Readers];

type LedgerDelta = Extract<MarketDelta, { type: ReadBy<"ledger"> }>;
type OpenDelta = Extract<OrderDelta, { kind: "open" }>;

/** Deltas of a market that the owner's ledger applies. Of an order that rests, the ledger reads the ids alone. */
export type EffectDelta =
  | Exclude<LedgerDelta, OpenDelta>
  | (Omit<OpenDelta, "order"> & { readonly order: Pick<Order, "orderId" | "wallet" | "ledger"> });
/** Deltas of a market that go out on the public channels. */
export type PublicDelta = Extract<MarketDelta, { type: ReadBy<PublicChannel> }>;

/** Returns true for a delta that the owner's ledger applies. Throws on an unknown kind. */
export function isEffect(delta: MarketDelta): delta is LedgerDelta {
  return readerOf(delta) === "ledger";
}

/** Returns true for a delta of a public channel. Throws on an unknown kind. */
export function isPublic(delta: MarketDelta): delta is PublicDelta {
  const reader = readerOf(delta);
  return reader !== "ledger" && reader !== "nobody";
}

/** Returns the channel of a public delta. */
export function channelOf(delta: PublicDelta): PublicChannel {
  return MARKET_DELTA_READERS[delta.type];
}

function readerOf(delta: MarketDelta): Readers[keyof Readers] {
  if (!Object.hasOwn(MARKET_DELTA_READERS, delta.type)) unreachable(delta as never);
  return MARKET_DELTA_READERS[delta.type];
}
