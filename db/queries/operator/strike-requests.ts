/** Requests of market makers for strikes, and the decisions of operators (contract sections 7.10 and 8.11). */

import { and, eq, inArray } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { strikeRequests, type StrikeRequestStatus } from "../../schema/emm.js";

export type StrikeRequest = typeof strikeRequests.$inferSelect;

const BY_REQUEST: Keyset<StrikeRequest> = {
  columns: [strikeRequests.requestedTs, strikeRequests.requestId],
  direction: "ascending",
  keyOf: (request) => [request.requestedTs, request.requestId],
};

/** Records a request, or returns the pending request of the client for the same market and strike. */
export async function requestStrike(
  db: Queries,
  request: { requestId: string; clientId: string; marketId: string; strike: string; nowTs: number },
): Promise<StrikeRequest> {
  const { nowTs, ...fields } = request;
  const same = and(
    eq(strikeRequests.clientId, request.clientId),
    eq(strikeRequests.marketId, request.marketId),
    eq(strikeRequests.strike, request.strike),
    eq(strikeRequests.status, "PENDING"),
  );
  const [written] = await db
    .insert(strikeRequests)
    .values({ ...fields, status: "PENDING", requestedTs: nowTs })
    .onConflictDoNothing()
    .returning();
  const [waiting] = written === undefined ? await db.select().from(strikeRequests).where(same) : [written];
  // The pending request was decided between the two statements, so another one can be recorded now.
  return waiting ?? requestStrike(db, request);
}

/** Lists requests, oldest first. Throws `InvalidCursor`. */
export async function listStrikeRequests(
  db: Queries,
  filter: { statuses?: readonly StrikeRequestStatus[] | undefined },
  request: PageRequest,
): Promise<Page<StrikeRequest>> {
  const wanted = filter.statuses && inArray(strikeRequests.status, [...filter.statuses]);
  return page(db.select().from(strikeRequests).$dynamic(), BY_REQUEST, request, wanted);
}

/** Returns a request, and locks it until the transaction ends, so that only one decision is made. */
export async function lockStrikeRequest(tx: Queries, requestId: string): Promise<StrikeRequest | undefined> {
  const [row] = await tx
    .select()
    .from(strikeRequests)
    .where(eq(strikeRequests.requestId, requestId))
    .for("update");
  return row;
}

export async function decideStrikeRequest(
  tx: Queries,
  decision: {
    requestId: string;
    status: Exclude<StrikeRequestStatus, "PENDING">;
    createdMarketId: string | undefined;
    decidedBy: string;
    nowTs: number;
  },
): Promise<StrikeRequest> {
  const { requestId, nowTs, ...fields } = decision;
  const [row] = await tx
    .update(strikeRequests)
    .set({ ...fields, decidedTs: nowTs })
    .where(eq(strikeRequests.requestId, requestId))
    .returning();
  if (row === undefined) throw new Error(`the strike request ${requestId} does not exist`);
  return row;
}
