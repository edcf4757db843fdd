/** Answers about the day of an operator: exposure and settlements under way (contract sections 8.9 and 8.22). */

import { z } from "zod";
import { MoneyText, Ms } from "../../request/fields.js";

const ByCurrency = z.strictObject({ CASH: MoneyText, COIN: MoneyText });
const Exposure = { openOrders: z.int(), openContracts: z.int(), escrow: ByCurrency };

/** Open orders of a market, their unfilled contracts, and the money that the market holds for open positions. */
export const MarketExposures = z.strictObject({
  items: z.array(z.strictObject({ marketId: z.uuid(), ...Exposure })),
});

/** The same for all markets of an event, with their number by status. `paused` counts open markets. */
export const EventExposures = z.strictObject({
  items: z.array(
    z.strictObject({
      eventId: z.uuid(),
      markets: z.strictObject({ OPEN: z.int(), CLOSED: z.int(), SETTLED: z.int() }),
      paused: z.int(),
      ...Exposure,
    }),
  ),
});

/** Grade as the body of a grade has it. */
export const GradeOnWire = z.union([
  z.strictObject({ winner: z.uuid() }),
  z.strictObject({ push: z.literal(true) }),
  z.strictObject({ prices: z.record(z.uuid(), z.string()) }),
]);

/** Settlements that wait for their approval, pay or take back. `approvals` operators take part in each. */
export const Settlements = z.strictObject({
  approvals: z.int(),
  items: z.array(
    z.strictObject({
      settlementId: z.uuid(),
      marketId: z.uuid(),
      eventId: z.uuid(),
      description: z.string(),
      status: z.enum(["PENDING_APPROVAL", "SETTLING", "REVERSING"]),
      requestedBy: z.uuid().nullable(),
      requestedTs: Ms.nullable(),
    }),
  ),
});
