/** Random trading of a few wallets in one market. */

import fc from "fast-check";
import { unreachable } from "../../../../actors/unreachable.js";
import type { Caller } from "../../../../stream/ws/ports.js";
import { trader } from "./client.js";
import { ids, type TestExchange } from "./exchange.js";

export const TRADERS: readonly string[] = ids(3);
export const FLOW_LENGTH = 40;
const PRICES = ["0.400", "0.450", "0.500", "0.550", "0.600", "0.300"];

export type Step =
  | {
      readonly kind: "place";
      readonly who: number;
      readonly outcome: number;
      readonly price: number;
      readonly qty: number;
      readonly tif: "GTC" | "IOC" | "PO";
      readonly coin: boolean;
    }
  | { readonly kind: "cancel"; readonly who: number; readonly which: number }
  | { readonly kind: "amend"; readonly who: number; readonly which: number }
  | { readonly kind: "lifecycle"; readonly action: "golive" | "unlive" | "pause" | "resume" };

const place = fc.record({
  kind: fc.constant("place" as const),
  who: fc.nat(2),
  outcome: fc.nat(2),
  price: fc.nat(PRICES.length - 1),
  qty: fc.integer({ min: 1, max: 9 }),
  tif: fc.constantFrom("GTC" as const, "GTC" as const, "GTC" as const, "IOC" as const, "PO" as const),
  coin: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
});

export const flow: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 12, arbitrary: place },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("cancel" as const), who: fc.nat(2), which: fc.nat(9) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("amend" as const), who: fc.nat(2), which: fc.nat(9) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("lifecycle" as const),
        action: fc.constantFrom("golive" as const, "unlive" as const, "pause" as const, "resume" as const),
      }),
    },
  ),
  { maxLength: FLOW_LENGTH, size: "max" },
);

/** Runs the steps one after another. A step that is impossible at its turn does nothing. */
export async function play(exchange: TestExchange, marketId: string, steps: readonly Step[]): Promise<void> {
  for (const traderId of TRADERS) {
    exchange.fund(traderId);
    exchange.fund(traderId, "COIN");
  }
  for (const step of steps) await take(exchange, marketId, step);
}

export async function take(exchange: TestExchange, marketId: string, step: Step): Promise<void> {
  const outcomes = exchange.state(marketId).definition?.outcomes ?? [];
  if (step.kind === "lifecycle") {
    exchange.operate(marketId, { kind: "lifecycle", actions: [step.action] });
    return;
  }
  const caller: Caller = trader(TRADERS[step.who] ?? "");
  const { open } = exchange.wallet(caller.traderId).orders;
  switch (step.kind) {
    case "place": {
      const order = {
        outcomeId: outcomes[step.outcome % outcomes.length]?.outcomeId ?? "",
        price: PRICES[step.price] ?? "0.500",
        qty: step.qty,
        tif: step.tif,
        ...(step.coin ? { currency: "COIN" } : {}),
      };
      await exchange.place(caller, [order], false);
      return;
    }
    case "cancel": {
      const orderId = open[step.which % Math.max(1, open.length)]?.orderId;
      if (orderId !== undefined) await exchange.cancel(caller, [orderId]);
      return;
    }
    case "amend": {
      const order = open[step.which % Math.max(1, open.length)];
      if (order !== undefined && order.qty > 1) exchange.amend(caller, order.orderId, order.qty - 1);
      return;
    }
    default:
      unreachable(step);
  }
}
