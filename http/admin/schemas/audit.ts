/** Query and records of the audit log. */

import { z } from "zod";
import { BoundsQuery, Ms, PageQuery, Text, Uuid } from "../../request/fields.js";

/** Reason of an action, for the audit log. */
export const Reason = Text(500).optional();

export const AuditQuery = z.strictObject({
  ...PageQuery,
  ...BoundsQuery,
  operator: Uuid.optional(),
  action: z.string().max(100, "must have at most 100 characters").optional(),
  subject: z.string().max(200, "must have at most 200 characters").optional(),
});
export const AuditRecord = z.strictObject({
  auditId: z.int(),
  ts: Ms,
  operatorId: z.uuid(),
  action: z.string(),
  subject: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  requestId: z.string().nullable(),
});
