/** Actions on events that markets have lost, because the log went back to before they took them (contract section 4.2). */

import { and, eq, exists, gt, gte, lt, ne, notExists, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/pg-core";
import type { Database, Queries } from "../../database.js";
import { eventActions, events } from "../../schema/catalog.js";
import { markets, marketTransitions } from "../../schema/markets.js";
import type { LostAction } from "../../../stream/jobs/lost-actions.js";

const later = alias(eventActions, "later_action");
const earlier = alias(marketTransitions, "earlier_transition");

/** Times (Unix ms) between which an action was finished that is looked for, and its id if it is one. */
interface Sought {
  readonly sinceTs: number;
  readonly beforeTs: number;
  readonly actionId?: number | undefined;
}

/**
 * Returns the finished actions that markets in the tables do not show, with these markets. An event counts with its last
 * action alone, and a market only if it has had no transition since. The transitions of a market that was created before they
 * were recorded may be missing, so it counts from its first recorded one. An `open` is not looked for, because a market that stays
 * closed is safe and may have been closed by hand, nor a `delay`, which leaves no trace in a market.
 */
export async function lostEventActions(
  db: Queries,
  { sinceTs, beforeTs, actionId }: Sought,
): Promise<readonly LostAction[]> {
  const { action, createdTs, doneTs, eventId } = eventActions;
  const lacksIt = sql`case ${action}
    when 'golive' then not ${markets.live}
    when 'unlive' then ${markets.live}
    when 'close' then ${markets.status} = 'OPEN'
    when 'finalise' then ${markets.status} = 'OPEN'
    when 'cancel' then ${markets.status} = 'OPEN' or (${markets.voids} = 'PUSH' and ${markets.settlementId} is null)
    else false end`;
  const laterActions = db
    .select({ one: sql`1` })
    .from(later)
    .where(and(eq(later.eventId, eventId), gt(later.actionId, eventActions.actionId)));
  const earlierTransitions = db
    .select({ one: sql`1` })
    .from(earlier)
    .where(and(eq(earlier.marketId, markets.marketId), lt(earlier.ts, createdTs)));
  // A cancel closes a market and then grades it, and the log may have lost the grade alone.
  const laterTransitions = db
    .select({ one: sql`1` })
    .from(marketTransitions)
    .where(
      and(
        eq(marketTransitions.marketId, markets.marketId),
        gte(marketTransitions.ts, createdTs),
        sql`not (${action} = 'cancel' and ${marketTransitions.kind} = 'CLOSE')`,
      ),
    );
  return db
    .select({
      actionId: eventActions.actionId,
      eventId,
      action,
      marketIds: sql<string[]>`array_agg(${markets.marketId}::text)`,
    })
    .from(eventActions)
    .innerJoin(markets, eq(markets.eventId, eventId))
    .where(
      and(
        gt(doneTs, sinceTs),
        lt(doneTs, beforeTs),
        actionId === undefined ? undefined : eq(eventActions.actionId, actionId),
        ne(markets.status, "SETTLED"),
        lacksIt,
        notExists(laterActions),
        exists(earlierTransitions),
        notExists(laterTransitions),
      ),
    )
    .groupBy(eventActions.actionId);
}

/**
 * Calls `send` with those of the markets of an action that still do not show it. The event takes no other action meanwhile.
 * Returns these markets.
 */
export async function sendLostAction(
  db: Database,
  { actionId, eventId, marketIds }: LostAction,
  sought: Sought,
  send: (marketIds: readonly string[]) => Promise<void>,
): Promise<readonly string[]> {
  return db.transaction(async (tx) => {
    // Every step of an event waits for this lock.
    await tx
      .select({ one: sql`1` })
      .from(events)
      .where(eq(events.eventId, eventId))
      .for("update");
    const [still] = await lostEventActions(tx, { ...sought, actionId });
    const lost = marketIds.filter((marketId) => still?.marketIds.includes(marketId));
    if (lost.length > 0) await send(lost);
    return lost;
  });
}
