/** Query and items of the list of all wallets (contract section 8.10). */

import { z } from "zod";
import { RESTRICTIONS } from "../../../actors/ledger/types.js";
import { Amount, Currency, MoneyText, Ms, oneOf, PageQuery } from "../../request/fields.js";

export const WalletsQuery = z.strictObject({
  ...PageQuery,
  currency: Currency.default("CASH"),
  owner: z
    .string()
    .min(1, "must not be empty")
    .max(254, "must have at most 254 characters")
    .optional()
    .meta({ description: "Id or e-mail address of the trader." }),
  atLeast: Amount.optional(),
  below: Amount.optional(),
  restricted: oneOf(["true", "false"])
    .default("false")
    .transform((text) => text === "true"),
  order: oneOf(["largest", "smallest"]).default("largest"),
});

/**
 * A wallet with the money of one currency. `walletId` is `traderId` for the trader's own wallet. `keyId` and `label` name
 * the subaccount, and are null for the trader's own wallet. `total` includes `reserved`, which open orders hold.
 */
export const AdminWallet = z.strictObject({
  walletId: z.uuid(),
  traderId: z.uuid(),
  email: z.string(),
  keyId: z.uuid().nullable(),
  label: z.string().nullable(),
  closedTs: Ms.nullable(),
  currency: Currency,
  total: MoneyText,
  reserved: MoneyText,
  available: MoneyText,
  restriction: z.enum(RESTRICTIONS).nullable(),
  updatedTs: Ms,
});
