/** From where the exchange may be used: restricted regions, and what is known of networks (contract section 8). */

import { asc, desc, sql } from "drizzle-orm";
import type { Database, Queries } from "../../database.js";
import { geoPublications, networks, type NetworkKind } from "../../schema/exchange.js";

/** A network in CIDR notation; `region` where its kind is `REGION`. */
export interface Network {
  readonly cidr: string;
  readonly kind: NetworkKind;
  readonly region: string | null;
}

export interface GeoRules {
  readonly restrictedRegions: readonly string[];
  readonly networks: readonly Network[];
}

/** Rules with the number of their publication; 0 before any. */
export interface PublishedGeoRules extends GeoRules {
  readonly version: number;
}

/** Rows that are written at once; Postgres takes 65,535 parameters a statement. */
const ROWS = 5_000;

/** The number of the publication in force, 0 before any. */
export async function geoVersion(db: Queries): Promise<number> {
  return (await lastPublication(db))?.version ?? 0;
}

async function lastPublication(db: Queries) {
  const [row] = await db.select().from(geoPublications).orderBy(desc(geoPublications.version)).limit(1);
  return row;
}

/** The rules in force, as of one moment. */
export async function readGeoRules(db: Database): Promise<PublishedGeoRules> {
  return db.transaction(readRules, { isolationLevel: "repeatable read", accessMode: "read only" });
}

async function readRules(db: Queries): Promise<PublishedGeoRules> {
  const last = await lastPublication(db);
  const known = await db.select().from(networks).orderBy(asc(networks.cidr), asc(networks.kind));
  return {
    version: last?.version ?? 0,
    restrictedRegions: last?.restrictedRegions ?? [],
    networks: known,
  };
}

/** Puts other rules in force, all at once; gives those that were. Run it in a transaction. */
export async function publishGeoRules(
  db: Queries,
  { restrictedRegions, networks: known, ...by }: GeoRules & { publishedBy: string; publishedTs: number },
): Promise<GeoRules> {
  // Two publications at once would mix their networks.
  await db.execute(sql`lock table ${networks} in share row exclusive mode`);
  const before = await readRules(db);
  await db.insert(geoPublications).values({ ...by, restrictedRegions: [...restrictedRegions] });
  await db.delete(networks);
  for (let from = 0; from < known.length; from += ROWS) {
    await db
      .insert(networks)
      .values(known.slice(from, from + ROWS))
      .onConflictDoNothing();
  }
  return before;
}
