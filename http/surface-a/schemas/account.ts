/** Keys, subaccounts, transfers, limits and web sessions (contract sections 5 and 8). */

import { z } from "zod";
import {
  ALGORITHMS,
  KYC_STATUSES,
  ROLES,
  SCOPES,
  TRADER_STATES,
  TRADING_SCOPES,
} from "../../../db/schema/accounts.js";
import {
  Amount,
  BoundsQuery,
  Currency,
  MoneyText,
  Ms,
  PageQuery,
  Text,
  Uuid,
  oneOf,
} from "../../request/fields.js";
import { TRANSFER_DIRECTIONS, TRANSFER_STATUSES, TRANSACTION_KINDS } from "../../../actors/ledger/types.js";

const Algorithm = z.enum(ALGORITHMS, "must be Ed25519 or P-256");
const PublicKey = z.string("must be an SPKI PEM, newlines included").max(4_096, "is too long for a key");

/** A moment in the future: Unix ms or an ISO 8601 string. It is judged against the clock by the route. */
const Instant = z.union(
  [z.int().positive(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))],
  "must be an instant: Unix ms or ISO 8601",
);

const NewKeyFields = { publicKey: PublicKey, algorithm: Algorithm, expiresAt: Instant.optional() };
export const NewKeyBody = z.strictObject({ name: Text(64), ...NewKeyFields });
export const NewSubaccountBody = z.strictObject({ label: Text(64), ...NewKeyFields });
export const NewSubaccountKeyBody = z.strictObject({
  name: Text(64),
  ...NewKeyFields,
  scope: oneOf(TRADING_SCOPES),
});
export const RelabelBody = z.strictObject({ label: Text(64) });

export const MintedKey = z.strictObject({ keyId: z.uuid(), fingerprint: z.string() });
export const Key = z.strictObject({
  keyId: z.uuid(),
  name: z.string(),
  fingerprint: z.string(),
  algorithm: Algorithm,
  scope: z.enum(SCOPES),
  restriction: z.string().nullable(),
  createdAt: Ms,
  lastUsedAt: Ms.nullable(),
  expiresAt: Ms.nullable(),
});
export const Keys = z.array(Key);

export const Subaccount = z.strictObject({ keyId: z.uuid(), label: z.string(), balance: MoneyText });
export const Subaccounts = z.array(Subaccount);
export const CurrencyOnly = z.strictObject({ currency: Currency.default("CASH") });
export const Balance = z.strictObject({
  keyId: z.uuid(),
  balance: MoneyText,
  available: MoneyText,
  reserved: MoneyText,
  currency: z.literal("COIN").optional(),
});

export const TransferBody = z.strictObject({
  direction: oneOf(TRANSFER_DIRECTIONS),
  amount: Amount.refine((amount) => amount > 0, "must be more than zero"),
  clientTransferId: Text(64).optional(),
});
export const Transfer = z.strictObject({
  transferId: z.uuid(),
  status: z.enum(["Requested", ...TRANSFER_STATUSES]),
  direction: z.enum(TRANSFER_DIRECTIONS),
  amount: MoneyText,
  actualBalance: MoneyText.nullable(),
  clientTransferId: z.string().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});
export type Transfer = z.output<typeof Transfer>;
export const AccountTransfer = Transfer.extend({ subaccountKeyId: z.uuid() });

export const TransactionsQuery = z.strictObject({
  ...PageQuery,
  ...BoundsQuery,
  kind: z.enum(TRANSACTION_KINDS, `must be one of ${TRANSACTION_KINDS.join(", ")}`).optional(),
  currency: Currency.default("CASH"),
});
export const Transaction = z.strictObject({
  transactionId: z.uuid(),
  kind: z.enum(TRANSACTION_KINDS),
  amount: MoneyText,
  ts: Ms,
  ref: z.string(),
  currency: z.literal("COIN").optional(),
});

const BucketState = z.strictObject({ capacity: z.int(), refillPerSec: z.int(), remaining: z.int() });
export const Limits = z.strictObject({
  read: BucketState,
  account: BucketState,
  place: BucketState,
  cancel: BucketState,
  stream: BucketState,
  history: BucketState,
  maxWatchedMarkets: z.int(),
});

const Email = z.email("must be an e-mail address").max(254, "is too long");
export const CredentialsBody = z.strictObject({
  // Looser than at the registration: the first operator of a development set is operator@localhost.
  email: z
    .string("must be a string")
    .max(254, "is too long")
    .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address"),
  password: z.string("must be a string").max(256, "must have at most 256 characters"),
});
export const RegisterBody = z.strictObject({
  email: Email,
  password: z
    .string("must be a string")
    .min(8, "must have at least 8 characters")
    .max(256, "must have at most 256 characters"),
});
export const Registered = z.strictObject({ traderId: z.uuid(), email: z.string() });
export const SessionToken = z.strictObject({ token: z.string(), expiresAt: Ms });

export const TicketBody = z.strictObject({ keyId: Uuid.optional() });
export const Ticket = z.strictObject({ ticket: z.string(), expiresAt: Ms });

const Degrees = (limit: number) =>
  z.number().min(-limit, "is out of range").max(limit, "is out of range").optional();
export const LocationBody = z.strictObject({
  region: z
    .string()
    .regex(/^[A-Z]{2}(-[A-Z0-9]{1,3})?$/, "must be an ISO 3166-2 code, such as US-NY")
    .optional(),
  latitude: Degrees(90),
  longitude: Degrees(180),
  accuracy: z.number().nonnegative("must not be negative").max(1e8, "is out of range").optional(),
  failed: z.boolean("must be true or false").optional(),
});
export const DeviceLocation = z.strictObject({
  region: z.string().nullable(),
  failed: z.boolean(),
  latitude: z.number().nullable(),
  longitude: z.number().nullable(),
  accuracy: z.number().nullable(),
  ts: Ms,
});
export const LocationAnswer = DeviceLocation.nullable();
export const SessionAnswer = z.strictObject({
  traderId: z.uuid(),
  email: z.string(),
  role: z.enum(ROLES),
  kyc: z.enum(KYC_STATUSES),
  state: z.enum(TRADER_STATES),
  cash: z.strictObject({ CASH: MoneyText, COIN: MoneyText }),
  location: LocationAnswer,
});
