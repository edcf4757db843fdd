/**
 * External market makers: their clients on surface B, and their requests for strikes (contract sections 7.1, 7.10 and
 * 8.11).
 */

import { sql } from "drizzle-orm";
import { index, integer, pgTable, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { subaccounts } from "./accounts.js";
import { moment } from "./columns.js";

/** An OAuth client of one subaccount. Its secret is shown once and stored only as a hash. */
export const emmClients = pgTable(
  "emm_clients",
  {
    clientId: uuid().primaryKey(),
    subaccountId: uuid()
      .notNull()
      .references(() => subaccounts.subaccountId),
    name: text().notNull(),
    secretHash: text().notNull(),
    /** Number of the current secret. A token carries it, so that a new secret ends the tokens of the old one. */
    secretVersion: integer().notNull(),
    createdTs: moment().notNull(),
    rotatedTs: moment(),
    deletedTs: moment(),
  },
  (table) => [index("emm_clients_created").on(table.createdTs, table.clientId)],
);

export const STRIKE_REQUEST_STATUSES = ["PENDING", "APPROVED", "REJECTED"] as const;
export type StrikeRequestStatus = (typeof STRIKE_REQUEST_STATUSES)[number];

/** A request for a copy of a market with another strike. A client has one pending request per market and strike. */
export const strikeRequests = pgTable(
  "strike_requests",
  {
    requestId: uuid().primaryKey(),
    clientId: uuid()
      .notNull()
      .references(() => emmClients.clientId),
    marketId: uuid().notNull(),
    /** Decimal string. */
    strike: text().notNull(),
    status: text({ enum: STRIKE_REQUEST_STATUSES }).notNull(),
    requestedTs: moment().notNull(),
    decidedTs: moment(),
    decidedBy: uuid(),
    /** The market that the approval created. */
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
