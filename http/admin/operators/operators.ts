/** Operators: their accounts, roles, states and sessions (contract section 8.5). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../../db/database.js";
import {
  changeOperator,
  findOperator,
  listOperators,
  lockOwners,
  roleOf,
} from "../../../db/queries/accounts/operators.js";
import {
  createTrader,
  endSessions,
  findTraderByEmail,
  type Trader,
} from "../../../db/queries/accounts/traders.js";
import { recordAudit } from "../../../db/queries/operator/audit.js";
import type { TraderState } from "../../../db/schema/accounts.js";
import type { OperatorRole } from "../../../db/schema/operator-roles.js";
import type { Passwords } from "../../auth/passwords/passwords.js";
import { endOfSessions } from "../../auth/web-tokens.js";
import type { Changes } from "../../reference/changes.js";
import { operatorWith } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { pageOf } from "../../request/fields.js";
import { route } from "../../request/route.js";
import { auditedAction, requireChange, type ActionRequest } from "../audit.js";
import {
  Account,
  AccountOrApproval,
  AccountPatchBody,
  AccountsQuery,
  NewAccountBody,
} from "../schemas/operators.js";
import { WAITS, type Approvals } from "./approvals.js";

interface OperatorParts {
  readonly db: Database;
  readonly passwords: Passwords;
  readonly changes: Changes;
}

function operatorOnWire(operator: Trader) {
  const { traderId, email, state, createdBy, createdTs } = operator;
  return { traderId, email, role: roleOf(operator), state, createdBy, createdTs };
}

export function operatorRoutes({ db, passwords, changes }: OperatorParts, approvals: Approvals) {
  const existing = async (operatorId: string): Promise<Trader> => {
    const operator = await findOperator(db, operatorId);
    if (operator === undefined) throw new Refused("OPERATOR_NOT_FOUND");
    return operator;
  };

  /** Changes the role or the state. Every state but `ACTIVE` ends all sessions of the operator. */
  const change = async (
    call: ActionRequest,
    operatorId: string,
    wanted: { readonly role?: OperatorRole; readonly state?: TraderState },
  ) => {
    const nowTs = call.incoming.receivedMs;
    const changed = await db.transaction(async (tx) => {
      const owners = await lockOwners(tx);
      const before = await findOperator(tx, operatorId);
      const after = await changeOperator(tx, operatorId, wanted, nowTs);
      if (before === undefined || after === undefined) throw new Refused("OPERATOR_NOT_FOUND");
      const isOwner = roleOf(after) === "owner" && after.state === "ACTIVE";
      if (!isOwner && owners.length === 1 && owners[0] === operatorId)
        throw new Refused(
          "INVALID_TRANSITION",
          "the operator is the only active owner; give another operator the role owner first",
        );
      if (after.state !== "ACTIVE") await endSessions(tx, operatorId, endOfSessions(nowTs));
      const record = {
        action: wanted.role === undefined ? "operator.state" : "operator.role",
        subject: operatorId,
        before: { role: roleOf(before), state: before.state },
        after: { role: roleOf(after), state: after.state },
      };
      await recordAudit(tx, auditedAction(call, record));
      return after;
    });
    await changes.publish("trader", operatorId);
    return operatorOnWire(changed);
  };

  const setRole = approvals.guard("operator.role", "operators", (call, { subject, action }) =>
    change(call, subject, { role: action.role }),
  );

  const createOperator = approvals.guard(
    "operator.create",
    "operators",
    async (call, { subject: traderId, action, requestedBy }) => {
      const repeated = await findOperator(db, traderId);
      if (repeated !== undefined) return operatorOnWire(repeated);
      const { email, passwordHash, role } = action;
      return db.transaction(async (tx) => {
        const account = await createTrader(tx, {
          traderId,
          email,
          passwordHash,
          role: "operator",
          operatorRole: role,
          createdBy: requestedBy,
          nowTs: call.incoming.receivedMs,
        });
        if (account === undefined) throw new Refused("EMAIL_TAKEN");
        const record = {
          action: "operator.create",
          subject: traderId,
          after: { email: account.email, role },
        };
        await recordAudit(tx, auditedAction(call, record));
        return operatorOnWire(account);
      });
    },
  );

  const create = route("POST /admin/v1/operators", {
    access: operatorWith("operators"),
    status: 201,
    body: NewAccountBody,
    answer: AccountOrApproval,
    docs: {
      summary: "Create an operator",
      description: "Creates an account that signs in like a trader's and has the role.",
      refuses: ["EMAIL_TAKEN"],
      also: WAITS,
      exampleBody: { email: "second@example.com", password: "another long password", role: "settlement" },
    },
    run: async ({ body, ...call }) => {
      const { email, password, role } = body;
      if ((await findTraderByEmail(db, email)) !== undefined) throw new Refused("EMAIL_TAKEN");
      const passwordHash = await passwords.hash(password);
      const action = { action: "operator.create", email, passwordHash, role } as const;
      return createOperator(call, randomUUID(), action);
    },
  });

  const list = route("GET /admin/v1/operators", {
    access: operatorWith("read"),
    query: AccountsQuery,
    answer: pageOf(Account),
    docs: { summary: "List operators", description: "Returns all operators, newest first." },
    run: async ({ query }) => {
      const { items, next } = await listOperators(db, query);
      return { body: { items: items.map(operatorOnWire), next } };
    },
  });

  const patch = route("PATCH /admin/v1/operators/:operatorId", {
    access: operatorWith("operators"),
    body: AccountPatchBody,
    answer: AccountOrApproval,
    docs: {
      summary: "Change the role or the state of an operator",
      description:
        "Every state but `ACTIVE` ends all sessions of the operator at once. The only active owner keeps role and state. A change of state never waits for a second operator.",
      refuses: ["OPERATOR_NOT_FOUND", "INVALID_TRANSITION", "NO_CHANGE"],
      also: WAITS,
      exampleBody: { role: "viewer" },
    },
    run: async ({ body, id, ...call }) => {
      const operatorId = id("operatorId");
      const { role, state } = body;
      const operator = operatorOnWire(await existing(operatorId));
      requireChange(operator, body);
      const shown =
        state === undefined || state === operator.state
          ? operator
          : await change(call, operatorId, { state });
      if (role === undefined || role === shown.role) return { body: shown };
      return setRole(call, operatorId, { action: "operator.role", role });
    },
  });

  const end = route("POST /admin/v1/operators/:operatorId/sessions/end", {
    access: operatorWith("operators"),
    status: 204,
    docs: {
      summary: "End the sessions of an operator",
      description: "Ends every web session of the operator at once, on every gateway.",
      refuses: ["OPERATOR_NOT_FOUND"],
    },
    run: async ({ id, ...call }) => {
      const { traderId } = await existing(id("operatorId"));
      await db.transaction(async (tx) => {
        await endSessions(tx, traderId, endOfSessions(call.incoming.receivedMs));
        await recordAudit(tx, auditedAction(call, { action: "operator.sessions.end", subject: traderId }));
      });
      await changes.publish("trader", traderId);
      return { body: undefined };
    },
  });

  return [create, list, patch, end];
}
