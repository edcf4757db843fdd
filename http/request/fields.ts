/** Schemas of the fields that bodies, queries and answers share. */

import { z } from "zod";
import { CURRENCIES } from "../../actors/market/types.js";
import {
  formatMoney,
  MAX_MILLICENTS,
  MONEY_TEXT,
  parseMoney,
  parsePrice,
  PRICE_TEXT,
} from "../../actors/units.js";
import { UUID } from "../../actors/uuid.js";
import { InvalidCursor } from "../../db/page.js";
import { DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS } from "./limits.js";

/** UUID in either letter case, read as lower case. */
export const Uuid = z
  .string("must be a uuid")
  .regex(UUID, "must be a uuid")
  .transform((text) => text.toLowerCase());

/** One of a closed list of words, which the refusal names. */
export function oneOf<Word extends string>(words: readonly Word[]) {
  const last = words.at(-1) ?? "";
  return z.enum(words, `must be ${words.slice(0, -1).join(", ")} or ${last}`);
}

export const Currency = oneOf(CURRENCIES);

/** Amount of money in a body: a decimal string with at most five decimals, which is never rounded. */
export const Amount = z.string("must be a decimal string").transform((text, context) => {
  const amount = parseMoney(text);
  if (amount !== undefined) return amount;
  context.addIssue(
    `must be a decimal string with at most five decimals, such as 12.50, up to ${formatMoney(MAX_MILLICENTS)}`,
  );
  return z.NEVER;
});

/** Price in a body that defines prices, such as the tick table. */
export const PriceText = z.string("must be a decimal string").transform((text, context) => {
  const price = parsePrice(text);
  if (price !== undefined) return price;
  context.addIssue("must be a price between 0 and 1 with three decimals, such as 0.665");
  return z.NEVER;
});

/** Text without control characters. They are spelled out, so that the pattern means the same without the flag `u`. */
const CONTROL_CHARACTERS = String.raw`\u0000-\u001f\u007f-\u009f`;
const WITHOUT_CONTROL_CHARACTERS = new RegExp(`^[^${CONTROL_CHARACTERS}]*$`);

/** Returns the schema of a text for people: trimmed, not empty, without control characters. */
export function Text(maxLength: number) {
  return z
    .string("must be a string")
    .trim()
    .min(1, "must not be empty")
    .max(maxLength, `must have at most ${maxLength} characters`)
    .regex(WITHOUT_CONTROL_CHARACTERS, "must not have control characters");
}

const Whole = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,15})$/, "must be a whole number")
  .transform(Number)
  .refine(Number.isSafeInteger, "is out of range")
  .meta({ type: "integer" });

/** Time in a query, in Unix ms. */
export const QueryMs = Whole;

/** Returns the schema of a number in a query, from 1 to `max`. */
export function QueryCount(max: number) {
  return Whole.refine((count) => count >= 1 && count <= max, `must be from 1 to ${max}`).meta({
    type: "integer",
    minimum: 1,
    maximum: max,
  });
}

const NOT_A_CURSOR = new InvalidCursor().message;

/** Parameters `limit` and `after` of every list of surface A. */
export const PageQuery = {
  limit: QueryCount(MAX_PAGE_ROWS).default(DEFAULT_PAGE_ROWS),
  after: z.string().min(1, NOT_A_CURSOR).max(512, NOT_A_CURSOR).optional(),
};

/** Query of a list without filters. */
export const PageOnly = z.strictObject(PageQuery);

/** Exclusive time bounds of a list, in Unix ms. */
export const BoundsQuery = { startsAfter: QueryMs.optional(), startsBefore: QueryMs.optional() };

/** Name in a filter, such as that of a league. */
export const Name = z
  .string()
  .min(1, "must not have an empty value")
  .max(100, "must have at most 100 characters");

/** Region: ISO 3166-2, or ISO 3166-1 for a whole country. */
export const Region = z
  .string("must be a string")
  .regex(/^[A-Z]{2}(-[A-Z0-9]{1,3})?$/, "must be an ISO 3166 code, such as US-NY or US");

/** Returns the schema of a comma list with 1 to 200 items. */
export function commaList<Item extends z.core.$ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(item).min(1).max(200, "must have at most 200 values"));
}

export const MoneyText = z.string().regex(MONEY_TEXT);
export const WirePrice = z.string().regex(PRICE_TEXT);
export const Ms = z.int().nonnegative();

/** Returns the schema of one page of a list. */
/** Page of a list that may be behind: `asOf` is the time up to which it is complete, null while that is not known. */
export function datedPageOf<Item extends z.core.$ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item), next: z.string().optional(), asOf: Ms.nullable() });
}

export function pageOf<Item extends z.core.$ZodType>(item: Item) {
  return z.strictObject({ items: z.array(item), next: z.string().optional() });
}
