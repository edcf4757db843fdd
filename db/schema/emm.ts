/** External market makers: their clients on surface B, and the strikes that they ask for (contract sections 7 and 8). */

import { sql } from "drizzle-orm";
import { index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { subaccounts } from "./accounts.js";
import { moment } from "./columns.js";

/** An OAuth client, bound to one subaccount. Its secret is shown once, and kept only as a hash. */
export const emmClients = pgTable(
  "emm_clients",
  {
    clientId: uuid().primaryKey(),
    subaccountId: uuid()
      .notNull()
      .references(() => subaccounts.subaccountId),
    name: text().notNull(),
    secretHash: text().notNull(),
    /** Counts the secrets; tokens carry it, so those of an older secret end with it. */
    secretVersion: integer().notNull(),
    createdTs: moment().notNull(),
    rotatedTs: moment(),
    deletedTs: moment(),
  },
  (table) => [index("emm_clients_created").on(table.createdTs, table.clientId)],
);

export const STRIKE_REQUEST_STATUSES = ["PENDING", "APPROVED", "REJECTED"] as const;
export type StrikeRequestStatus = (typeof STRIKE_REQUEST_STATUSES)[number];

/** A wish for a market like another with another strike. A wish that waits is not written twice. */
export const strikeRequests = pgTable(
  "strike_requests",
  {
    requestId: uuid().primaryKey(),
    clientId: uuid()
      .notNull()
      .references(() => emmClients.clientId),
    marketId: uuid().notNull(),
    /** A decimal string. */
    strike: text().notNull(),
    status: text({ enum: STRIKE_REQUEST_STATUSES }).notNull(),
    requestedTs: moment().notNull(),
    decidedTs: moment(),
    decidedBy: uuid(),
    /** The market that the approval made. */
    createdMarketId: uuid(),
  },
  (table) => [
    uniqueIndex("strike_requests_pending")
      .on(table.clientId, table.marketId, table.strike)
      .where(sql`status = 'PENDING'`),
    index("strike_requests_requested").on(table.requestedTs, table.requestId),
    index("strike_requests_waiting")
      .on(table.requestedTs, table.requestId)
      .where(sql`status = 'PENDING'`),
  ],
);
