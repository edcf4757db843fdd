/** Keys, subaccounts, transfers, limits and web sessions (contract sections 5.12, 5.13 and 8.1). */

import { z } from "zod";
import { TRANSACTION_KINDS, TRANSFER_DIRECTIONS, TRANSFER_STATUSES } from "../../../actors/ledger/types.js";
import {
  ALGORITHMS,
  KYC_STATUSES,
  ROLES,
  SCOPES,
  TRADER_STATES,
  TRADING_SCOPES,
} from "../../../db/schema/accounts.js";
import { OPERATOR_ROLES } from "../../../db/schema/operator-roles.js";
import {
  Amount,
  BoundsQuery,
  Currency,
  MoneyText,
  Ms,
  oneOf,
  PageQuery,
  Region,
  Text,
  Uuid,
} from "../../request/fields.js";

const Algorithm = oneOf(ALGORITHMS);
const PublicKey = z
  .string("must be an SPKI PEM, newlines included")
  .max(4_096, "must have at most 4096 characters");

/** Instant in Unix ms or ISO 8601. The route checks that it is in the future. */
const Instant = z.union(
  [z.int().positive(), z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))],
  "must be a time in Unix ms or ISO 8601",
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
export const CurrencyQuery = z.strictObject({ currency: Currency.default("CASH") });
export const Balance = z.strictObject({
  keyId: z.uuid(),
  balance: MoneyText,
  available: MoneyText,
  reserved: MoneyText,
  currency: z.literal("COIN").optional(),
});

export const TransferBody = z.strictObject({
  direction: oneOf(TRANSFER_DIRECTIONS),
  currency: Currency.default("CASH"),
  amount: Amount.refine((amount) => amount > 0, "must be more than zero"),
  clientTransferId: Text(64).optional(),
});
export const Transfer = z.strictObject({
  transferId: z.uuid(),
  status: z.enum(TRANSFER_STATUSES),
  direction: z.enum(TRANSFER_DIRECTIONS),
  amount: MoneyText,
  actualBalance: MoneyText.nullable(),
  clientTransferId: z.string().nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  currency: z.literal("COIN").optional(),
});
export type Transfer = z.output<typeof Transfer>;
export const AccountTransfer = Transfer.extend({ subaccountKeyId: z.uuid() });

export const TransactionsQuery = z.strictObject({
  ...PageQuery,
  ...BoundsQuery,
  kind: oneOf(TRANSACTION_KINDS).optional(),
  currency: Currency.optional(),
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

const Email = z.email("must be an e-mail address").max(254, "must have at most 254 characters");
/** One-time password of six digits, or a recovery code. */
const Code = z
  .string("must be a string")
  .min(6, "must have at least 6 characters")
  .max(64, "must have at most 64 characters");
const GivenPassword = z.string("must be a string").max(256, "must have at most 256 characters");
const NewPassword = GivenPassword.min(8, "must have at least 8 characters");
export const CredentialsBody = z.strictObject({
  // A sign-in accepts more than a registration: the first operator in development is operator@localhost.
  email: z
    .string("must be a string")
    .max(254, "must have at most 254 characters")
    .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address"),
  password: GivenPassword,
  code: Code.optional(),
});
export const RegisterBody = z.strictObject({ email: Email, password: NewPassword });
export const PasswordBody = z.strictObject({
  password: GivenPassword,
  newPassword: NewPassword,
  code: Code.optional(),
});
/** The password asks for an offer, and the one-time password of an offered secret confirms it. */
export const TotpBody = z.union(
  [z.strictObject({ password: GivenPassword, code: Code.optional() }), z.strictObject({ code: Code })],
  "must be { password } or { code }",
);
export const Registered = z.strictObject({ traderId: z.uuid(), email: z.string() });
export const SessionToken = z.strictObject({ token: z.string(), expiresAt: Ms });
const TotpOffered = z.strictObject({ secret: z.string(), uri: z.string() });
const TotpEnrolled = SessionToken.extend({ recoveryCodes: z.array(z.string()) });
/** Offered secret in base32, or the recovery codes and the new session after its confirmation. */
export const TotpAnswer = z.union([TotpOffered, TotpEnrolled]);

export const TicketBody = z.strictObject({ keyId: Uuid.optional() });
export const Ticket = z.strictObject({ ticket: z.string(), expiresAt: Ms });

function Degrees(limit: number) {
  const message = `must be from -${limit} to ${limit}`;
  return z.number().min(-limit, message).max(limit, message).optional();
}
export const LocationBody = z.strictObject({
  region: Region.optional(),
  latitude: Degrees(90),
  longitude: Degrees(180),
  accuracy: z.number().nonnegative("must not be negative").max(1e8, "must be at most 100000000").optional(),
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
export const SelfExclusionBody = z.strictObject({
  until: z.int("must be a time in Unix ms").positive("must be a time in Unix ms"),
});
export const SelfExclusion = z.strictObject({ state: z.enum(TRADER_STATES), selfExcludedUntil: Ms });
export const SessionAnswer = z.strictObject({
  traderId: z.uuid(),
  email: z.string(),
  role: z.enum(ROLES),
  operatorRole: z.enum(OPERATOR_ROLES).optional(),
  kyc: z.enum(KYC_STATUSES),
  state: z.enum(TRADER_STATES),
  stateReason: z.string().nullable(),
  selfExcludedUntil: Ms.nullable(),
  totp: z.boolean(),
  cash: z.strictObject({ CASH: MoneyText, COIN: MoneyText }),
  location: LocationAnswer,
});
