/** Bodies, queries and answers about traders and their records (contract section 8.10). */

import { z } from "zod";
import { COLLATERAL_POLICIES, OPERATOR_TRANSACTION_KINDS } from "../../../actors/ledger/types.js";
import { KYC_STATUSES, ROLES, TRADER_STATES } from "../../../db/schema/accounts.js";
import { Amount, Currency, MoneyText, Ms, oneOf, PageQuery, Text, Uuid } from "../../request/fields.js";
import { Key, TransactionsQuery } from "../../surface-a/schemas/account.js";
import { Order, OrdersQuery } from "../../surface-a/schemas/orders.js";
import { Reason } from "./audit.js";
import { Approval } from "./operators.js";

export const TradersQuery = z.strictObject({
  ...PageQuery,
  email: z.string().max(254, "must have at most 254 characters").optional(),
  search: z
    .string()
    .min(3, "must have at least 3 characters")
    .max(254, "must have at most 254 characters")
    .optional(),
});
export const AdminTrader = z.strictObject({
  traderId: z.uuid(),
  email: z.string(),
  role: z.enum(ROLES),
  kyc: z.enum(KYC_STATUSES),
  state: z.enum(TRADER_STATES),
  stateReason: z.string().nullable(),
  selfExcludedUntilTs: Ms.nullable(),
  createdTs: Ms,
});
export const AdminTraderWithWallets = AdminTrader.extend({
  cash: z.strictObject({ CASH: MoneyText, COIN: MoneyText }),
  subaccounts: z.array(
    z.strictObject({
      keyId: z.uuid(),
      label: z.string(),
      balance: MoneyText,
      collateral: z.enum(COLLATERAL_POLICIES),
    }),
  ),
});
export const KycBody = z.strictObject({
  status: oneOf(["VERIFIED", "REJECTED", "PENDING"]),
  reason: Reason,
});
/** Reason of an action without other fields. */
export const ReasonBody = z.strictObject({ reason: Reason });
export const StateBody = z.strictObject({
  state: oneOf(TRADER_STATES),
  reason: Text(500),
});
export const CollateralBody = z.strictObject({
  policy: oneOf(COLLATERAL_POLICIES),
  subaccountKeyId: Uuid,
});
export const Collateral = z.strictObject({ policy: z.enum(COLLATERAL_POLICIES) });
export const TransactionBody = z.strictObject({
  kind: oneOf(OPERATOR_TRANSACTION_KINDS),
  amount: Amount.refine((amount) => amount !== 0, "must not be zero"),
  currency: Currency,
  reason: Text(500),
  subaccountKeyId: Uuid.optional(),
  clientRef: Text(100).optional(),
});
export const Transacted = z.strictObject({ transactionId: z.uuid(), balance: MoneyText });
export const TransactedOrApproval = z.union([Transacted, Approval]);

/** Order of any wallet; `subaccount` is a key of the subaccount, and null for the trader's own wallet. */
export const TraderOrder = Order.extend({
  traderId: z.uuid(),
  subaccount: z.uuid().nullable(),
  filled: z.int(),
  updatedTs: Ms,
});
/** Queries of the records of one wallet: of the trader's own, or of the subaccount that `subaccount` names. */
export const TraderOrdersQuery = OrdersQuery.omit({ clientId: true });
export const TraderTransactionsQuery = TransactionsQuery.extend({ subaccount: Uuid.optional() });
export const TraderKey = Key.extend({ revokedAt: Ms.nullable() });
