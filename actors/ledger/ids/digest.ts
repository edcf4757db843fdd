/** Digests of fixed size: of the body of an order, and of the ids that callers choose. */

import { hash } from "node:crypto";
import type { OrderRequest } from "../types.js";

/** Length of a digest: 16 bytes in base64url. */
export const DIGEST_LENGTH = 22;

/** Returns all fields of an order that the caller chose, as one string: the digest of format 1. */
export function textOf(request: OrderRequest): string {
  const { terms, currency, outcome, price, qty, tif, ttlMs, selfTrade, notAfter, groupId } = request;
  return [terms.marketId, currency, outcome, price, qty, tif, ttlMs, selfTrade, notAfter, groupId].join(" ");
}

/** Returns the digest of all fields of an order that the caller chose. */
export function digestOf(request: OrderRequest): string {
  return hash("sha256", textOf(request), "base64url").slice(0, DIGEST_LENGTH);
}

/** Returns true for a digest of fixed size. The text of format 1 is longer. */
export function isFixed(digest: string): boolean {
  return digest.length === DIGEST_LENGTH;
}

/** An id that a caller chose, with its owner, as 128 bits of a hash. */
export type IdKey = readonly [number, number, number, number];

/** Returns the key of an id of a caller. Stored filters depend on it. */
export function keyOf(owner: string, id: string): IdKey {
  const bytes = hash("sha256", `${owner}:${id}`, "binary");
  const word = (at: number): number =>
    (bytes.charCodeAt(at) |
      (bytes.charCodeAt(at + 1) << 8) |
      (bytes.charCodeAt(at + 2) << 16) |
      (bytes.charCodeAt(at + 3) << 24)) >>>
    0;
  return [word(0), word(4), word(8), word(12)];
}
