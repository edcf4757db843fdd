/** Callbacks of the stream client. */

import type { StreamError } from "./socket.js";
import type { OpenOrder, PositionAnswer } from "../wire/orders.js";
import type { BboDelta, LifecycleDelta, OrdersDelta, TradeDelta } from "../wire/stream.js";

/**
 * Callbacks of a stream client, all optional. After a gap, and after a reconnect that cannot resume, the callbacks of
 * snapshots are called again.
 */
export interface StreamListener {
  /** Called with each batch of the private orders channel. */
  readonly orders?: (deltas: readonly OrdersDelta[]) => void;
  /** Called with a snapshot of all resting orders. An order that rested before and is not in the snapshot has ended. */
  readonly openOrders?: (open: readonly OpenOrder[]) => void;
  /** Called with changed positions, and with all positions of a snapshot. */
  readonly positions?: (positions: readonly PositionAnswer[]) => void;
  /** Called when the book of a market changed; read it with `StreamClient.book`. */
  readonly book?: (marketId: string) => void;
  /** Called with each batch of best bids. */
  readonly bbo?: (marketId: string, deltas: readonly BboDelta[]) => void;
  /** Called with each batch of public trades. */
  readonly trades?: (marketId: string, trades: readonly TradeDelta[]) => void;
  /** Called with lifecycle transitions; a snapshot is reported as one with the kind `SNAPSHOT`. */
  readonly lifecycle?: (marketId: string, deltas: readonly LifecycleDelta[]) => void;
  /** Called when the connection is lost; the client reconnects by itself. */
  readonly lost?: (reason: string) => void;
  /** Called when the exchange refuses a connection, as for a key that has ended. The client does not reconnect. */
  readonly refused?: (error: StreamError) => void;
  /** Called when a new connection has caught up. */
  readonly reconnected?: () => void;
  /**
   * Called with a market id or `PRIVATE` when its data was missing or wrong and the client requests a snapshot. Called with
   * the message of the error when that request fails.
   */
  readonly gap?: (subject: string) => void;
}
