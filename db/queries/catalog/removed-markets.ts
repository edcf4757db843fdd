/** Markets that are settled for good: which of them the log may lose, and the snapshots from which they are restored. */

import { createHash } from "node:crypto";
import { and, asc, eq, isNotNull, isNull, lt, notExists, sql, type SQL } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { z } from "zod";
import { type ActorId, marketActor } from "../../../actors/actor.js";
import { assert } from "../../../actors/units.js";
import type { RemovalList, RemovalPage, RemovalPlace } from "../../../stream/jobs/removal.js";
import type { Archive } from "../../../stream/runtime/removal/removal.js";
import type { Clock } from "../../../stream/log/clock.js";
import type { StoredActor } from "../../../stream/log/log.js";
import type { Queries } from "../../database.js";
import { markets, marketSnapshots, removedMarkets } from "../../schema/markets.js";

const Stored = z.object({
  snapshot: z.object({ seq: z.number(), cursor: z.string(), hash: z.string(), body: z.string() }),
  parts: z.array(z.object({ hash: z.string(), body: z.string() })),
});

/** Most settled markets that one statement passes over, so that it ends in time however many are removed. */
const PASSED_AT_ONCE = 1_000;

/** SQL of a row's place in a list. */
function isAfter(ts: PgColumn, marketId: PgColumn, after: RemovalPlace): SQL {
  return sql`(${ts}, ${marketId}) > (${after.ts}::bigint, ${after.marketId}::uuid)`;
}

/** Negates `isAfter`; the index serves no negation of it. */
function isUpTo(ts: PgColumn, marketId: PgColumn, place: RemovalPlace): SQL {
  return sql`(${ts}, ${marketId}) <= (${place.ts}::bigint, ${place.marketId}::uuid)`;
}

/**
 * Returns at most `limit` markets of a list of settled markets after a place and before `beforeTs` (Unix ms), by place.
 * See `RemovalList`. Only tests set `passedAtOnce`.
 */
export async function removableMarkets(
  db: Queries,
  list: RemovalList,
  after: RemovalPlace,
  beforeTs: number,
  limit: number,
  passedAtOnce = PASSED_AT_ONCE,
): Promise<RemovalPage> {
  const isSettled = and(
    eq(markets.status, "SETTLED"),
    eq(markets.remediating, false),
    lt(markets.settledTs, beforeTs),
  );
  if (list === "restored") {
    const { marketId, changedTs } = removedMarkets;
    const found = await db
      .select({ marketId, ts: changedTs })
      .from(removedMarkets)
      .innerJoin(markets, eq(markets.marketId, marketId))
      .where(
        and(
          isNull(removedMarkets.hash),
          lt(changedTs, beforeTs),
          isAfter(changedTs, marketId, after),
          isSettled,
        ),
      )
      .orderBy(asc(changedTs), asc(marketId))
      .limit(limit);
    return { markets: found, next: found.length < limit ? undefined : found.at(-1) };
  }
  const { marketId, settledTs } = markets;
  const place = { marketId, ts: sql<number>`${settledTs}`.mapWith(Number) };
  const isNext = and(lt(settledTs, beforeTs), isAfter(settledTs, marketId, after));
  const [end] = await db
    .select(place)
    .from(markets)
    .where(isNext)
    .orderBy(asc(settledTs), asc(marketId))
    .offset(passedAtOnce - 1)
    .limit(1);
  const removed = db
    .select({ one: sql`1` })
    .from(removedMarkets)
    .where(eq(removedMarkets.marketId, marketId));
  const found = await db
    .select(place)
    .from(markets)
    .where(and(isSettled, isNext, end && isUpTo(settledTs, marketId, end), notExists(removed)))
    .orderBy(asc(settledTs), asc(marketId))
    .limit(limit);
  return { markets: found, next: found.length < limit ? end : found.at(-1) };
}

/** Returns those of some actors that are recorded as removed markets. */
async function findRemoved(db: Queries, actors: readonly ActorId[]): Promise<readonly ActorId[]> {
  const ids = actors.filter((actor) => actor.startsWith("market:")).map(marketIdOf);
  const rows = await db
    .select({ marketId: removedMarkets.marketId })
    .from(removedMarkets)
    .where(
      and(isNotNull(removedMarkets.hash), eq(removedMarkets.marketId, sql`any(${sql.param(ids)}::uuid[])`)),
    );
  return rows.map(({ marketId }) => marketActor(marketId));
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

/** Returns what a reader needs of the archive of removed markets. */
export function archiveReader(db: Queries): Pick<Archive, "read" | "removedOf"> {
  return {
    read: (actor, hash) => findSnapshot(db, marketIdOf(actor), hash),
    removedOf: (actors) => findRemoved(db, actors),
  };
}

/** Returns the archive of removed markets in a database. `clock` has engine time, by which their grace period is counted. */
export function marketArchive(db: Queries, clock: Pick<Clock, "now">): Archive {
  return {
    ...archiveReader(db),
    keep: (actor, stored) => keepSnapshot(db, marketIdOf(actor), stored),
    mark: (actor, hash) => markRemoved(db, marketIdOf(actor), hash ?? null, clock.now()),
  };
}
