/** Formats the report at the end of a replay. */

import type { MoneyReport } from "../../http/client/wire/operator.js";
import type { ReplaySetUp } from "./set-up.js";
import type { Outcome } from "./run.js";

function merged(counts: readonly ReadonlyMap<string, number>[]): string {
  const sums = new Map<string, number>();
  for (const one of counts) {
    for (const [reason, times] of one) sums.set(reason, (sums.get(reason) ?? 0) + times);
  }
  if (sums.size === 0) return "none";
  return [...sums].map(([reason, times]) => `${times} ${reason}`).join(", ");
}

function moneyLines({ agree, actors, postgres }: MoneyReport): string[] {
  const sides = [
    ["actors", actors.CASH],
    ["postgres", postgres.CASH],
  ] as const;
  const lines = sides.map(([name, money]) => {
    const { deposits, withdrawals, adjustments, wallets, reserved, escrow, house, inFlight, difference } =
      money;
    return (
      `  ${name.padEnd(8)} deposits ${deposits} - withdrawals ${withdrawals} + adjustments ${adjustments} = ` +
      `wallets ${wallets} + reserved ${reserved} + escrow ${escrow} + house ${house} + in flight ${inFlight}; ` +
      `difference ${difference}`
    );
  });
  return [`money              actors and Postgres ${agree ? "agree" : "DISAGREE"}`, ...lines];
}

/** Returns whether the market settled, no check found a difference, and the money adds up. */
export function isClean(outcome: Outcome): boolean {
  const { money, worstCheck } = outcome;
  if (money === undefined || (worstCheck?.difference.contracts ?? 0) > 0) return false;
  const differences = [money.actors.CASH, money.actors.COIN, money.postgres.CASH, money.postgres.COIN];
  return outcome.settled && money.agree && differences.every(({ difference }) => difference === "0.00000");
}

/** Returns the lines of the report; `shortTakes` is the number of takes that filled less than the recording shows. */
export function reportLines(outcome: Outcome, setUp: ReplaySetUp, shortTakes: number): string[] {
  const traders = [...setUp.makers, ...setUp.takers];
  const sum = (of: (trader: (typeof traders)[number]) => number): number =>
    traders.reduce((total, trader) => total + of(trader), 0);
  const placed = sum(({ tally }) => tally.placed);
  const canceled = sum(({ tally }) => tally.canceled);
  const seconds = outcome.tradingMs / 1_000;
  const worst = outcome.worstCheck?.difference;
  const lines = [
    `messages           ${outcome.messages} read in ${outcome.waves} waves, ${outcome.brokenLines} broken lines skipped`,
    `orders placed      ${placed} (${sum(({ tally }) => tally.overStream)} over the stream, the rest over REST)`,
    `orders filled      ${sum(({ tally }) => tally.filled)} completely; ${sum(({ filledContracts }) => filledContracts) / 2} contracts traded, ` +
      `${outcome.untaken} recorded where no maker's order rested, ${shortTakes} takes filled in part`,
    `orders canceled    ${canceled}`,
    `orders refused     ${merged(traders.map(({ tally }) => tally.refused))}`,
    `orders rejected    ${merged(traders.map(({ tally }) => tally.rejected))}`,
    `connections        ${sum(({ tally }) => tally.reconnects)} reconnects, ${sum(({ tally }) => tally.gaps)} gaps repaired`,
    `largest difference ${worst?.contracts ?? 0} contracts at ${outcome.checks} checks` +
      `${worst === undefined || worst.contracts === 0 ? "" : ` (${worst.where})`}, ` +
      `the books caught up within ${outcome.slowestCatchUpMs} ms`,
    `                   ${outcome.worstBetween.contracts} contracts between the checks, while frames were in flight`,
    `time               ${seconds.toFixed(1)} s, ${Math.round((placed + canceled) / seconds)} placements and cancels per second`,
    `market             ${outcome.settled ? "settled" : "left open: the recording has no result"}`,
  ];
  if (outcome.money !== undefined) lines.push(...moneyLines(outcome.money));
  for (const [name, { balance, reserved }] of Object.entries(outcome.balances)) {
    lines.push(`  ${name.padEnd(8)} ${balance} (${reserved} reserved)`);
  }
  return lines;
}
