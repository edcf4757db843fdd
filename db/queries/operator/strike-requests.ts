/** Strikes that market makers ask for, and what operators make of them (contract sections 7 and 8). */

import { and, eq, inArray } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { strikeRequests, type StrikeRequestStatus } from "../../schema/emm.js";

export type StrikeRequest = typeof strikeRequests.$inferSelect;

const BY_REQUEST: Keyset<StrikeRequest> = {
  columns: [strikeRequests.requestedTs, strikeRequests.requestId],
  direction: "rising",
  keyOf: (request) => [request.requestedTs, request.requestId],
};

/** Writes a request down, or gives the same one of that client that still waits. */
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
  // It was decided between the two statements, so there is room for another now.
  return waiting ?? requestStrike(db, request);
}

/** Requests, oldest first. Throws `InvalidCursor`. */
export async function listStrikeRequests(
  db: Queries,
  filter: { statuses?: readonly StrikeRequestStatus[] | undefined },
  request: PageRequest,
): Promise<Page<StrikeRequest>> {
  const wanted = filter.statuses && inArray(strikeRequests.status, [...filter.statuses]);
  return page(db.select().from(strikeRequests).$dynamic(), BY_REQUEST, request, wanted);
}

/** A request, held against everybody else who would decide it until the transaction ends. */
export async function holdStrikeRequest(tx: Queries, requestId: string): Promise<StrikeRequest | undefined> {
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
  if (row === undefined) throw new Error(`the strike request ${requestId} is gone`);
  return row;
}
