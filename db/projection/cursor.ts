/** The position of the tables in the log of an actor. */

import type { ActorId } from "../../actors/actor.js";
import { NOWHERE, type Position } from "../../stream/log/lineage.js";
import type { projectorCursors } from "../schema/wallets.js";

/** A position, and the place of the next delta: the number of a delta in its actor's log, which orders its rows. */
export interface Cursor extends Position {
  readonly nextPlace: number;
  /** Engine time of the last entry with deltas (Unix ms), null if it is not known. */
  readonly entryTs: number | null;
}

/** Cursors of the actors that have rows. */
export type Cursors = ReadonlyMap<ActorId, Cursor>;

type CursorRow = typeof projectorCursors.$inferSelect;

/** The cursor of an actor without rows. */
export const NO_ROWS: Cursor = { ...NOWHERE, nextPlace: 0, entryTs: null };

/** Places that the build before numbered places gave to each entry, whatever its deltas. */
const PLACES_PER_ENTRY = 2 ** 20;

/** Returns the cursor of a row. When the build before numbered places wrote last, places go on above its own. */
export function cursorOf({ seq, lineage, nextPlace, placedSeq, entryTs }: CursorRow): Cursor {
  if (nextPlace !== null && placedSeq === seq) return { seq, lineage, nextPlace, entryTs };
  return { seq, lineage, nextPlace: Math.max(nextPlace ?? 0, (seq + 1) * PLACES_PER_ENTRY), entryTs };
}

export function rowOfCursor(actor: ActorId, { seq, lineage, nextPlace, entryTs }: Cursor): CursorRow {
  return { actor, seq, lineage, nextPlace, placedSeq: seq, entryTs };
}

/** SQL of the entry from which a row of `table` comes; the build before numbered places wrote it into the place. */
export function seqOf(table: string): string {
  return `coalesce(${table}.seq, ${table}.place / ${PLACES_PER_ENTRY})`;
}
