/** Prices of the routes, in tokens of a bucket (contract section 5.8). */

import { readJson } from "../edge/json.js";
import { readQuery } from "../edge/query.js";
import type { Incoming } from "../edge/incoming.js";
import type { TokenBucket } from "../../stream/services/token-buckets.js";
import { ANSWER_MS } from "./in-time.js";
import type { Bucket } from "./throttle.js";
import { MAX_BATCH } from "../../actors/limits.js";

/** Price of a request: `base`, and one token per `perRows` rows of the answer, which are charged with the answer. */
interface Price {
  readonly bucket: Bucket;
  readonly base: number;
  readonly perRows?: number | undefined;
  /** Further buckets of the same payer; the request takes one token from each. */
  readonly also?: readonly TokenBucket[] | undefined;
}

/** Rule that prices a request before its body and its query are validated. */
export interface Metering {
  /** Returns the price; `undefined` for a free request. */
  price(request: Pick<Incoming, "target" | "body">): Price | undefined;
  /** Rate of the free requests of a payer. */
  readonly rate?: TokenBucket | undefined;
  /** Price as the documentation prints it. */
  readonly words: string;
}

function tokens(count: number): string {
  return count === 1 ? "1 token" : `${count} tokens`;
}

export const free: Metering = { price: () => undefined, words: "free" };

/** Rate that the free requests of a payer share. No client that works reaches it; a loop that has gone wild does. */
const FREE_RATE: TokenBucket = { name: "free", capacity: 200, refill: 20, periodMs: 1_000 };
/** Cost of free routes that reach Redis, Postgres or a worker, and therefore have a rate. */
export const RATED_FREE: Metering = {
  price: () => undefined,
  rate: FREE_RATE,
  words: `free, up to ${FREE_RATE.refill} a second with the other free requests, in bursts of ${FREE_RATE.capacity}`,
};

/** Cost of a self-exclusion: no other request of the trader takes its rate away. */
export const RATED_EXCLUSION: Metering = {
  price: () => undefined,
  rate: { name: "exclusion", capacity: 20, refill: 1, periodMs: 1_000 },
  words: "free, up to 1 a second, in bursts of 20",
};

/** Prices a request at a fixed cost, and one token of each bucket in `also`. */
export function costs(bucket: Bucket, base: number, also?: readonly TokenBucket[]): Metering {
  const limits = (also ?? []).map(({ name, capacity }) => `at most ${capacity} ${name}`);
  return {
    price: () => ({ bucket, base, also }),
    words: [`${tokens(base)} of \`${bucket}\``, ...limits].join(", "),
  };
}

/** Cost of the routes about keys, subaccounts and transfers. */
export const ACCOUNT = costs("account", 1);
/** Cost of the routes that read the catalog, one order or open orders. */
export const READ = costs("read", 1);

/** Number of requests priced by rows that a payer may run at the same time. */
export const MAX_RUNNING = 4;
/**
 * Bucket of the requests priced by rows that run: each takes a token and gives it back with its answer. The refill
 * replaces tokens of a gateway that died, and is so slow that no token comes back while its request can still run.
 */
export const RUNNING: TokenBucket = {
  name: "running",
  capacity: MAX_RUNNING,
  refill: 1,
  periodMs: ANSWER_MS,
};

/** Prices a list at the base, and one token per `rowsPerToken` rows of the answer. */
export function perRows(bucket: Bucket, base: number, rowsPerToken: number): Metering {
  return {
    price: () => ({ bucket, base, perRows: rowsPerToken, also: [RUNNING] }),
    words: `${tokens(base)} of \`${bucket}\` and 1 per ${rowsPerToken} rows`,
  };
}

/** Prices a request at one token per item of a list in its body; an unreadable body costs one. */
export function perItem(bucket: Bucket, field: string): Metering {
  return {
    price: ({ body }) => ({ bucket, base: Math.min(MAX_BATCH, itemsOf(body, field)) }),
    words: `1 token of \`${bucket}\` per item of \`${field}\``,
  };
}

/** Prices a request at one token per `perToken` of the `most` values that a query parameter may list. */
export function perListed(bucket: Bucket, name: string, perToken: number, most: number): Metering {
  return {
    price: ({ target }) => {
      const values = Math.min(most, (parameter(target.query, name) ?? "").split(",").length);
      return { bucket, base: Math.ceil(values / perToken) };
    },
    words: `1 token of \`${bucket}\` per ${perToken} of \`${name}\``,
  };
}

/**
 * Prices a request by `meter` when a query parameter has the value or is absent, and by `otherwise` when it has another
 * value. Open orders, for example, cost less than orders that have ended.
 */
export function byParameter(name: string, value: string, meter: Metering, otherwise: Metering): Metering {
  return {
    price: (request) => {
      const given = parameter(request.target.query, name) ?? value;
      return (given === value ? meter : otherwise).price(request);
    },
    words: `${meter.words} with \`${name}=${value}\`, else ${otherwise.words}`,
  };
}

function parameter(query: string, name: string): string | undefined {
  try {
    return readQuery(query)[name];
  } catch {
    // The route refuses a malformed query when it reads it; the request still has a price.
    return undefined;
  }
}

/** Returns the number of items of a list in a body: at least one, also when the body cannot be read. */
export function itemsOf(body: Buffer, field: string): number {
  try {
    const value = readJson(body);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return 1;
    const items = (value as Readonly<Record<string, unknown>>)[field];
    return Array.isArray(items) ? Math.max(1, items.length) : 1;
  } catch {
    // The route refuses a malformed body when it reads it; the request still has a price.
    return 1;
  }
}
