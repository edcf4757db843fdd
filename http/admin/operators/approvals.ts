/** Actions that wait for a second operator where a settlement takes two (contract section 8.18). */

import { randomUUID } from "node:crypto";
import { formatMoney } from "../../../actors/units.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { Database, Queries } from "../../../db/database.js";
import {
  decideApproval,
  endApproval,
  findApproval,
  listApprovals,
  requestApproval,
  type Approval as ApprovalRecord,
} from "../../../db/queries/operator/approvals.js";
import { recordAudit } from "../../../db/queries/operator/audit.js";
import type { GuardedAction } from "../../../db/schema/accounts.js";
import type { Permission } from "../../auth/permissions.js";
import { operatorWith } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { pageOf } from "../../request/fields.js";
import { route, type Reply } from "../../request/route.js";
import { auditedAction, type ActionRequest } from "../audit.js";
import { Approval, ApprovalsQuery } from "../schemas/operators.js";
import { requirePermission, requireSecondOperator } from "./refusals.js";

/** Condition of the 202 of a route whose action may wait. */
export const WAITS = {
  202: "With `SETTLEMENT_APPROVALS=2`: the action waits for a second operator.",
} as const;

type Kind = GuardedAction["action"];
type ActionOf<K extends Kind> = Extract<GuardedAction, { action: K }>;
type ApprovalOnWire = (typeof Approval)["_output"];

/** Action that an operator has asked for: by the call itself, or by an earlier one that this call approves. */
interface Asked<Action> {
  readonly subject: string;
  readonly action: Action;
  readonly requestedBy: string;
}

/** Takes an action. A repeat after an unknown outcome must not take it twice. */
type Take<Action, Answer> = (call: ActionRequest, asked: Asked<Action>) => Promise<Answer>;

/** Withdrawal of an action of which more is stored than its approval. */
interface Withdrawal<Action> {
  /** Returns whether the action has taken effect, so that it cannot be withdrawn. */
  readonly isTaken: (subject: string, action: Action) => Promise<boolean>;
  /** Undoes what was written when the action began to wait. */
  readonly undo: (tx: Queries, action: Action) => Promise<void>;
}

interface Guarded {
  readonly permission: Permission;
  readonly take: Take<never, unknown>;
  readonly withdrawal: Withdrawal<never> | undefined;
}

/** Time after which an approval without an answer runs no more. Requests to the actors end long before. */
const RUNS_MS = 30_000;

/** Action that begins to wait. */
type Waiting = Parameters<typeof requestApproval>[1];

/** Returns what others see of an action: amounts in dollars, and no password. */
function detailsOf(action: GuardedAction): Record<string, unknown> {
  switch (action.action) {
    case "operator.create":
      return { email: action.email, role: action.role };
    case "trader.transaction": {
      const { kind, amount, currency, reason, subaccountKeyId, clientRef } = action;
      return { kind, amount: formatMoney(amount), currency, reason, subaccountKeyId, clientRef };
    }
    case "market.grade":
      return { settlementId: action.settlementId, ...action.asked };
    case "market.remediate":
      return { settlementId: action.settlementId, reason: action.reason };
    case "operator.role":
      return { role: action.role };
    case "event.cancel":
      return { reason: action.reason };
    default:
      return unreachable(action);
  }
}

function approvalOnWire({ action, ...approval }: ApprovalRecord): ApprovalOnWire {
  const { approvalId, subject, status, requestedBy, requestedTs, decidedBy, decidedTs } = approval;
  const asked = { approvalId, action: action.action, subject, details: detailsOf(action) };
  return { ...asked, status, requestedBy, requestedTs, decidedBy, decidedTs };
}

/** The actions that may need a second operator, and those that wait for one. */
export class Approvals {
  readonly #db: Database;
  readonly #guarded = new Map<Kind, Guarded>();
  /** True where such an action needs two operators. */
  readonly areRequired: boolean;

  constructor({ db, settlementApprovals }: { readonly db: Database; readonly settlementApprovals: number }) {
    this.#db = db;
    this.areRequired = settlementApprovals === 2;
  }

  /**
   * Declares how an action is taken, and the permission that its approval needs. The returned function takes the action at
   * once, or records that it waits and answers 202; with `waits` false it never waits.
   */
  guard<K extends Kind, Answer>(
    kind: K,
    permission: Permission,
    take: Take<ActionOf<K>, Answer>,
    withdrawal?: Withdrawal<ActionOf<K>>,
  ) {
    this.#guarded.set(kind, { permission, take, withdrawal });
    return async (
      call: ActionRequest,
      subject: string,
      action: ActionOf<K>,
      waits = true,
    ): Promise<Reply<Answer | ApprovalOnWire>> => {
      if (this.areRequired && waits) {
        const requestedTs = call.incoming.receivedMs;
        const request = { approvalId: randomUUID(), subject, action, requestedTs };
        const asked = { ...request, requestedBy: call.caller.accountId };
        return { status: 202, body: await this.#db.transaction((tx) => this.wait(tx, call, asked)) };
      }
      return { body: await take(call, { subject, action, requestedBy: call.caller.accountId }) };
    };
  }

  /** Records in a transaction that an action waits. One that waits already goes on waiting. */
  async wait(tx: Queries, call: ActionRequest, request: Waiting): Promise<ApprovalOnWire> {
    const { approvalId, subject, action } = request;
    const approval = await requestApproval(tx, request);
    if (approval === undefined) return approvalOnWire(await this.#existing(approvalId, tx));
    const record = { action: `${action.action} requested`, subject, after: detailsOf(action) };
    await recordAudit(tx, auditedAction(call, record));
    return approvalOnWire(approval);
  }

  /** Approves an action that waits, and takes it. An action that is refused waits on. */
  async approve(call: ActionRequest, approvalId: string): Promise<ApprovalOnWire> {
    const db = this.#db;
    const approval = await this.#existing(approvalId);
    const { action, subject, requestedBy } = approval;
    const guarded = this.#guardOf(action);
    await requirePermission(db, call, guarded.permission, action.action);
    await requireSecondOperator(db, call, approval);
    const decision = { decidedBy: call.caller.accountId, decidedTs: call.incoming.receivedMs };
    const running = await decideApproval(db, approvalId, { status: "RUNNING", ...decision });
    if (running === undefined) throw decided();
    try {
      // The type of the action is erased in the map: `guard` stores each action under its own name.
      await guarded.take(call, { subject, action: action as never, requestedBy });
    } catch (error) {
      if (error instanceof Refused && error.code !== "UNAVAILABLE")
        await endApproval(db, approvalId, decision);
      throw error;
    }
    return this.#decide(call, approval, "APPROVED", "approved");
  }

  /** Withdraws an action that waits. Its author may do so, and whoever has the permission of the action. */
  async withdraw(call: ActionRequest, approvalId: string): Promise<void> {
    const approval = await this.#existing(approvalId);
    const { action, requestedBy } = approval;
    const { permission } = this.#guardOf(action);
    if (requestedBy !== call.caller.accountId)
      await requirePermission(this.#db, call, permission, action.action);
    await this.#requireWithdrawable(call, approval);
    await this.#decide(call, approval, "WITHDRAWN", "withdrawn");
  }

  /**
   * Refuses an action that does not wait or has taken effect. One whose approval ended without an answer waits again, if
   * its routes know that it had no effect.
   */
  async #requireWithdrawable(call: ActionRequest, approval: ApprovalRecord): Promise<void> {
    const { approvalId, subject, action, status, decidedBy, decidedTs } = approval;
    const { withdrawal } = this.#guardOf(action);
    const decision = decidedBy === null || decidedTs === null ? undefined : { decidedBy, decidedTs };
    const stopped =
      withdrawal !== undefined &&
      status === "RUNNING" &&
      decision !== undefined &&
      call.incoming.receivedMs >= decision.decidedTs + RUNS_MS;
    if (status !== "PENDING_APPROVAL" && !stopped) throw decided();
    if (await withdrawal?.isTaken(subject, action as never)) throw decided();
    if (stopped) await endApproval(this.#db, approvalId, decision);
  }

  #guardOf({ action }: GuardedAction): Guarded {
    const guarded = this.#guarded.get(action);
    if (guarded === undefined) throw new Error(`no route takes the action ${action}`);
    return guarded;
  }

  async #existing(approvalId: string, db: Queries = this.#db): Promise<ApprovalRecord> {
    const approval = await findApproval(db, approvalId);
    if (approval === undefined) throw new Refused("APPROVAL_NOT_FOUND");
    return approval;
  }

  #decide(
    call: ActionRequest,
    { approvalId, action, subject }: ApprovalRecord,
    status: "APPROVED" | "WITHDRAWN",
    word: string,
  ): Promise<ApprovalOnWire> {
    return this.#db.transaction(async (tx) => {
      const decision = { status, decidedBy: call.caller.accountId, decidedTs: call.incoming.receivedMs };
      const changed = await decideApproval(tx, approvalId, decision);
      if (changed === undefined) throw decided();
      if (status === "WITHDRAWN") await this.#guardOf(action).withdrawal?.undo(tx, action as never);
      const record = { action: `${action.action} ${word}`, subject, after: { approvalId } };
      await recordAudit(tx, auditedAction(call, record));
      return approvalOnWire(changed);
    });
  }
}

function decided(): Refused {
  return new Refused(
    "INVALID_TRANSITION",
    "the action does not wait for its approval; read the list of approvals for its status",
  );
}

/** Codes with which the approved actions are refused. */
const REFUSED_ACTIONS = [
  "NOT_GRADED",
  "ALREADY_GRADED",
  "VOID_KIND",
  "MARKET_NOT_FOUND",
  "NOT_SETTLED",
  "EVENT_NOT_FOUND",
  "ACTION_PENDING",
  "EMAIL_TAKEN",
  "OPERATOR_NOT_FOUND",
  "TRADER_NOT_FOUND",
  "SUBACCOUNT_NOT_FOUND",
  "NOT_A_SUBACCOUNT_KEY",
  "INSUFFICIENT_BALANCE",
  "AMOUNT_OUT_OF_RANGE",
  "CLIENT_ID_REUSED",
] as const;

export function approvalRoutes({ db }: { readonly db: Database }, approvals: Approvals) {
  const list = route("GET /admin/v1/approvals", {
    access: operatorWith("read"),
    query: ApprovalsQuery,
    answer: pageOf(Approval),
    docs: {
      summary: "List approvals",
      description:
        "Returns the actions that wait for a second operator or have been decided on, newest first.",
      exampleQuery: { status: "PENDING_APPROVAL" },
    },
    run: async ({ query }) => {
      const { status, ...page } = query;
      const { items, next } = await listApprovals(db, { statuses: status }, page);
      return { body: { items: items.map(approvalOnWire), next } };
    },
  });

  const approve = route("POST /admin/v1/approvals/:approvalId/approve", {
    access: operatorWith("approvals"),
    answer: Approval,
    docs: {
      summary: "Approve an action",
      description:
        "Takes an action that waits for a second operator. The operator who asked for it cannot approve it, nor can an operator whom that one created or who is newer than the request. An action that is refused waits on.",
      refuses: ["APPROVAL_NOT_FOUND", "INVALID_TRANSITION", ...REFUSED_ACTIONS],
    },
    run: async ({ id, ...call }) => ({ body: await approvals.approve(call, id("approvalId")) }),
  });

  const withdraw = route("DELETE /admin/v1/approvals/:approvalId", {
    access: operatorWith("approvals"),
    status: 204,
    docs: {
      summary: "Withdraw an action",
      description: "Withdraws an action that waits for a second operator.",
      refuses: ["APPROVAL_NOT_FOUND", "INVALID_TRANSITION"],
    },
    run: async ({ id, ...call }) => {
      await approvals.withdraw(call, id("approvalId"));
      return { body: undefined };
    },
  });

  return [list, approve, withdraw];
}
