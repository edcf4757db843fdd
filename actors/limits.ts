/** The limits on requests that every room holds to. Those on money, prices and quantities are in `units.ts`. */

const SECOND_MS = 1_000;
const DAY_MS = 24 * 60 * 60 * SECOND_MS;

/** The most orders, or order ids, of one request (contract section 5). */
export const MAX_BATCH = 256;
/** How long a `clientId` belongs to its order (contract section 5). */
export const CLIENT_ID_MS = DAY_MS;
/** The shortest `ttl` of an order (contract section 5). */
export const MIN_TTL_MS = SECOND_MS;
/** The longest `ttl` of an order (contract section 5). */
export const MAX_TTL_MS = 30 * DAY_MS;
/** The most open orders of a wallet, unless the installation sets another limit. */
export const MAX_OPEN_ORDERS = 20_000;
/** The most outcomes of a market; the ids of fills and trades have room for no more. */
export const MAX_OUTCOMES = 64;
/** The longest in-play delay of a market. */
export const MAX_LIVE_DELAY_MS = 60 * SECOND_MS;
