/** Actions that wait for a second operator (contract section 8.18). */

import { and, eq, inArray } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { approvals, type ApprovalStatus, type GuardedAction } from "../../schema/accounts.js";

export type Approval = typeof approvals.$inferSelect;

const BY_REQUEST: Keyset<Approval> = {
  columns: [approvals.requestedTs, approvals.approvalId],
  direction: "descending",
  keyOf: ({ requestedTs, approvalId }) => [requestedTs, approvalId],
};

/** Statuses in which an action may still be approved. `RUNNING` stays when the effect of an approval is unknown. */
const OPEN = ["PENDING_APPROVAL", "RUNNING"] as const satisfies readonly ApprovalStatus[];

/** Records an action that waits for its approval. Returns `undefined` if it is recorded already. */
export async function requestApproval(
  db: Queries,
  request: {
    readonly approvalId: string;
    readonly subject: string;
    readonly action: GuardedAction;
    readonly requestedBy: string;
    readonly requestedTs: number;
  },
): Promise<Approval | undefined> {
  const [row] = await db
    .insert(approvals)
    .values({ ...request, status: "PENDING_APPROVAL" })
    .onConflictDoNothing()
    .returning();
  return row;
}

/** Lists the actions, newest first. Throws `InvalidCursor`. */
export async function listApprovals(
  db: Queries,
  filter: { readonly statuses?: readonly ApprovalStatus[] | undefined },
  request: PageRequest,
): Promise<Page<Approval>> {
  const { statuses } = filter;
  const wanted = statuses === undefined ? undefined : inArray(approvals.status, [...statuses]);
  return page(db.select().from(approvals).$dynamic(), BY_REQUEST, request, wanted);
}

export async function findApproval(db: Queries, approvalId: string): Promise<Approval | undefined> {
  const [row] = await db.select().from(approvals).where(eq(approvals.approvalId, approvalId));
  return row;
}

/** Decision of an operator on an action. */
interface Decision {
  readonly decidedBy: string;
  readonly decidedTs: number;
}

/**
 * Decides on an action that is still open. One whose approval runs cannot be withdrawn, because it may have taken effect.
 * Returns the changed action, or `undefined` if it is not open.
 */
export async function decideApproval(
  db: Queries,
  approvalId: string,
  decision: Decision & { readonly status: Exclude<ApprovalStatus, "PENDING_APPROVAL"> },
): Promise<Approval | undefined> {
  const from: readonly ApprovalStatus[] = decision.status === "WITHDRAWN" ? ["PENDING_APPROVAL"] : OPEN;
  const [row] = await db
    .update(approvals)
    .set(decision)
    .where(and(eq(approvals.approvalId, approvalId), inArray(approvals.status, [...from])))
    .returning();
  return row;
}

/** Lets an action wait again whose approval had no effect. Nothing happens if another approval of it runs by now. */
export async function endApproval(
  db: Queries,
  approvalId: string,
  { decidedBy, decidedTs }: Decision,
): Promise<void> {
  await db
    .update(approvals)
    .set({ status: "PENDING_APPROVAL", decidedBy: null, decidedTs: null })
    .where(
      and(
        eq(approvals.approvalId, approvalId),
        eq(approvals.status, "RUNNING"),
        eq(approvals.decidedBy, decidedBy),
        eq(approvals.decidedTs, decidedTs),
      ),
    );
}
