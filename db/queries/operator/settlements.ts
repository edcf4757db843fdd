/** Requests to grade a market, and their approval by a second operator (contract section 8.9). */

import { and, asc, desc, eq, ne } from "drizzle-orm";
import type { Grade } from "../../../actors/market/types.js";
import type { Queries } from "../../database.js";
import { settlements } from "../../schema/markets.js";

export type SettlementRequest = typeof settlements.$inferSelect;

/** Records a grade that waits for a second operator. Returns `undefined` if a grade of the market waits already. */
export async function requestSettlement(
  db: Queries,
  request: {
    settlementId: string;
    marketId: string;
    grade: Grade;
    operatorId: string;
    nowTs: number;
  },
): Promise<SettlementRequest | undefined> {
  const { operatorId, nowTs, ...fields } = request;
  const [row] = await db
    .insert(settlements)
    .values({ ...fields, status: "PENDING_APPROVAL", requestedBy: operatorId, requestedTs: nowTs })
    .onConflictDoNothing()
    .returning();
  return row;
}

/** Returns the newest request of the market. */
export async function findSettlement(db: Queries, marketId: string): Promise<SettlementRequest | undefined> {
  const [row] = await db
    .select()
    .from(settlements)
    .where(eq(settlements.marketId, marketId))
    .orderBy(desc(settlements.requestedTs))
    .limit(1);
  return row;
}

/** Lists the requests that wait for their approval, oldest first. */
export async function pendingSettlements(db: Queries): Promise<SettlementRequest[]> {
  return db
    .select()
    .from(settlements)
    .where(eq(settlements.status, "PENDING_APPROVAL"))
    .orderBy(asc(settlements.requestedTs), asc(settlements.settlementId));
}

/** Approves a waiting request. Returns `undefined` if it does not wait, or if the operator made it. */
export async function approveSettlement(
  db: Queries,
  approval: { settlementId: string; operatorId: string; nowTs: number },
): Promise<SettlementRequest | undefined> {
  const [row] = await db
    .update(settlements)
    .set({ status: "APPROVED", approvedBy: approval.operatorId, approvedTs: approval.nowTs })
    .where(
      and(
        eq(settlements.settlementId, approval.settlementId),
        eq(settlements.status, "PENDING_APPROVAL"),
        ne(settlements.requestedBy, approval.operatorId),
      ),
    )
    .returning();
  return row;
}

/** Withdraws a waiting request, so that another can replace it. */
export async function withdrawSettlement(db: Queries, settlementId: string): Promise<void> {
  await db
    .update(settlements)
    .set({ status: "REPLACED" })
    .where(and(eq(settlements.settlementId, settlementId), eq(settlements.status, "PENDING_APPROVAL")));
}
