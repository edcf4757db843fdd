/**
 * Accounts: traders, operators, subaccounts, keys, tokens, device check-ins, approvals, the audit log (contract sections
 * 5.2, 5.13, 8.1, 8.5 and 8.18).
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
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import type { OperatorTransactionKind } from "../../actors/ledger/types.js";
import type { Currency } from "../../actors/market/types.js";
import type { Millicents } from "../../actors/units.js";
import { count, moment } from "./columns.js";
import { OPERATOR_ROLES, type OperatorRole } from "./operator-roles.js";

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
    /** Role of an operator. Null for a trader, and for an operator whom a build without roles has created. */
    operatorRole: text({ enum: OPERATOR_ROLES }),
    /** Operator who created this operator. Null for one who was created on the machine of the service. */
    createdBy: uuid(),
    /** Web sessions that began at this time or earlier have ended. */
    sessionsEndedTs: moment(),
    kyc: text({ enum: KYC_STATUSES }).notNull(),
    /** State that an operator has set. `stateOf` adds an exclusion that the trader asked for. */
    state: text({ enum: TRADER_STATES }).notNull(),
    stateReason: text(),
    /** End of the exclusion that the trader asked for. Whatever state an operator sets, it holds until then. */
    selfExcludedUntilTs: moment(),
    createdTs: moment().notNull(),
    updatedTs: moment().notNull(),
    /** Encrypted secret of the one-time passwords; null while none is enrolled. */
    totpSecret: text(),
    /** Encrypted secret that is offered and not confirmed yet. */
    totpOffer: text(),
    /** Time step of the last one-time password, so that none is used twice. */
    totpStep: count().notNull().default(0),
    /** SHA-256 digests of the recovery codes that are left. */
    recoveryDigests: text()
      .array()
      .notNull()
      .default(sql`'{}'`),
  },
  (table) => [
    uniqueIndex("traders_email").on(table.email),
    index("traders_created").on(table.createdTs, table.traderId),
    index("traders_operators")
      .on(table.createdTs, table.traderId)
      .where(sql`role = 'operator'`),
    index("traders_inactive")
      .on(table.traderId)
      .where(sql`state <> 'ACTIVE' or self_excluded_until_ts is not null`),
  ],
);

/** The addresses from which each account has signed in of late; an IPv6 address stands for its /64. */
export const knownAddresses = pgTable(
  "known_addresses",
  {
    traderId: uuid()
      .notNull()
      .references(() => traders.traderId),
    address: text().notNull(),
    lastTs: moment().notNull(),
  },
  (table) => [primaryKey({ columns: [table.traderId, table.address] })],
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
    closedTs: moment(),
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

/** Columns of a device check-in. */
const checkIn = () => ({
  failed: boolean().notNull(),
  /** ISO 3166-2. */
  region: text(),
  latitude: doublePrecision(),
  longitude: doublePrecision(),
  accuracyMetres: doublePrecision(),
  ts: moment().notNull(),
});

/** The last device check-in of each trader. */
export const deviceLocations = pgTable("device_locations", {
  traderId: uuid()
    .primaryKey()
    .references(() => traders.traderId),
  ...checkIn(),
});

/** Device check-ins of the last 90 days, the last one of each minute. */
export const checkIns = pgTable(
  "check_ins",
  {
    traderId: uuid()
      .notNull()
      .references(() => traders.traderId),
    /** Minutes since 1970. */
    minute: count().notNull(),
    ...checkIn(),
  },
  (table) => [primaryKey({ columns: [table.traderId, table.minute] })],
);

/** Action of an operator that may need the approval of a second one. `action` is its name in the audit log. */
export type GuardedAction =
  | {
      readonly action: "market.grade";
      readonly settlementId: string;
      /** The grade as the operator named it; the settlement itself has the form of the market. */
      readonly asked: Readonly<Record<string, unknown>>;
    }
  | { readonly action: "market.remediate"; readonly settlementId: string; readonly reason: string }
  | { readonly action: "event.cancel"; readonly reason?: string | undefined }
  | {
      readonly action: "operator.create";
      readonly email: string;
      readonly passwordHash: string;
      readonly role: OperatorRole;
    }
  | { readonly action: "operator.role"; readonly role: OperatorRole }
  | {
      readonly action: "trader.transaction";
      readonly kind: OperatorTransactionKind;
      readonly amount: Millicents;
      readonly currency: Currency;
      readonly reason: string;
      readonly subaccountKeyId?: string | undefined;
      readonly clientRef?: string | undefined;
    };

export const APPROVAL_STATUSES = ["PENDING_APPROVAL", "RUNNING", "APPROVED", "WITHDRAWN"] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** Actions that wait for a second operator, or that one has decided on. */
export const approvals = pgTable(
  "approvals",
  {
    approvalId: uuid().primaryKey(),
    /** The object of the action, as in the audit log. */
    subject: text().notNull(),
    action: jsonb().$type<GuardedAction>().notNull(),
    status: text({ enum: APPROVAL_STATUSES }).notNull(),
    requestedBy: uuid().notNull(),
    requestedTs: moment().notNull(),
    decidedBy: uuid(),
    decidedTs: moment(),
  },
  (table) => [index("approvals_requested").on(table.requestedTs, table.approvalId)],
);

/** Every write of an operator. A trigger refuses to change or to remove a record. */
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
  (table) => [
    index("audit_log_time").on(table.ts, table.auditId),
    index("audit_log_of_subject").on(table.subject, table.ts, table.auditId),
    index("audit_log_of_operator").on(table.operatorId, table.ts, table.auditId),
    index("audit_log_of_action").on(table.action, table.ts, table.auditId),
  ],
);
