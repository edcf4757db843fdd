/** Bodies, queries and answers about events (contract section 8.7). */

import { z } from "zod";
import { EVENT_STATUSES, EVENT_TYPES } from "../../../db/schema/catalog.js";
import { EVENT_ACTIONS } from "../../../stream/jobs/event-actions.js";
import { commaList, Ms, oneOf, PageQuery, Text } from "../../request/fields.js";
import { CatalogEvent } from "../../surface-a/schemas/catalog.js";
import { Reason } from "./audit.js";
import { Approval } from "./operators.js";

const Team = z.strictObject({
  name: Text(100),
  shortName: Text(100).optional(),
  symbol: Text(20).optional(),
  mascot: Text(100).optional(),
});

/** Scheduled start. The route checks that it lies ahead. */
const Start = z.int("must be a time in Unix ms").nonnegative("must be a time in Unix ms");

export const NewEventBody = z.strictObject({
  sport: Text(50),
  league: Text(100),
  type: oneOf(EVENT_TYPES),
  description: Text(500),
  startsTs: Start,
  visible: z.boolean("must be true or false").default(true),
  game: z.strictObject({ homeTeam: Team, awayTeam: Team }).optional(),
});

export const EventPatchBody = z
  .strictObject({
    visible: z.boolean("must be true or false").optional(),
    startsTs: Start.optional(),
    description: Text(500).optional(),
  })
  .refine((patch) => Object.keys(patch).length > 0, "must have at least one field");

const ShownTeam = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  shortName: z.string().nullable(),
  symbol: z.string().nullable(),
  mascot: z.string().nullable(),
});

export const AdminEvent = CatalogEvent.extend({
  type: z.enum(EVENT_TYPES),
  visible: z.boolean(),
  game: z.strictObject({ gameId: z.uuid(), homeTeam: ShownTeam, awayTeam: ShownTeam }).nullable(),
  createdTs: Ms,
});
export const AdminEventOrApproval = z.union([AdminEvent, Approval]);
export const AdminEventWithMarkets = AdminEvent.extend({ marketIds: z.array(z.uuid()) });

export const AdminEventsQuery = z.strictObject({
  ...PageQuery,
  league: commaList(z.string()).optional(),
  status: commaList(oneOf(EVENT_STATUSES)).optional(),
});
export const EventStatusBody = z.strictObject({ action: oneOf(EVENT_ACTIONS), reason: Reason });
