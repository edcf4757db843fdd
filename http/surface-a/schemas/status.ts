/** Answer with the public status of the service (contract section 5.11). */

import { z } from "zod";
import { Change, Maintenance } from "../../admin/schemas/exchange.js";
import { LIST_STATES, SERVICE_STATES, TRADING_STATES } from "../../ops/status.js";
import { Ms } from "../../request/fields.js";

export const Status = z.strictObject({
  state: z.enum(SERVICE_STATES),
  trading: z.enum(TRADING_STATES),
  lists: z.enum(LIST_STATES),
  accounts: z.boolean(),
  lag: z.int().nullable(),
  maintenance: Maintenance.pick({ message: true }).extend({ sinceTs: Ms }).nullable(),
  announcements: z.array(Change),
  announcementsTs: Ms.nullable(),
  ts: Ms,
});
