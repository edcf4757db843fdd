/** Names of the response headers that more than one file sets or exposes, and the headers made of a number of seconds. */

import type { Response } from "express";

export const REQUEST_ID = "X-Request-Id";
export const RATE_LIMIT = {
  bucket: "X-RateLimit-Bucket",
  cost: "X-RateLimit-Cost",
  limit: "X-RateLimit-Limit",
  remaining: "X-RateLimit-Remaining",
} as const;

/** Response headers that scripts of other origins may read. */
export const EXPOSED_HEADERS: readonly string[] = [
  "ETag",
  "Link",
  "Retry-After",
  "WWW-Authenticate",
  "X-Next-Cursor",
  REQUEST_ID,
  "X-Replayed",
  ...Object.values(RATE_LIMIT),
];

/** Returns the header that asks a client to wait for a number of seconds. */
export function retryAfter(seconds: number): Readonly<Record<string, string>> {
  return { "Retry-After": String(seconds) };
}

/** Returns the headers with what a request has cost of a bucket, and the tokens that are left. */
export function rateLimit(bucket: string, cost: number, remaining: number): Readonly<Record<string, string>> {
  return {
    [RATE_LIMIT.bucket]: bucket,
    [RATE_LIMIT.cost]: String(cost),
    [RATE_LIMIT.remaining]: String(remaining),
  };
}

/** Returns whether a request has cost its caller tokens so far. */
export function hasPaid(res: Response): boolean {
  return Number(res.get(RATE_LIMIT.cost) ?? 0) > 0;
}

/** Content security policy of a page: it loads files of this service alone, and no inline script or style. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
