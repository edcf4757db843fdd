/** Bodies, queries and answers about settlements (contract section 8.9). */

import { z } from "zod";
import { Currency, MoneyText, Ms, oneOf, Text, Uuid } from "../../request/fields.js";
import { GradeOnWire } from "./day.js";
import { Approval } from "./operators.js";

/** Settlement price from 0 to 1: a decimal string on the wire, thousandths inside. */
const SettlementPrice = z
  .string("must be a decimal string")
  .regex(/^(?:0(?:\.[0-9]{1,3})?|1(?:\.0{1,3})?)$/, "must be a price from 0 to 1 with at most three decimals")
  .transform((text) => Math.round(Number(text) * 1_000));

export const GradeBody = z.union(
  [
    z.strictObject({ winner: Uuid }),
    z.strictObject({ push: z.literal(true) }),
    z.strictObject({ prices: z.record(z.string(), SettlementPrice) }),
  ],
  "must be { winner }, { push: true } or { prices }",
);
export const RemediateBody = z.strictObject({ reason: Text(500) });
const SettlementStatus = z.enum(["PENDING_APPROVAL", "SETTLING", "SETTLED", "REVERSING"]);
export const SettlementStarted = z.strictObject({
  settlementId: z.uuid(),
  marketId: z.uuid(),
  status: SettlementStatus,
});
/** Amounts that would be paid, or with a minus sign taken back. A `keyId` of `null` is the trader's own wallet. */
export const PayoutPreview = z.strictObject({
  payouts: z.array(
    z.strictObject({
      traderId: z.uuid().nullable(),
      keyId: z.uuid().nullable(),
      currency: Currency,
      amount: MoneyText,
    }),
  ),
  totals: z.strictObject({ CASH: MoneyText, COIN: MoneyText }),
});
/** Payouts with `preview=true`, else the settlement that was started. */
export const GradeAnswer = z.union([SettlementStarted, PayoutPreview]);
/** The same, or the remediation that waits for a second operator. */
export const RemediateAnswer = z.union([SettlementStarted, PayoutPreview, Approval]);
export const PreviewQuery = z.strictObject({
  preview: oneOf(["true", "false"])
    .default("false")
    .transform((text) => text === "true"),
});
/**
 * Progress: `paid` of `wallets` are paid, or reversed while the status is `REVERSING`. `requestedBy` is null for a grade
 * that took one operator.
 */
export const SettlementProgress = SettlementStarted.extend({
  paid: z.int(),
  wallets: z.int(),
  grade: GradeOnWire.nullable(),
  requestedBy: z.uuid().nullable(),
  requestedTs: Ms.nullable(),
});
