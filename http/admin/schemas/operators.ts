/** Bodies, queries and answers about operators and what waits for a second one (contract sections 8.5 and 8.18). */

import { z } from "zod";
import { APPROVAL_STATUSES, TRADER_STATES } from "../../../db/schema/accounts.js";
import { OPERATOR_ROLES } from "../../../db/schema/operator-roles.js";
import { commaList, Ms, oneOf, PageQuery } from "../../request/fields.js";
import { RegisterBody } from "../../surface-a/schemas/account.js";

const Role = oneOf(OPERATOR_ROLES);

/** Account of an operator. */
export const Account = z.strictObject({
  traderId: z.uuid(),
  email: z.string(),
  role: Role,
  state: z.enum(TRADER_STATES),
  createdBy: z.uuid().nullable(),
  createdTs: Ms,
});
export const AccountsQuery = z.strictObject(PageQuery);
/** Callers that know no roles expect an operator who may do everything. */
export const NewAccountBody = RegisterBody.extend({ role: Role.default("owner") });
export const AccountPatchBody = z
  .strictObject({ role: Role.optional(), state: oneOf(["ACTIVE", "LOCKED"]).optional() })
  .refine(({ role, state }) => role !== undefined || state !== undefined, "must have at least one field");

/** Action that waits for a second operator, or that one has decided on. */
export const Approval = z.strictObject({
  approvalId: z.uuid(),
  action: z.string(),
  subject: z.string(),
  details: z.record(z.string(), z.unknown()),
  status: z.enum(APPROVAL_STATUSES),
  requestedBy: z.uuid(),
  requestedTs: Ms,
  decidedBy: z.uuid().nullable(),
  decidedTs: Ms.nullable(),
});
export const ApprovalsQuery = z.strictObject({
  ...PageQuery,
  status: commaList(oneOf(APPROVAL_STATUSES)).optional(),
});
/** Answer with status 202 when the action waits for a second operator. */
export const AccountOrApproval = z.union([Account, Approval]);
