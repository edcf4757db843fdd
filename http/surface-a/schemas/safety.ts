/** Bodies and answers of the dead-man switch and of order groups (contract section 5.18). */

import { z } from "zod";
import { MAX_CONTRACTS } from "../../../actors/units.js";
import { Uuid } from "../../request/fields.js";

const TIMEOUT = "must be 0, or from 5000 to 300000 ms";
export const HeartbeatBody = z.strictObject({
  timeoutMs: z.int(TIMEOUT).refine((ms) => ms === 0 || (ms >= 5_000 && ms <= 300_000), TIMEOUT),
});
export const Heartbeat = z.strictObject({ timeoutMs: z.int() });

export const GroupBody = z.strictObject({
  groupId: Uuid.optional(),
  maxFilledQty: z
    .int("must be a whole number of contracts")
    .min(1, "must be at least 1")
    .max(MAX_CONTRACTS, `must be at most ${MAX_CONTRACTS}`),
  windowMs: z
    .int("must be a whole number of ms")
    .min(100, "must be at least 100 ms")
    .max(3_600_000, "must be at most 3600000 ms"),
});
export const Group = z.strictObject({
  groupId: z.uuid(),
  maxFilledQty: z.int(),
  windowMs: z.int(),
  tripped: z.boolean(),
});
export type Group = z.output<typeof Group>;
export const Groups = z.array(Group);
export const GroupsRemoved = z.strictObject({ removed: z.int() });
