/** Bodies and answers about reference data: ticks, leagues, market types and players. */

import { z } from "zod";
import { PageQuery, PriceText, Text } from "../../request/fields.js";

export const TicksBody = z.strictObject({
  prices: z.array(PriceText, "must be a list of prices").min(2, "must have at least two prices").max(999),
});
export const Ticks = z.strictObject({ prices: z.array(z.string()) });

export const LeagueBody = z.strictObject({ name: Text(100), sport: Text(50).optional() });
export const League = z.strictObject({ name: z.string(), sport: z.string() });
export const Leagues = z.strictObject({ items: z.array(League) });
export const MarketTypeBody = z.strictObject({
  // A name is a segment of a path, and an item of lists that are separated by commas.
  name: Text(100).regex(/^[A-Za-z0-9._~-]*$/, "must have letters, digits and the characters . _ ~ - only"),
  qaOnly: z.boolean("must be true or false").default(false),
});
export const MarketTypePatchBody = z.strictObject({ qaOnly: z.literal(false, "must be false") });
export const MarketType = z.strictObject({ name: z.string(), qaOnly: z.boolean() });
export const MarketTypes = z.strictObject({ items: z.array(MarketType) });

export const PlayersQuery = z.strictObject(PageQuery);
export const PlayerBody = z.strictObject({
  name: Text(100),
  fullName: Text(200).optional(),
  position: Text(50).optional(),
  team: z.strictObject({ league: Text(100), name: Text(100) }).optional(),
});
export const Player = z.strictObject({
  playerId: z.uuid(),
  name: z.string(),
  fullName: z.string(),
  position: z.string().nullable(),
  competitorId: z.uuid().nullable(),
});
