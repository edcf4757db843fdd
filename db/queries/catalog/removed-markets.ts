/** Markets that are settled for good: which of them the log may lose, and the snapshots from which they are restored. */

import { createHash } from "node:crypto";
import { and, asc, eq, gte, isNull, lt, notExists, sql } from "drizzle-orm";
import { z } from "zod";
import type { ActorId } from "../../../actors/actor.js";
import { assert } from "../../../actors/units.js";
import type { Archive } from "../../../stream/runtime/snapshots/removal.js";
import type { StoredActor } from "../../../stream/log/log.js";
import type { Queries } from "../../database.js";
import { markets, marketSnapshots, removedMarkets } from "../../schema/markets.js";

const Stored = z.object({
  snapshot: z.object({ seq: z.number(), cursor: z.string(), hash: z.string(), body: z.string() }),
  parts: z.array(z.object({ hash: z.string(), body: z.string() })),
});

/** Market that may be removed. */
export interface RemovableMarket {
  readonly marketId: string;
  readonly settledTs: number;
}

/**
 * Returns markets that are in the log: those that were restored and settled before `settledBefore` (Unix ms), and after
 * them those that were settled from `settledFrom` until `settledBefore` and never removed, oldest first. At most `limit`
 * of each.
 */
export async function removableMarkets(
  db: Queries,
  settledFrom: number,
  settledBefore: number,
  limit: number,
): Promise<readonly RemovableMarket[]> {
  const columns = {
    marketId: markets.marketId,
    settledTs: sql<number>`${markets.settledTs}`.mapWith(Number),
  };
  const isSettled = and(
    eq(markets.status, "SETTLED"),
    eq(markets.remediating, false),
    lt(markets.settledTs, settledBefore),
  );
  const removed = db
    .select({ one: sql`1` })
    .from(removedMarkets)
    .where(eq(removedMarkets.marketId, markets.marketId));
  const never = await db
    .select(columns)
    .from(markets)
    .where(and(isSettled, gte(markets.settledTs, settledFrom), notExists(removed)))
    .orderBy(asc(markets.settledTs))
    .limit(limit);
  const again = await db
    .select(columns)
    .from(removedMarkets)
    .innerJoin(markets, eq(markets.marketId, removedMarkets.marketId))
    .where(and(isNull(removedMarkets.hash), lt(removedMarkets.changedTs, settledBefore), isSettled))
    .limit(limit);
  return [...again, ...never];
}

/** Stores the snapshot of a market, unless it is stored. Throws when it does not read back as it was given. */
async function keepSnapshot(db: Queries, marketId: string, stored: StoredActor): Promise<void> {
  const { hash } = stored.snapshot;
  const text = JSON.stringify(stored);
  await db.insert(marketSnapshots).values({ marketId, hash, stored: text }).onConflictDoNothing();
  const digest = sql<string>`encode(sha256(convert_to(${marketSnapshots.stored}, 'UTF8')), 'hex')`;
  const [kept] = await db
    .select({ digest })
    .from(marketSnapshots)
    .where(and(eq(marketSnapshots.marketId, marketId), eq(marketSnapshots.hash, hash)));
  if (kept?.digest !== createHash("sha256").update(text).digest("hex"))
    throw new Error(`the snapshot ${hash} of market ${marketId} was not stored as it is`);
}

/** Returns the snapshot of a market with this hash. */
async function findSnapshot(db: Queries, marketId: string, hash: string): Promise<StoredActor | undefined> {
  const [kept] = await db
    .select({ stored: marketSnapshots.stored })
    .from(marketSnapshots)
    .where(and(eq(marketSnapshots.marketId, marketId), eq(marketSnapshots.hash, hash)));
  return kept && Stored.parse(JSON.parse(kept.stored));
}

/** Records that a market is removed and has this snapshot, or, with null, that it is about to be restored. */
async function markRemoved(db: Queries, marketId: string, hash: string | null, nowTs: number): Promise<void> {
  const row = { hash, changedTs: nowTs };
  await db
    .insert(removedMarkets)
    .values({ marketId, ...row })
    .onConflictDoUpdate({ target: removedMarkets.marketId, set: row });
}

function marketIdOf(actor: ActorId): string {
  assert(actor.startsWith("market:"), `${actor} is no market, and stays in the log`);
  return actor.slice("market:".length);
}

/** Returns the archive of removed markets in a database. */
export function marketArchive(db: Queries): Archive {
  return {
    keep: (actor, stored) => keepSnapshot(db, marketIdOf(actor), stored),
    read: (actor, hash) => findSnapshot(db, marketIdOf(actor), hash),
    mark: (actor, hash) => markRemoved(db, marketIdOf(actor), hash ?? null, Date.now()),
  };
}
