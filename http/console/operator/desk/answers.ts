/** Answers that the pages of the desk read. */

import type { z } from "zod";
import type { AdminMarket } from "../../../admin/schemas/markets.js";
import type { SettlementProgress } from "../../../admin/schemas/settlement.js";
import type { AdminTraderWithWallets, TraderKey, TraderOrder } from "../../../admin/schemas/traders.js";
import type { DeviceLocation, Transaction } from "../../../surface-a/schemas/account.js";
import type { Fill, Order } from "../../../surface-a/schemas/orders.js";

export type TraderAnswer = z.infer<typeof AdminTraderWithWallets>;
export type OrderAnswer = z.infer<typeof Order>;
export type FillAnswer = z.infer<typeof Fill>;
export type TransactionAnswer = z.infer<typeof Transaction>;
export type KeyAnswer = z.infer<typeof TraderKey>;
export type CheckInAnswer = z.infer<typeof DeviceLocation>;
export type FoundOrder = z.infer<typeof TraderOrder>;
export type SettlementAnswer = z.infer<typeof SettlementProgress>;
export type OrderMarket = z.infer<typeof AdminMarket>;
