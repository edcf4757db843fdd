/** Texts of a simulated week: progress, a table for each day, and the verdict. */

import type { DaySizes, Verdict } from "./judge.js";
import { LEDGER_PARTS, LOG_KINDS } from "./sizes.js";
import type { WeekProgress } from "./week.js";

const NUMBERS = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function numberText(value: number): string {
  return NUMBERS.format(value);
}

/** Returns the table of one day. */
export function dayText(day: DaySizes, seconds: number): string {
  const { log, takeOver, rows } = day;
  const total = Object.values(log).reduce((sum, bytes) => sum + bytes, 0);
  const { largest, ledgerParts } = takeOver;
  return [
    `day ${day.day + 1}: ${numberText(day.orders)} orders, ${numberText(day.markets)} markets ` +
      `(${numberText(takeOver.markets)} in the log, ${numberText(day.removedMarkets)} removed), ${seconds.toFixed(0)} s`,
    `  bytes in the log, on average over the day: ${numberText(total)}`,
    ...LOG_KINDS.map((kind) => row(kind, log[kind])),
    `  saved ledgers, by part`,
    ...LEDGER_PARTS.map((part) => row(part, ledgerParts[part])),
    `  largest snapshot: ${largest.actor}, ${numberText(largest.bytes)} bytes in ${largest.parts} parts`,
    `  take-over of everything: ${takeOver.ms.toFixed(0)} ms, ${numberText(takeOver.snapshotBytes)} bytes of ` +
      `snapshots and ${numberText(takeOver.entryBytes)} of entries; ` +
      `${numberText(takeOver.wallets)} wallets, ${numberText(takeOver.openOrders)} orders, ` +
      `${numberText(takeOver.accounts)} accounts`,
    `  rows in Postgres`,
    ...Object.entries(rows).map(([table, count]) => row(table, count)),
    row("bytes of removed markets", day.archiveBytes),
    `  heap of this process: ${numberText(day.heapBytes)} bytes`,
  ].join("\n");
}

function row(name: string, value: number): string {
  return `    ${name.padEnd(34)}${numberText(value).padStart(16)}`;
}

export function progressText(progress: WeekProgress, sessions: number, seconds: number): string {
  const { session, orders, commands, markets, openMarkets } = progress;
  return (
    `session ${session + 1} of ${sessions}: ${numberText(orders)} orders, ${numberText(commands)} commands, ` +
    `${numberText(markets)} markets, ${numberText(openMarkets)} open, ${seconds.toFixed(0)} s`
  );
}

/** Returns the comparison of the last days with the middle days. */
export function verdictText(verdicts: readonly Verdict[], tolerance: number): string {
  const lines = verdicts.map((verdict) => {
    const { name, unit, byDesign, isTooMuch } = verdict;
    const note = isTooMuch ? "GROWS" : byDesign ? "by design" : "";
    const growth = Number.isFinite(verdict.growth) ? `${(100 * verdict.growth).toFixed(1)} %` : "new";
    return [
      name.padEnd(42),
      numberText(verdict.middle).padStart(14),
      numberText(verdict.last).padStart(14),
      verdict.middlePerUnit.toFixed(1).padStart(14),
      verdict.lastPerUnit.toFixed(1).padStart(14),
      growth.padStart(9),
      `  per ${unit} ${note}`.trimEnd(),
    ].join("");
  });
  const titles = ["middle days", "last days", "per unit", "per unit"].map((title) => title.padStart(14));
  return [
    `sizes on days 3 and 4 and on the last two days; per unit of live state none may grow by more than ${100 * tolerance} %`,
    `${"".padEnd(42)}${titles.join("")}${"growth".padStart(9)}`,
    ...lines,
  ].join("\n");
}
