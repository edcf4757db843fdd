/** Reports of a source of live data about a market: the stream of a trader, or the requests of a visitor. */

import type { z } from "zod";
import type { PublicTrade } from "../../../surface-a/schemas/catalog.js";
import type { OpenOrder, Position } from "../../../surface-a/schemas/orders.js";
import type { LifecycleDelta } from "../../../client/wire/stream.js";
import type { BookState } from "../ladder.js";

type TradeAnswer = z.infer<typeof PublicTrade>;
/** An execution of a resting order. */
export type Trade = Pick<TradeAnswer, "tradeId" | "outcomeId" | "price" | "qty" | "ts">;
export type OpenOrderAnswer = z.infer<typeof OpenOrder>;
export type PositionAnswer = z.infer<typeof Position>;

/** Callbacks of a source. */
export interface FeedEvents {
  /** Called when the book has changed; it is read when the page is drawn next. */
  readonly book: (book: BookState) => void;
  /** Called with trades, oldest first; those that are known are dropped. */
  readonly trades: (trades: readonly Trade[]) => void;
  /** Called with transitions in the market's life, oldest first; a snapshot is one of the kind `SNAPSHOT`. */
  readonly step: (transitions: readonly LifecycleDelta[]) => void;
  /** Called with the resting orders and the positions in this market. */
  readonly wallet: (orders: readonly OpenOrderAnswer[], positions: readonly PositionAnswer[]) => void;
  /** Called whenever the source was in touch with the service. */
  readonly fresh: () => void;
  /** Called when what is shown may be old. */
  readonly lost: () => void;
}

/** A source that runs until it is closed. */
export interface Feed {
  close(): void;
}
