/** Limits of HTTP requests that more than one file enforces or states; `actors/limits.ts` holds those of orders. */

/** Largest body that the service reads; the edge may have a lower cap. */
export const MAX_BODY_KIB = 100;
export const MAX_BODY_BYTES = MAX_BODY_KIB * 1024;

/** Rows on one page of a list of surface A: without `limit`, and at most. */
export const DEFAULT_PAGE_ROWS = 500;
export const MAX_PAGE_ROWS = 5_000;

/** Greatest age of the device check-in that a placement relies on. */
export const MAX_CHECK_IN_DAYS = 3;
export const MAX_CHECK_IN_AGE_MS = MAX_CHECK_IN_DAYS * 24 * 60 * 60 * 1_000;
