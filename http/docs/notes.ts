/** What the route table cannot say of an operation: what it is for, what else it answers, and an example of it. */

import type { z } from "zod";
import type { Code } from "../request/errors.js";

export interface Note {
  readonly summary: string;
  readonly detail?: string;
  /** Codes beyond those that follow from how the route is reached. */
  readonly refuses?: readonly Code[];
  /** Further statuses of success, and when they come. 304 has no body; the others have that of the first. */
  readonly also?: Readonly<Partial<Record<200 | 207 | 304 | 404, string>>>;
  /** A refusal says which orders of the batch it was for. */
  readonly rejected?: boolean;
  /** Headers of success besides those of every route. */
  readonly headers?: readonly string[];
  /** Body and answer are any bytes. */
  readonly bytes?: boolean;
  /** What a body has that may be left out. */
  readonly maybeBody?: z.core.$ZodType;
  /** An example of a query, by parameter. */
  readonly query?: Readonly<Record<string, string>>;
  /** An example of a body. */
  readonly body?: unknown;
}

/** The ids of the examples: `eventId` in a path or a body is always this one, and so on. */
export const IDS = {
  eventId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a01",
  marketId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a02",
  outcomeId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a03",
  orderId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a05",
  keyId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a06",
  transferId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a07",
  groupId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a08",
  traderId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a09",
  clientId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0a",
  requestId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0b",
  playerId: "5f0c3f0e-9d7a-4b0e-8f51-0d6a3c1f7a0c",
} as const;

/** An Ed25519 public key, for the bodies that take one. */
export const PUBLIC_KEY =
  "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";

/** What the rules of trading say about an order, on either surface. */
export const ORDER_REFUSALS: readonly Code[] = [
  "INVALID_PRICE",
  "QTY_OUT_OF_RANGE",
  "TTL_NOT_ALLOWED",
  "TTL_REQUIRED",
  "TTL_OUT_OF_RANGE",
  "EVENT_NOT_TRADABLE",
  "OUTCOME_NOT_FOUND",
  "MARKET_CLOSED",
  "MARKET_PAUSED",
  "CLIENT_ID_REUSED",
  "GROUP_NOT_FOUND",
  "GROUP_LIMIT",
  "INSUFFICIENT_BALANCE",
  "OPEN_ORDER_LIMIT_EXCEEDED",
  "POSITION_LIMIT_EXCEEDED",
];
export const BATCH_REFUSALS: readonly Code[] = [...ORDER_REFUSALS, "EMPTY_BATCH", "BATCH_TOO_LARGE"];

export const UNCHANGED = { 304: "Nothing has changed since the ETag of If-None-Match." } as const;
