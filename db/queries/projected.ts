/** How far the projector is: what makes reads from Postgres see one's own writes. */

import { eq, inArray } from "drizzle-orm";
import type { ActorId } from "../../actors/actor.js";
import type { Queries } from "../database.js";
import { projectorCursors } from "../schema/wallets.js";

/** How often the cursor is looked at: the projector commits many times a second. */
const POLL_MS = 5;

/** The last entry of the actor's log that is in the tables, 0 before any. */
export async function projectedSeq(db: Queries, actor: ActorId): Promise<number> {
  const [row] = await db.select().from(projectorCursors).where(eq(projectorCursors.actor, actor));
  return row?.seq ?? 0;
}

/** The same for many actors; those without rows are not in the answer. */
export async function projectedSeqs(db: Queries, actors: readonly ActorId[]): Promise<Map<string, number>> {
  if (actors.length === 0) return new Map();
  const rows = await db
    .select()
    .from(projectorCursors)
    .where(inArray(projectorCursors.actor, [...actors]));
  return new Map(rows.map((row) => [row.actor, row.seq]));
}

/** Waits until the tables hold the actor's log up to `seq`. False when they did not within `timeoutMs`. */
export async function waitProjected(
  db: Queries,
  actor: ActorId,
  seq: number,
  timeoutMs: number,
): Promise<boolean> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    if ((await projectedSeq(db, actor)) >= seq) return true;
    if (performance.now() >= untilMs) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
