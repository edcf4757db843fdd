/** Answers of the money report (contract section 8.17). */

import { z } from "zod";
import { MoneyText } from "../../request/fields.js";

const MoneyTerms = z.strictObject({
  deposits: MoneyText,
  withdrawals: MoneyText,
  adjustments: MoneyText,
  wallets: MoneyText,
  reserved: MoneyText,
  escrow: MoneyText,
  house: MoneyText,
  inFlight: MoneyText,
  difference: MoneyText,
});
const MoneySide = z.strictObject({ CASH: MoneyTerms, COIN: MoneyTerms });
export const MoneyReport = z.strictObject({ agree: z.boolean(), actors: MoneySide, postgres: MoneySide });
