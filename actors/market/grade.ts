/** Checks and comparison of grades (contract section 4.7). */

import { CONTRACT_TICKS } from "../units.js";
import { unreachable } from "../unreachable.js";
import type { MarketRefusal } from "./commands.js";
import type { Grade, MarketDefinition } from "./types.js";

/** Returns the refusal of a grade that does not fit the market, whatever the status of the market. */
export function refusalOfGrade(definition: MarketDefinition, grade: Grade): MarketRefusal | undefined {
  const outcomes = definition.outcomes.length;
  switch (grade.kind) {
    case "WINNER":
      return grade.outcome >= 0 && grade.outcome < outcomes ? undefined : "OUTCOME_NOT_FOUND";
    case "PUSH":
      return definition.voids === "PUSH" ? undefined : "VOID_KIND";
    case "FMV":
      if (definition.voids !== "FMV") return "VOID_KIND";
      return arePrices(grade.prices, outcomes) ? undefined : "INVALID_PRICES";
    default:
      return unreachable(grade);
  }
}

/** Checks the prices of a fair-value grade: one per outcome, each 0 to 1000 ticks, 1000 in all. */
function arePrices(prices: readonly number[], outcomes: number): boolean {
  const whole = prices.every((price) => Number.isInteger(price) && price >= 0 && price <= CONTRACT_TICKS);
  return (
    whole && prices.length === outcomes && prices.reduce((sum, price) => sum + price, 0) === CONTRACT_TICKS
  );
}

/** Returns true when two grades pay the same. */
export function sameGrade(one: Grade, other: Grade): boolean {
  switch (one.kind) {
    case "WINNER":
      return other.kind === one.kind && other.outcome === one.outcome;
    case "PUSH":
      return other.kind === one.kind;
    case "FMV":
      return other.kind === one.kind && other.prices.join() === one.prices.join();
    default:
      return unreachable(one);
  }
}
