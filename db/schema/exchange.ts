/** The exchange as a whole: maintenance, the changelog, and the permitted regions (contract sections 8.13 to 8.15). */

import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  customType,
  index,
  integer,
  pgTable,
  primaryKey,
  serial,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { moment } from "./columns.js";

const cidr = customType<{ data: string; driverData: string }>({ dataType: () => "cidr" });

/** The log from which the projector has written the tables: one row. */
export const installation = pgTable(
  "installation",
  {
    onlyRow: boolean().primaryKey().default(true),
    /** Id of the log, which its first start has given it. */
    logId: uuid().notNull(),
    boundTs: moment().notNull(),
  },
  (table) => [check("installation_only_row", sql`${table.onlyRow}`)],
);

/** The version of the rows: one row. A build does not use tables whose version is later than its own. */
export const rowsVersion = pgTable(
  "rows_version",
  {
    onlyRow: boolean().primaryKey().default(true),
    version: integer().notNull(),
  },
  (table) => [check("rows_version_only_row", sql`${table.onlyRow}`)],
);

/** A period of maintenance. At most one has no end yet. */
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
    /** Time at which the change takes effect, Unix ms. */
    effectiveTs: moment().notNull(),
    createdTs: moment().notNull(),
    createdBy: uuid().notNull(),
  },
  (table) => [index("changelog_effective").on(table.effectiveTs, table.changeId)],
);

/** The published rules about regions. Those in force have the highest version, and include the rows of `networks`. */
export const geoPublications = pgTable("geo_publications", {
  version: serial().primaryKey(),
  /** ISO 3166-2 subdivisions, or ISO 3166-1 countries. */
  restrictedRegions: text().array().notNull(),
  publishedBy: uuid().notNull(),
  publishedTs: moment().notNull(),
});

export const NETWORK_KINDS = ["VPN", "PROXY", "TOR", "REGION"] as const;
export type NetworkKind = (typeof NETWORK_KINDS)[number];

/** Known networks. `REGION` gives the location of a network; the other kinds hide the location of their users. */
export const networks = pgTable(
  "networks",
  {
    cidr: cidr().notNull(),
    kind: text({ enum: NETWORK_KINDS }).notNull(),
    region: text(),
  },
  (table) => [primaryKey({ columns: [table.cidr, table.kind] })],
);
