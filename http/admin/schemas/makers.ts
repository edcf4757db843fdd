/** Bodies, queries and answers about market makers: their clients and the strikes that they request. */

import { z } from "zod";
import { STRIKE_REQUEST_STATUSES } from "../../../db/schema/emm.js";
import { commaList, Ms, oneOf, PageQuery, Text, Uuid } from "../../request/fields.js";

export const EmmClientBody = z.strictObject({ subaccountKeyId: Uuid, name: Text(100) });
/** Credentials of a client. The secret is shown in this answer only. */
export const EmmClientSecret = z.strictObject({ clientId: z.uuid(), clientSecret: z.string() });
export const EmmClient = z.strictObject({
  clientId: z.uuid(),
  name: z.string(),
  traderId: z.uuid(),
  subaccountKeyId: z.uuid(),
  label: z.string(),
  createdTs: Ms,
  rotatedTs: Ms.nullable(),
});

export const StrikeRequestsQuery = z.strictObject({
  ...PageQuery,
  status: commaList(oneOf(STRIKE_REQUEST_STATUSES)).optional(),
});
export const StrikeDecisionBody = z.strictObject({ approve: z.boolean("must be true or false") });
export const StrikeRequest = z.strictObject({
  requestId: z.uuid(),
  clientId: z.uuid(),
  marketId: z.uuid(),
  strike: z.string(),
  status: z.enum(STRIKE_REQUEST_STATUSES),
  requestedTs: Ms,
  decidedTs: Ms.nullable(),
  decidedBy: z.uuid().nullable(),
  createdMarketId: z.uuid().nullable(),
});
