/** Sets of markets that an operator creates at once: the winner, and spreads and totals with their strikes. */

import type { z } from "zod";
import type { NewMarketBody } from "../../../admin/schemas/markets.js";
import type { MarketAnswer } from "../answers.js";

export type NewMarket = Omit<z.input<typeof NewMarketBody>, "eventId">;

/** Longest list of strikes of one kind; more is a slip of the pen. */
const MAX_STRIKES = 100;
/** Strikes have at most three decimals. */
const DECIMALS = 1_000;
const NUMBER = /^[+-]?\d{1,9}(\.\d{1,3})?$/;
const RANGE = /^([+-]?\d+(?:\.\d+)?)\s+to\s+([+-]?\d+(?:\.\d+)?)(?:\s+by\s+(\d+(?:\.\d+)?))?$/;

export type Strikes =
  | { readonly ok: true; readonly strikes: readonly string[] }
  | { readonly ok: false; readonly problem: string };

function thousandths(text: string): number | undefined {
  return NUMBER.test(text) ? Math.round(Number(text) * DECIMALS) : undefined;
}

/** Returns thousandths as the shortest decimal string, such as `-3.5`. */
const decimal = (value: number): string => String(value / DECIMALS);

/**
 * Reads a list of strikes, such as `-3.5, -1.5` or `44.5 to 50.5 by 1`, without repeats. The step of a range is 1 unless
 * it is given.
 */
export function readStrikes(text: string): Strikes {
  const found = new Set<string>();
  for (const item of text.split(",").map((part) => part.trim())) {
    if (item === "") continue;
    const [, first, last, by = "1"] = RANGE.exec(item) ?? [];
    const from = thousandths(first ?? item);
    const to = last === undefined ? from : thousandths(last);
    const step = thousandths(by);
    if (from === undefined || to === undefined || step === undefined || step <= 0)
      return { ok: false, problem: `${item} is not a strike; write -3.5, or 44.5 to 50.5 by 1` };
    if (to < from) return { ok: false, problem: `${item} runs backwards; write the lower strike first` };
    if ((to - from) / step >= MAX_STRIKES)
      return { ok: false, problem: `${item} has more than ${MAX_STRIKES} strikes` };
    for (let strike = from; strike <= to; strike += step) found.add(decimal(strike));
  }
  if (found.size > MAX_STRIKES) return { ok: false, problem: `more than ${MAX_STRIKES} strikes` };
  return { ok: true, strikes: [...found] };
}

/** Sides of a game, as outcomes name them. */
export interface Sides {
  readonly home: string;
  readonly away: string;
}

/** Settings that all markets of a set share. */
interface Shared {
  readonly voids: "PUSH" | "FMV";
  readonly liveDelayMs: number;
  /** False: the markets stay closed until an operator opens them. */
  readonly open: boolean;
}

export interface SetPlan extends Shared {
  readonly winner: boolean;
  /** Handicaps of the home side. */
  readonly spreads: readonly string[];
  readonly totals: readonly string[];
}

/** Returns a handicap with its sign. */
function signed(strike: string): string {
  return strike.startsWith("-") || Number(strike) === 0 ? strike : `+${strike}`;
}

function opposite(strike: string): string {
  return Number(strike) === 0 ? strike : strike.startsWith("-") ? strike.slice(1) : `-${strike}`;
}

/** Returns the markets of a plan, in the order in which they are created. */
export function marketsOf(plan: SetPlan, { home, away }: Sides): readonly NewMarket[] {
  const { voids, liveDelayMs, open } = plan;
  const shared = { voids, liveDelayMs, open };
  const winner: NewMarket = {
    ...shared,
    marketType: "MONEY",
    description: `${home} v ${away}: winner`,
    outcomes: [
      { name: home, competitor: home },
      { name: away, competitor: away },
    ],
  };
  const spreads = plan.spreads.map((strike): NewMarket => {
    const [mine, theirs] = [signed(strike), signed(opposite(strike))];
    return {
      ...shared,
      marketType: "SPREAD",
      strike,
      description: `${home} ${mine}`,
      outcomes: [
        { name: `${home} ${mine}`, competitor: home },
        { name: `${away} ${theirs}`, competitor: away },
      ],
    };
  });
  const totals = plan.totals.map((strike): NewMarket => ({
    ...shared,
    marketType: "TOTAL",
    strike,
    description: `Total ${strike}`,
    outcomes: [{ name: `Over ${strike}` }, { name: `Under ${strike}` }],
  }));
  return [...(plan.winner ? [winner] : []), ...spreads, ...totals];
}

/** Returns true when the event has a market of the same type and strike. */
export function exists({ marketType, strike }: NewMarket, markets: readonly MarketAnswer[]): boolean {
  const isSame = (other: string | undefined): boolean =>
    strike === undefined || other === undefined ? strike === other : Number(strike) === Number(other);
  return markets.some((market) => market.marketType === marketType && isSame(market.strike));
}
