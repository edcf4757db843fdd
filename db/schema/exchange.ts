/** What concerns the exchange as a whole: maintenance, its changelog, from where it may be used (contract section 8). */

import { sql } from "drizzle-orm";
import { customType, index, pgTable, primaryKey, serial, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { moment } from "./columns.js";

const cidr = customType<{ data: string; driverData: string }>({ dataType: () => "cidr" });

/** At most one is under way. */
export const maintenanceWindows = pgTable(
  "maintenance_windows",
  {
    windowId: uuid().primaryKey(),
    message: text(),
    begunBy: uuid().notNull(),
    begunTs: moment().notNull(),
    endedBy: uuid(),
    endedTs: moment(),
  },
  (table) => [
    uniqueIndex("maintenance_windows_current")
      .on(sql`(ended_ts is null)`)
      .where(sql`ended_ts is null`),
    index("maintenance_windows_begun").on(table.begunTs),
  ],
);

export const changelog = pgTable(
  "changelog",
  {
    changeId: uuid().primaryKey(),
    title: text().notNull(),
    body: text().notNull(),
    /** When what it tells of is in force, Unix ms. */
    effectiveTs: moment().notNull(),
    createdTs: moment().notNull(),
    createdBy: uuid().notNull(),
  },
  (table) => [index("changelog_effective").on(table.effectiveTs, table.changeId)],
);

/** The published rules about regions; those in force have the highest version, and `networks` goes with them. */
export const geoPublications = pgTable("geo_publications", {
  version: serial().primaryKey(),
  /** ISO 3166-2 subdivisions, or ISO 3166-1 countries as a whole. */
  restrictedRegions: text().array().notNull(),
  publishedBy: uuid().notNull(),
  publishedTs: moment().notNull(),
});

export const NETWORK_KINDS = ["VPN", "PROXY", "TOR", "REGION"] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** What is known of addresses. A `REGION` says where a network is; the others that it hides where its users are. */
export const networks = pgTable(
  "networks",
  {
    cidr: cidr().notNull(),
    kind: text({ enum: NETWORK_KINDS }).notNull(),
    region: text(),
  },
  (table) => [primaryKey({ columns: [table.cidr, table.kind] })],
);
