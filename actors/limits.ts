/** Limits on requests, checked in every folder. The limits on money, prices and quantities are in `units.ts`. */

import type { Format } from "./format.js";

const SECOND_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;

/** Maximum number of orders, or of order ids, in one request (contract section 5.15). */
export const MAX_BATCH = 256;
/** Bounds of the work of one decision (contract section 2.9). Longer work goes on in further commits. */
export interface Bounds {
  /**
   * Maximum number of resting orders that a sweep meets, of wallets that one decision visits or pays, and of orders whose
   * cancels a ledger passes on, at once.
   */
  readonly atOnce: number;
  /**
   * Maximum number of orders that a market ends in one piece of a longer sweep, a clearing, a cancel or an expiry, and of
   * cancels that a ledger sends to markets at once before it comes to another wallet.
   */
  readonly piece: number;
}

/** Bounds of production. A step with one piece takes about 2 ms. */
export const BOUNDS: Bounds = { atOnce: 1_000, piece: 100 };

/** Returns the default bounds of a decision. Format 1 has no stored form for unfinished work, so it has no bound. */
export function boundsOf(format: Format): Bounds {
  return format === 1 ? { atOnce: Infinity, piece: Infinity } : BOUNDS;
}

/** Time for which a `clientId` belongs to its order (contract section 5.7). */
export const CLIENT_ID_MS = DAY_MS;
/** Minimum `ttl` of an order (contract section 2.6). */
export const MIN_TTL_MS = SECOND_MS;
/** Maximum `ttl` of an order (contract section 2.6). */
export const MAX_TTL_MS = 30 * DAY_MS;
/** Maximum number of open orders of a wallet, unless the installation sets another one (contract section 3.9). */
export const MAX_OPEN_ORDERS = 5_000;
/** Maximum number of open orders of a wallet in one market, in both currencies (contract section 3.9). */
export const MAX_MARKET_ORDERS = 1_000;
/** Maximum number of order groups of a wallet (contract section 5.18). */
export const MAX_GROUPS = 100;
/** Maximum number of outcomes of a market. The ids of fills and trades have room for no more. */
export const MAX_OUTCOMES = 64;
/** Maximum in-play delay of a market. */
export const MAX_LIVE_DELAY_MS = 60 * SECOND_MS;
