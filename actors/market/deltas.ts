/**
 * Everything a market says. The state of a market is the fold of these; gateways, ledgers and the projector read
 * nothing else. `seq` numbers the batches of a public channel, per market and currency: all deltas of one command
 * on one channel carry the same `seq`, and the next command that touches the channel carries the next. Life-cycle
 * steps are a batch each, also when one command takes several.
 */

import type { Contracts, Millicents, Ticks } from "../units.js";
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
import { unreachable } from "../unreachable.js";

/** The owner of an order or a position: enough to send its effects home. */
export interface Owner {
  readonly wallet: string;
  readonly ledger: number;
}

/** The market exists from here on. */
export interface CreatedDelta {
  readonly type: "created";
  readonly definition: MarketDefinition;
}

/** Configuration changed; absent fields did not. */
export interface ConfiguredDelta {
  readonly type: "configured";
  readonly fee?: FeeSchedule | undefined;
  readonly liveDelayMs?: number | undefined;
  readonly description?: string | undefined;
  readonly ticks?: readonly Ticks[] | undefined;
}

/** One life-cycle step and where the market stands after it. */
export interface LifecycleDelta {
  readonly type: "lifecycle";
  readonly seq: number;
  readonly kind: LifecycleKind;
  readonly status: MarketStatus;
}

/** The facts of one side of an execution: the same for the market, the ledger, the private channel and the tables. */
export interface FillFacts {
  readonly outcome: number;
  readonly fillId: string;
  readonly matchId: string;
  /** What this side pays per contract. */
  readonly price: Ticks;
  readonly qty: Contracts;
  /** What is left of the order. */
  readonly remaining: Contracts;
  readonly cost: Millicents;
  /** What closing complete sets paid at once. */
  readonly payout: Millicents;
  /** Never negative. */
  readonly fee: Millicents;
  /** The maker's share of the taker's fee. Never negative. */
  readonly credit: Millicents;
  readonly taker: boolean;
  /** Own orders met: the quantity is lost on both sides and nothing else happens. */
  readonly wash: boolean;
}

/** What becomes of orders. Every one goes to the owner's ledger. */
export type OrderDelta =
  /** Waits out the in-play delay until `untilMs`. */
  | { readonly type: "order"; readonly kind: "hold"; readonly order: Order; readonly untilMs: number }
  /** Rests in the book with `qty` left. */
  | { readonly type: "order"; readonly kind: "open"; readonly order: Order; readonly qty: Contracts }
  | ({
      readonly type: "order";
      readonly kind: "fill";
      readonly orderId: string;
      readonly currency: Currency;
    } & Owner &
      FillFacts)
  /** Amended to less, keeping its place. */
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

/** The resting book, order by order. */
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

/** The best bid level of an outcome changed; `null`: it has none. */
export interface BboDelta {
  readonly type: "bbo";
  readonly seq: number;
  readonly currency: Currency;
  readonly outcome: number;
  readonly bbo: { readonly price: Ticks; readonly qty: Contracts } | null;
}

/** One public print per resting order executed, priced on the grid. */
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

/** A match minted `qty` complete sets; `outcome` and `price` are the taker's, snapped to the grid. */
export interface MatchDelta {
  readonly type: "match";
  readonly currency: Currency;
  readonly outcome: number;
  readonly price: Ticks;
  readonly qty: Contracts;
}

/** What a wallet holds of an outcome from now on. Goes to the owner's ledger. */
export interface PositionDelta extends Owner {
  readonly type: "position";
  readonly currency: Currency;
  readonly outcome: number;
  readonly qty: Contracts;
  readonly cost: Millicents;
}

/**
 * What netting on a PUSH market left for settlement, from now on: `win` is paid if the market is graded to a
 * winner, `push` if it is pushed (contract section 3).
 */
export interface LockedDelta extends Owner {
  readonly type: "locked";
  readonly currency: Currency;
  readonly win: Millicents;
  readonly push: Millicents;
}

/** The grade is in force; payouts follow. */
export interface GradedDelta {
  readonly type: "graded";
  readonly settlementId: string;
  readonly grade: Grade;
}

/** The settlement is being taken back; reversals follow. */
export interface RemediatingDelta {
  readonly type: "remediating";
  readonly reason: string;
}

/** A wallet's part of the settlement. Goes to the owner's ledger, which credits it and closes the positions. */
export interface PayoutDelta extends Owner {
  readonly type: "payout";
  readonly settlementId: string;
  readonly currency: Currency;
  readonly amount: Millicents;
}

/** A payout taken back by remediation, with the holdings that it had closed, by outcome. */
export interface ReversalDelta extends Owner {
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
  | ReversalDelta;

/** The public channels, in the order in which answers list them (contract section 6). */
export const PUBLIC_CHANNELS = ["lifecycle", "trades", "bbo", "book"] as const;
export type PublicChannel = (typeof PUBLIC_CHANNELS)[number];

/** Who reads each kind of delta besides the fold and the tables: a public channel, the owner's ledger, or nobody. */
export const MARKET_DELTA_READERS = {
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
} as const satisfies Readonly<Record<MarketDelta["type"], PublicChannel | "ledger" | "nobody">>;

type Readers = typeof MARKET_DELTA_READERS;
type ReadBy<Reader> = { [T in keyof Readers]: Readers[T] extends Reader ? T : never }[keyof Readers];

/** The market's deltas that the owner's ledger acts on. */
export type EffectDelta = Extract<MarketDelta, { type: ReadBy<"ledger"> }>;
/** The market's deltas that go out on the public channels. */
export type PublicDelta = Extract<MarketDelta, { type: ReadBy<PublicChannel> }>;

/** Returns true for a delta that the owner's ledger acts on. Throws on an unknown kind. */
export function isEffect(delta: MarketDelta): delta is EffectDelta {
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
