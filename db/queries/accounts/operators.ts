/** Operators: their list, roles and states (contract section 8.5). */

import { and, eq } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Page, type PageRequest } from "../../page.js";
import { traders, type TraderState } from "../../schema/accounts.js";
import type { OperatorRole } from "../../schema/operator-roles.js";
import { BY_CREATION, type Trader } from "./traders.js";

const IS_OPERATOR = eq(traders.role, "operator");

/** Returns the role of an operator. One whom a build without roles has created may only read. */
export function roleOf({ operatorRole }: Pick<Trader, "operatorRole">): OperatorRole {
  return operatorRole ?? "viewer";
}

/** Lists operators, newest first. Throws `InvalidCursor`. */
export async function listOperators(db: Queries, request: PageRequest): Promise<Page<Trader>> {
  return page(db.select().from(traders).$dynamic(), BY_CREATION, request, IS_OPERATOR);
}

/** Returns an operator; `undefined` when no operator has the id. */
export async function findOperator(db: Queries, operatorId: string): Promise<Trader | undefined> {
  const [row] = await db
    .select()
    .from(traders)
    .where(and(eq(traders.traderId, operatorId), IS_OPERATOR));
  return row;
}

/** Changes the role or the state of an operator. Returns the changed operator, or `undefined` if there is none. */
export async function changeOperator(
  db: Queries,
  operatorId: string,
  change: { readonly role?: OperatorRole | undefined; readonly state?: TraderState | undefined },
  nowTs: number,
): Promise<Trader | undefined> {
  const { role: operatorRole, state } = change;
  const [row] = await db
    .update(traders)
    .set({ operatorRole, state, updatedTs: nowTs })
    .where(and(eq(traders.traderId, operatorId), IS_OPERATOR))
    .returning();
  return row;
}

const IS_ACTIVE_OWNER = and(IS_OPERATOR, eq(traders.operatorRole, "owner"), eq(traders.state, "ACTIVE"));

/** Returns whether any owner is active; the first one is created at the start. */
export async function hasOwner(db: Queries): Promise<boolean> {
  const rows = await db
    .select({ operatorId: traders.traderId })
    .from(traders)
    .where(IS_ACTIVE_OWNER)
    .limit(1);
  return rows.length > 0;
}

/** Returns the ids of the active owners. Inside a transaction, no other one changes these rows until its end. */
export async function lockOwners(db: Queries): Promise<readonly string[]> {
  const rows = await db
    .select({ operatorId: traders.traderId })
    .from(traders)
    .where(IS_ACTIVE_OWNER)
    .orderBy(traders.traderId)
    .for("update");
  return rows.map(({ operatorId }) => operatorId);
}
