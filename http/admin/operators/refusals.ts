/** Refusals of operators, each of which is recorded in the audit log (contract sections 8.5 and 8.18). */

import type { Database } from "../../../db/database.js";
import { findOperator } from "../../../db/queries/accounts/operators.js";
import { recordAudit } from "../../../db/queries/operator/audit.js";
import { allows, PERMISSIONS, type Permission } from "../../auth/permissions.js";
import { Refused } from "../../request/errors.js";
import { auditedAction, type ActionRequest } from "../audit.js";

/** Refuses an operator whose role lacks a permission; `asked` is the route or the action that needs it. */
export async function requirePermission(
  db: Database,
  call: ActionRequest,
  permission: Permission,
  asked: string,
): Promise<void> {
  const role = call.caller.operatorRole ?? "viewer";
  if (allows(role, permission)) return;
  const record = { action: "request refused", subject: call.incoming.target.path };
  await recordAudit(db, auditedAction(call, { ...record, after: { role, permission, asked } }));
  const roles = PERMISSIONS[permission].join(" or ");
  throw new Refused("FORBIDDEN", `the role ${role} does not allow ${asked}; it needs the role ${roles}`);
}

/** Request of an operator that waits for another one. */
interface Requested {
  readonly subject: string;
  readonly requestedBy: string;
  readonly requestedTs: number;
}

/** Refuses an approver who is the author of the request, whom the author created, or who is newer than the request. */
export async function requireSecondOperator(
  db: Database,
  call: ActionRequest,
  { subject, requestedBy, requestedTs }: Requested,
): Promise<void> {
  const { accountId } = call.caller;
  const approver = await findOperator(db, accountId);
  const reason =
    accountId === requestedBy
      ? "the operator who made the request cannot approve it"
      : approver?.createdBy === requestedBy
        ? "an operator whom the author of the request created cannot approve it"
        : approver === undefined || approver.createdTs >= requestedTs
          ? "an operator who is newer than the request cannot approve it"
          : undefined;
  if (reason === undefined) return;
  const record = { action: "approval refused", subject, after: { requestedBy, reason } };
  await recordAudit(db, auditedAction(call, record));
  throw new Refused("FORBIDDEN", `${reason}; ask another operator`);
}
