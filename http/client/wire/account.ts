/** Keys, subaccounts, transfers, limits and web sessions (contract sections 5.11 to 5.13 and 8.1). */

import { z } from "zod/mini";
import { TRANSACTION_KINDS, TRANSFER_DIRECTIONS, TRANSFER_STATUSES } from "../../../actors/ledger/types.js";
import type { KeyAlgorithm } from "../keys.js";
import { Coin, Text, TextOrNull, Whole, WholeOrNull } from "./values.js";

/** A key to register. */
export interface NewKeyFields {
  readonly name: string;
  /** SPKI PEM. */
  readonly publicKey: string;
  readonly algorithm: KeyAlgorithm;
  /** End of the key: Unix ms, or ISO 8601. */
  readonly expiresAt?: number | string | undefined;
}

/** A key of a subaccount to register. */
export interface NewSubaccountKey extends NewKeyFields {
  readonly scope: "trading" | "trading::read";
}

/** A created key. */
export const NewKey = z.object({ keyId: Text, fingerprint: Text });
export type NewKey = z.infer<typeof NewKey>;

/** A key; times are Unix ms. */
export const KeyAnswer = z.object({
  keyId: Text,
  name: Text,
  fingerprint: Text,
  algorithm: Text,
  scope: Text,
  restriction: TextOrNull,
  createdAt: Whole,
  lastUsedAt: WholeOrNull,
  expiresAt: WholeOrNull,
});
export type KeyAnswer = z.infer<typeof KeyAnswer>;

/** A subaccount with its balance in dollars. */
export const SubaccountAnswer = z.object({ keyId: Text, label: Text, balance: Text });
export type SubaccountAnswer = z.infer<typeof SubaccountAnswer>;

/** Balance of a subaccount in dollars: in all, available and reserved. */
export const BalanceAnswer = z.object({
  keyId: Text,
  balance: Text,
  available: Text,
  reserved: Text,
  ...Coin,
});
export type BalanceAnswer = z.infer<typeof BalanceAnswer>;

/** A transfer; `actualBalance` is set when it was rejected. */
export const TransferAnswer = z.object({
  transferId: Text,
  status: z.enum(TRANSFER_STATUSES),
  direction: z.enum(TRANSFER_DIRECTIONS),
  amount: Text,
  actualBalance: TextOrNull,
  clientTransferId: TextOrNull,
  createdAt: Text,
  updatedAt: Text,
  ...Coin,
});
export type TransferAnswer = z.infer<typeof TransferAnswer>;

/** A transfer with the key of its subaccount. */
export const AccountTransfer = z.extend(TransferAnswer, { subaccountKeyId: Text });
export type AccountTransfer = z.infer<typeof AccountTransfer>;

/** One movement of money; `amount` is signed, `ts` is Unix ms. */
export const TransactionAnswer = z.object({
  transactionId: Text,
  kind: z.enum(TRANSACTION_KINDS),
  amount: Text,
  ts: Whole,
  ref: Text,
  ...Coin,
});
export type TransactionAnswer = z.infer<typeof TransactionAnswer>;

const Bucket = z.object({ capacity: Whole, refillPerSec: Whole, remaining: Whole });
/** Token buckets of a key, and the cap on watched markets. */
export const LimitsAnswer = z.object({
  read: Bucket,
  account: Bucket,
  place: Bucket,
  cancel: Bucket,
  stream: Bucket,
  history: Bucket,
  maxWatchedMarkets: Whole,
});
export type LimitsAnswer = z.infer<typeof LimitsAnswer>;

/** A ticket for the stream (contract section 6.1). */
export const TicketAnswer = z.object({ ticket: Text, expiresAt: Whole });

/** Answer to a registration. */
export const RegisterAnswer = z.object({ traderId: Text, email: Text });
export type RegisterAnswer = z.infer<typeof RegisterAnswer>;

/** Token of a web session. */
export const LoginAnswer = z.object({ token: Text, expiresAt: Whole });

/** An offered second factor: its secret in base32, and the address that authenticator programs read. */
export const TotpOffer = z.object({ secret: Text, uri: Text });
export type TotpOffer = z.infer<typeof TotpOffer>;
/** A confirmed second factor: the recovery codes, and a new session. */
export const TotpEnrolled = z.object({ token: Text, expiresAt: Whole, recoveryCodes: z.array(Text) });

/** Place of a device. */
export interface DevicePlace {
  /** Region in ISO 3166-2, such as `US-NY`. */
  readonly region?: string | undefined;
  readonly latitude?: number | undefined;
  readonly longitude?: number | undefined;
  /** Meters. */
  readonly accuracy?: number | undefined;
  /** True when the device could not find its place. */
  readonly failed?: boolean | undefined;
}

/** The last check-in of a device; null when there was none. */
export const LocationAnswer = z.nullable(
  z.object({
    region: TextOrNull,
    failed: z.boolean(),
    latitude: z.nullable(z.number()),
    longitude: z.nullable(z.number()),
    accuracy: z.nullable(z.number()),
    ts: Whole,
  }),
);
export type LocationAnswer = z.infer<typeof LocationAnswer>;

/** End of a self-exclusion, Unix ms. */
export const SelfExclusion = z.object({ state: Text, selfExcludedUntil: Whole });
export type SelfExclusion = z.infer<typeof SelfExclusion>;

/** The trader or operator of a web session, with the cash of their own wallet in dollars. */
export const SessionAnswer = z.object({
  traderId: Text,
  email: Text,
  role: Text,
  operatorRole: z.optional(Text),
  kyc: Text,
  state: Text,
  stateReason: TextOrNull,
  selfExcludedUntil: WholeOrNull,
  totp: z.boolean(),
  cash: z.object({ CASH: Text, COIN: Text }),
  location: LocationAnswer,
});
export type SessionAnswer = z.infer<typeof SessionAnswer>;

/** A posted transaction, with the balance after it in dollars. */
export const PostedTransaction = z.object({ transactionId: Text, balance: Text });
export type PostedTransaction = z.infer<typeof PostedTransaction>;
