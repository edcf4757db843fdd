/** Values that many bodies and messages share, and the check that a message has its shape. */

import { z } from "zod/mini";
import { TIMES_IN_FORCE } from "../../../actors/market/time-in-force.js";

export const Text = z.string();
export const Whole = z.int();
/** A field that is null when there is nothing to say. */
export const TextOrNull = z.nullable(Text);
export const WholeOrNull = z.nullable(Whole);
/** Times in force (contract section 2.6). */
export const TimeInForce = z.enum(TIMES_IN_FORCE);
/** Mark of values of the COIN book; those of the CASH book have none. */
export const Coin = { currency: z.optional(z.literal("COIN")) };

/**
 * Returns a value as the type of its shape. Throws when a field is missing or of another type. Fields that the shape does
 * not know stay, so that a client sees what a newer exchange adds.
 */
export function checked<T>(shape: z.core.$ZodType<T>, value: unknown): T {
  z.parse(shape, value);
  return value as T;
}

/** Returns true when a value has a shape. */
export function fits<T>(shape: z.core.$ZodType<T>, value: unknown): value is T {
  return z.safeParse(shape, value).success;
}

/** One page of a list; `next` is absent on the last page. */
export function pageOf<T extends z.core.$ZodType>(item: T) {
  return z.object({ items: z.array(item), next: z.optional(Text) });
}

/** One page of a list of the catalog, which says as of when it is, in Unix ms. */
export function catalogPageOf<T extends z.core.$ZodType>(item: T) {
  return z.object({ items: z.array(item), next: z.optional(Text), asOf: WholeOrNull });
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Value of `after` for the next page; absent on the last one. */
  readonly next?: string | undefined;
  /** Time of the list in Unix ms, on lists of the catalog; null when it is unknown. */
  readonly asOf?: number | null | undefined;
}
