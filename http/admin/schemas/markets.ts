/** Bodies, queries and answers about markets (contract section 8.8). */

import { z } from "zod";
import { MAX_LIVE_DELAY_MS, MAX_OUTCOMES } from "../../../actors/limits.js";
import { OPERATOR_ACTIONS } from "../../../actors/market/commands.js";
import { FEE_PERIODS, MARKET_STATUSES, VOID_KINDS } from "../../../actors/market/types.js";
import { commaList, Ms, oneOf, PageQuery, Text, Uuid } from "../../request/fields.js";
import { Market, MarketOutcome } from "../../surface-a/schemas/catalog.js";
import { Reason } from "./audit.js";

/** Share from 0 to 1: a decimal string on the wire, millionths inside. */
const Share = z
  .string("must be a decimal string")
  .regex(
    /^(?:0(?:\.[0-9]{1,6})?|1(?:\.0{1,6})?)$/,
    "must be a decimal string from 0 to 1 with at most six decimals",
  )
  .transform((text) => Math.round(Number(text) * 1_000_000));

const FeeBody = z.strictObject({
  coefficient: Share,
  makerCredit: Share,
  charged: oneOf(FEE_PERIODS),
});
export type FeeBody = z.output<typeof FeeBody>;

const LiveDelay = z
  .int("must be a whole number of ms")
  .min(0, "must not be negative")
  .max(MAX_LIVE_DELAY_MS, `must be at most ${MAX_LIVE_DELAY_MS} ms`);

/** Returns true for a type of which each market has a strike, such as `SPREAD_1H`. */
function isSpread(marketType: string): boolean {
  return marketType.split("_").includes("SPREAD");
}

export const NewMarketBody = z
  .strictObject({
    eventId: Uuid,
    marketType: Text(100),
    description: Text(500),
    strike: z
      .string("must be a decimal string")
      .regex(/^-?\d{1,9}(\.\d{1,3})?$/, "must be a decimal string, such as -3.5")
      .optional(),
    voids: oneOf(VOID_KINDS),
    fee: FeeBody.optional(),
    liveDelayMs: LiveDelay.default(0),
    playerId: Uuid.optional(),
    outcomes: z
      .array(
        z.strictObject({ name: Text(200), competitor: Text(100).optional() }),
        "must be a list of outcomes",
      )
      .min(2, "must have at least two outcomes")
      .max(MAX_OUTCOMES, `must have at most ${MAX_OUTCOMES} outcomes`)
      .refine(
        (outcomes) => new Set(outcomes.map(({ name }) => name.toLowerCase())).size === outcomes.length,
        "must have different names",
      ),
    open: z.boolean("must be true or false").default(true),
  })
  .refine(({ marketType, strike }) => strike !== undefined || !isSpread(marketType), {
    path: ["strike"],
    message: "is missing, and a spread has no meaning without it; add it",
  });
export type NewMarketBody = z.output<typeof NewMarketBody>;
export const MarketPatchBody = z
  .strictObject({
    fee: FeeBody.optional(),
    liveDelayMs: LiveDelay.optional(),
    description: Text(500).optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, "must have at least one field");
export const MarketStatusBody = z.strictObject({ action: oneOf(OPERATOR_ACTIONS), reason: Reason });

export const AdminMarket = Market.extend({
  outcomes: z.array(MarketOutcome.extend({ competitorId: z.uuid().nullable() })),
  playerId: z.uuid().nullable(),
  liveDelayMs: z.int(),
  live: z.boolean(),
  paused: z.boolean(),
  settledTs: Ms.nullable(),
  createdTs: Ms,
});
export const AdminMarketsQuery = z.strictObject({
  ...PageQuery,
  event: Uuid.optional(),
  league: commaList(z.string()).optional(),
  status: commaList(oneOf(MARKET_STATUSES)).optional(),
});
