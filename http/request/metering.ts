/** What a request costs, and from which bucket (contract section 5, the column "Bucket, cost"). */

import { readJson } from "../edge/json.js";
import { readQuery } from "../edge/query.js";
import type { Incoming } from "../edge/incoming.js";
import type { TokenBucket } from "../../stream/services/token-buckets.js";
import type { Bucket } from "./throttle.js";
import { MAX_BATCH } from "../../actors/limits.js";

/** A price: `base` at once, and one token per `perRows` rows of the answer, `expectedRows` of which are paid ahead. */
export interface Price {
  readonly bucket: Bucket;
  readonly base: number;
  readonly perRows: number | undefined;
  readonly expectedRows: number;
  /** Buckets of the same key that the request takes one token from each besides. */
  readonly also?: readonly TokenBucket[] | undefined;
}

/** Says what a request costs before it is otherwise read, and in words. */
export interface Metering {
  /** `undefined` is free. */
  price(request: Pick<Incoming, "target" | "body">): Price | undefined;
  readonly words: string;
}

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 5_000;

export const free: Metering = { price: () => undefined, words: "free" };

/** A fixed cost, and a token of each of the buckets `also`. */
export function costs(bucket: Bucket, base: number, also?: readonly TokenBucket[]): Metering {
  const limits = (also ?? []).map(({ name, capacity }) => `${capacity} ${name}`);
  return {
    price: () => ({ bucket, base, perRows: undefined, expectedRows: 0, also }),
    words: [`${bucket} ${base}`, ...limits].join(", "),
  };
}

/** Cost of the routes about keys, subaccounts and transfers. */
export const ACCOUNT = costs("account", 1);
/** Cost of the routes that read the catalog, one order or open orders. */
export const READ = costs("read", 1);

/** A list: the base, and one token per `perRows` rows answered. */
export function perRows(bucket: Bucket, base: number, rowsPerToken: number): Metering {
  return {
    price: ({ target }) => ({
      bucket,
      base,
      perRows: rowsPerToken,
      expectedRows: Math.min(MAX_LIMIT, Number(parameter(target.query, "limit") ?? DEFAULT_LIMIT) || 0),
    }),
    words: `${bucket} ${base} + 1 per ${rowsPerToken} rows`,
  };
}

/** One token per item of a list in the body; a body that cannot be read costs one. */
export function perItem(bucket: Bucket, field: string): Metering {
  return {
    price: ({ body }) => {
      const items = itemsOf(body, field);
      return { bucket, base: Math.min(MAX_BATCH, Math.max(1, items)), perRows: undefined, expectedRows: 0 };
    },
    words: `${bucket} 1 per item of ${field}`,
  };
}

/** `meter` when a query parameter has the value or is absent, else `otherwise`: open orders are live state. */
export function byParameter(name: string, value: string, meter: Metering, otherwise: Metering): Metering {
  return {
    price: (request) => {
      const given = parameter(request.target.query, name) ?? value;
      return (given === value ? meter : otherwise).price(request);
    },
    words: `${meter.words} for ${name} ${value}, else ${otherwise.words}`,
  };
}

/** What rows cost beyond the base. */
export function rowTokens(price: Price, rows: number): number {
  return price.perRows === undefined ? 0 : Math.ceil(rows / price.perRows);
}

function parameter(query: string, name: string): string | undefined {
  try {
    return readQuery(query)[name];
  } catch {
    // A malformed query is refused when the route reads it; here it only has to cost something.
    return undefined;
  }
}

function itemsOf(body: Buffer, field: string): number {
  try {
    const value = readJson(body);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return 0;
    const items = (value as Readonly<Record<string, unknown>>)[field];
    return Array.isArray(items) ? items.length : 0;
  } catch {
    // As above: the route says what is wrong with the body.
    return 0;
  }
}
