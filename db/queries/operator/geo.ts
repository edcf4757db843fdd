/** Restricted regions and known networks (contract section 8.13). */

import { asc, desc, sql } from "drizzle-orm";
import type { Database, Queries } from "../../database.js";
import { geoPublications, networks, type NetworkKind } from "../../schema/exchange.js";

/** A network in CIDR notation, with a region if its kind is `REGION`. */
export interface Network {
  readonly cidr: string;
  readonly kind: NetworkKind;
  readonly region: string | null;
}

export interface GeoRules {
  readonly restrictedRegions: readonly string[];
  readonly networks: readonly Network[];
}

/** Rules with the number of their publication, 0 before any. */
export interface PublishedGeoRules extends GeoRules {
  readonly version: number;
}

/** Networks in one statement, which takes at most 65,535 parameters. */
const NETWORKS_PER_STATEMENT = 5_000;

/** Returns the number of the publication in force, 0 before any. */
export async function geoVersion(db: Queries): Promise<number> {
  return (await lastPublication(db))?.version ?? 0;
}

async function lastPublication(db: Queries) {
  const [row] = await db.select().from(geoPublications).orderBy(desc(geoPublications.version)).limit(1);
  return row;
}

/** Returns the rules in force, from one snapshot of the database. */
export async function readGeoRules(db: Database): Promise<PublishedGeoRules> {
  return db.transaction(readRules, { isolationLevel: "repeatable read", accessMode: "read only" });
}

/** Returns the rules in force, as the transaction sees them. */
export async function readRules(db: Queries): Promise<PublishedGeoRules> {
  const last = await lastPublication(db);
  const known = await db.select().from(networks).orderBy(asc(networks.cidr), asc(networks.kind));
  return {
    version: last?.version ?? 0,
    restrictedRegions: last?.restrictedRegions ?? [],
    networks: known,
  };
}

/** Replaces all rules, and returns the previous ones. Run it in a transaction. */
export async function publishGeoRules(
  db: Queries,
  { restrictedRegions, networks: known, ...by }: GeoRules & { publishedBy: string; publishedTs: number },
): Promise<GeoRules> {
  // The lock keeps concurrent publications from mixing their networks.
  await db.execute(sql`lock table ${networks} in share row exclusive mode`);
  const before = await readRules(db);
  await db.insert(geoPublications).values({ ...by, restrictedRegions: [...restrictedRegions] });
  await db.delete(networks);
  for (let from = 0; from < known.length; from += NETWORKS_PER_STATEMENT) {
    await db
      .insert(networks)
      .values(known.slice(from, from + NETWORKS_PER_STATEMENT))
      .onConflictDoNothing();
  }
  return before;
}
