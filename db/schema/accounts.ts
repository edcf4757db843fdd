/**
 * Accounts: traders, subaccounts, keys, tokens, device check-ins, the audit log (contract sections 5.2, 5.13 and 8.1).
 */

import { sql } from "drizzle-orm";
import {
  bigserial,
  boolean,
  customType,
  doublePrecision,
  index,
  jsonb,
  pgTable,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { moment } from "./columns.js";

const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => "bytea" });

export const ROLES = ["trader", "operator"] as const;
export type Role = (typeof ROLES)[number];
export const KYC_STATUSES = ["NONE", "PENDING", "VERIFIED", "REJECTED"] as const;
export type KycStatus = (typeof KYC_STATUSES)[number];
export const TRADER_STATES = ["ACTIVE", "LOCKED", "EXCLUDED", "SELF_EXCLUDED"] as const;
export type TraderState = (typeof TRADER_STATES)[number];
export const MANAGEMENT_SCOPES = ["management", "management::read"] as const;
export const TRADING_SCOPES = ["trading", "trading::read"] as const;
export const SCOPES = [...MANAGEMENT_SCOPES, ...TRADING_SCOPES] as const;
export type Scope = (typeof SCOPES)[number];
export const ALGORITHMS = ["Ed25519", "P-256"] as const;
export type Algorithm = (typeof ALGORITHMS)[number];

/** A person, who trades or operates. The id of a trader's own wallet is the trader's id. */
export const traders = pgTable(
  "traders",
  {
    traderId: uuid().primaryKey(),
    /** In lower case. */
    email: text().notNull(),
    passwordHash: text().notNull(),
    role: text({ enum: ROLES }).notNull(),
    kyc: text({ enum: KYC_STATUSES }).notNull(),
    state: text({ enum: TRADER_STATES }).notNull(),
    stateReason: text(),
    createdTs: moment().notNull(),
    updatedTs: moment().notNull(),
  },
  (table) => [
    uniqueIndex("traders_email").on(table.email),
    index("traders_created").on(table.createdTs, table.traderId),
  ],
);

/** A subaccount. Its id is also the id of its wallet, and is never sent to clients. */
export const subaccounts = pgTable(
  "subaccounts",
  {
    subaccountId: uuid().primaryKey(),
    traderId: uuid()
      .notNull()
      .references(() => traders.traderId),
    label: text().notNull(),
    createdTs: moment().notNull(),
  },
  (table) => [index("subaccounts_trader").on(table.traderId, table.createdTs)],
);

/**
 * A key of a trader. The unique partial indexes allow one live management key per trader, one live trading key per
 * subaccount, and one live key per public key.
 */
export const keys = pgTable(
  "keys",
  {
    keyId: uuid().primaryKey(),
    traderId: uuid()
      .notNull()
      .references(() => traders.traderId),
    /** Null for the management scopes. */
    subaccountId: uuid().references(() => subaccounts.subaccountId),
    scope: text({ enum: SCOPES }).notNull(),
    algorithm: text({ enum: ALGORITHMS }).notNull(),
    publicKeyPem: text().notNull(),
    publicKeyDer: bytes().notNull(),
    /** `sha256:` and the hexadecimal digest of the DER. */
    fingerprint: text().notNull(),
    name: text().notNull(),
    createdTs: moment().notNull(),
    lastUsedTs: moment(),
    expiresTs: moment(),
    revokedTs: moment(),
  },
  (table) => [
    uniqueIndex("keys_live_fingerprint")
      .on(table.fingerprint)
      .where(sql`revoked_ts is null`),
    uniqueIndex("keys_live_management")
      .on(table.traderId)
      .where(sql`revoked_ts is null and scope = 'management'`),
    uniqueIndex("keys_live_trading")
      .on(table.subaccountId)
      .where(sql`revoked_ts is null and scope = 'trading'`),
    index("keys_trader").on(table.traderId, table.createdTs),
    index("keys_subaccount").on(table.subaccountId, table.createdTs),
  ],
);

/** Web tokens that were revoked before they expired. */
export const revokedTokens = pgTable(
  "revoked_tokens",
  { tokenId: text().primaryKey(), expiresTs: moment().notNull() },
  (table) => [index("revoked_tokens_expires").on(table.expiresTs)],
);

/** The last device check-in of each trader. */
export const deviceLocations = pgTable("device_locations", {
  traderId: uuid()
    .primaryKey()
    .references(() => traders.traderId),
  failed: boolean().notNull(),
  /** ISO 3166-2. */
  region: text(),
  latitude: doublePrecision(),
  longitude: doublePrecision(),
  accuracyMetres: doublePrecision(),
  ts: moment().notNull(),
});

export const auditLog = pgTable(
  "audit_log",
  {
    auditId: bigserial({ mode: "number" }).primaryKey(),
    ts: moment().notNull(),
    operatorId: uuid().notNull(),
    action: text().notNull(),
    /** The object of the action: an id, or a path. */
    subject: text().notNull(),
    before: jsonb(),
    after: jsonb(),
    requestId: text(),
  },
  (table) => [index("audit_log_subject").on(table.subject, table.auditId)],
);
