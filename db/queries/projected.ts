/** The progress of the projector, for reads that must see the caller's own writes. */

import { gt, inArray, sql } from "drizzle-orm";
import type { ActorId } from "../../actors/actor.js";
import { commonSeq, NOWHERE, type Position } from "../../stream/log/lineage.js";
import type { Queries } from "../database.js";
import { PROJECTOR_GROUPS, PROJECTOR_LOCK } from "../locks.js";
import { projectorCursors, reconciliations } from "../schema/wallets.js";

/** Interval at which `waitProjected` reads the cursor; the projector commits many times a second. */
const POLL_MS = 5;

/** The position of the tables in the log of an actor, and the engine time of the last entry there (Unix ms) if known. */
export interface ProjectedPosition extends Position {
  readonly entryTs: number | null;
}

/** Returns the position of the tables in the log of each actor; an actor without rows has no key. */
export async function projectedPositions(
  db: Queries,
  actors: readonly ActorId[],
): Promise<Map<string, ProjectedPosition>> {
  if (actors.length === 0) return new Map();
  const rows = await db
    .select()
    .from(projectorCursors)
    .where(inArray(projectorCursors.actor, [...actors]));
  return new Map(rows.map(({ actor, seq, lineage, entryTs }) => [actor, { seq, lineage, entryTs }]));
}

/**
 * Returns true when the entries up to a position are all in a history of the same actor. A log that has lost entries, and
 * tables that have them still, are in different histories, whichever seq is higher.
 */
export function contains(history: Position, position: Position): boolean {
  return (commonSeq(history, position) ?? 0) >= position.seq;
}

/** Waits until the tables hold the actor's log up to a position. Returns false after `timeoutMs`. */
export async function waitProjected(
  db: Queries,
  actor: ActorId,
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  const untilMs = performance.now() + timeoutMs;
  for (;;) {
    const tables = (await projectedPositions(db, [actor])).get(actor) ?? NOWHERE;
    if (contains(tables, position)) return true;
    if (performance.now() >= untilMs) return false;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/**
 * Returns whether projectors write the whole read model now. A projector that has failed releases its share until it
 * tries again, and so does one that has stopped.
 */
export async function isProjecting(db: Queries): Promise<boolean> {
  // Postgres shows a 64-bit lock id with objsubid 1, and a pair of 32-bit ids with objsubid 2. Only a projector of the
  // build before shares locks the 64-bit id in exclusive mode; it writes the whole read model.
  const { rows } = await db.execute<{ whole: boolean }>(sql`
    select count(*) filter (where classid = ${PROJECTOR_LOCK} and objsubid = 2) = ${PROJECTOR_GROUPS}
      or count(*) filter (where objid = ${PROJECTOR_LOCK} and objsubid = 1 and mode = 'ExclusiveLock') > 0 as whole
    from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where datname = current_database() and locktype = 'advisory' and granted`);
  return rows[0]?.whole === true;
}

/** Returns the number of repairs since a time (Unix ms), after the log had lost entries that were in the tables. */
export async function reconciledSince(db: Queries, ts: number): Promise<number> {
  return db.$count(reconciliations, gt(reconciliations.ts, ts));
}
