/** Answers of the operators' routes that several of their pages read. */

import type { z } from "zod";
import type { EventExposures, MarketExposures, Settlements } from "../../admin/schemas/day.js";
import type { AdminEvent, AdminEventWithMarkets } from "../../admin/schemas/events.js";
import type { AdminMarket } from "../../admin/schemas/markets.js";
import type { PayoutPreview, SettlementProgress } from "../../admin/schemas/settlement.js";
import type { Approval } from "../../admin/schemas/operators.js";

export type EventAnswer = z.infer<typeof AdminEvent>;
export type EventWithMarkets = z.infer<typeof AdminEventWithMarkets>;
export type MarketAnswer = z.infer<typeof AdminMarket>;
export type EventExposure = z.infer<typeof EventExposures>["items"][number];
export type MarketExposure = z.infer<typeof MarketExposures>["items"][number];
export type SettlementsAnswer = z.infer<typeof Settlements>;
export type SettlementAnswer = z.infer<typeof SettlementProgress>;
export type Payouts = z.infer<typeof PayoutPreview>;
export type ApprovalAnswer = z.infer<typeof Approval>;

export type EventStatus = EventAnswer["status"];
