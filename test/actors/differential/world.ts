/** Fixtures of random steps: traders with two wallets each, tick tables, fee schedules and markets. */

import { ledgerShardOf } from "../../../actors/actor.js";
import type { LifecycleAction } from "../../../actors/market/commands.js";
import type { FeeSchedule, Grade, MarketDefinition } from "../../../actors/market/types.js";
import type { OperatorTransactionKind } from "../../../actors/ledger/types.js";
import { assert, ticks, type Ticks } from "../../../actors/units.js";
import { marketDefinition } from "../../support/exchange/commands.js";
import type { MarketShape } from "./steps.js";

/** Returns the `n`th id of a kind. No two ids agree in the part that derived ids keep. */
export function uuid(kind: number, n: number): string {
  return `${n.toString(16).padStart(8, "0")}-${kind.toString(16).padStart(4, "0")}-4000-8000-000000000000`;
}

export interface TestWallet {
  readonly wallet: string;
  readonly trader: string;
  readonly shard: number;
}

/** Returns two wallets for each trader: the trader's own, then the wallet of a subaccount. */
export function walletsOf(traders: number): readonly TestWallet[] {
  return Array.from({ length: traders }, (_, n) => {
    const trader = uuid(1, n);
    const shard = ledgerShardOf(trader);
    return [
      { wallet: trader, trader, shard },
      { wallet: uuid(2, n), trader, shard },
    ];
  }).flat();
}

const range = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);

/** Tick table without both ends: the lowest ticks of `GRID` are not in it. */
export const COARSE: readonly Ticks[] = range(20, 980, 20).map(ticks);

export const FEES: readonly FeeSchedule[] = [
  { coefficientPpm: 30_000, makerCreditPpm: 500_000, charged: "WHEN_LIVE" },
  { coefficientPpm: 60_000, makerCreditPpm: 700_000, charged: "ALWAYS" },
  { coefficientPpm: 0, makerCreditPpm: 0, charged: "ALWAYS" },
  { coefficientPpm: 333_333, makerCreditPpm: 1_000_000, charged: "ALWAYS" },
  { coefficientPpm: 70_001, makerCreditPpm: 333_333, charged: "WHEN_LIVE" },
];

export const ACTIONS: readonly LifecycleAction[] = [
  "open",
  "close",
  "pause",
  "resume",
  "golive",
  "unlive",
  "clear",
  "end",
];
export const TRANSACTIONS: readonly OperatorTransactionKind[] = [
  "DEPOSIT",
  "WITHDRAWAL",
  "ADJUSTMENT",
  "CREDIT",
  "CREDIT_RECLAIM",
  "FORWARDING",
];

/** Returns the item that a step's number selects. */
export function pick<Item>(items: readonly Item[], n: number): Item {
  const item = items[n % items.length];
  assert(item !== undefined, "nothing to pick from");
  return item;
}

export function definitionOf(n: number, shape: MarketShape): MarketDefinition {
  const ids = [uuid(3, n), uuid(4, 0), ...Array.from({ length: shape.outcomes }, (_, k) => uuid(5 + k, n))];
  return marketDefinition(
    {
      description: `market ${n}`,
      voids: shape.push ? "PUSH" : "FMV",
      outcomes: shape.outcomes,
      fee: pick(FEES, shape.fee),
      liveDelayMs: shape.delay * 1_500,
    },
    () => ids.shift() ?? "",
  );
}

/** Returns a price of the table: mostly near an even price, so that orders match, and sometimes any price. */
export function priceOf(n: number, outcomes: number, grid: readonly Ticks[]): Ticks {
  if (n > 800) return pick(grid, n * 7);
  const wanted = 1_000 / outcomes + ((n % 11) - 5) * 20 + 5;
  const near = grid.reduce((best, tick) => (Math.abs(tick - wanted) < Math.abs(best - wanted) ? tick : best));
  return near;
}

export function gradeOf(kind: number, outcome: number, outcomes: number): Grade {
  if (kind === 0) return { kind: "WINNER", outcome: outcome % outcomes };
  if (kind === 1) return { kind: "PUSH" };
  const prices = Array.from({ length: outcomes }, (_, i) => (i === outcome % outcomes ? 0 : 97 * (i + 1)));
  const others = prices.reduce((total, price) => total + price, 0);
  prices[outcome % outcomes] = 1_000 - others;
  return { kind: "FMV", prices };
}
