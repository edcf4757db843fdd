/** Judges the sizes of a simulated week: nothing may grow with history but what grows by design. */

import type { LedgerPart, LogKind, LogSizes, TakeOver } from "./sizes.js";

/** Sizes at the end of a simulated day. */
export interface DaySizes {
  readonly day: number;
  readonly orders: number;
  readonly removedMarkets: number;
  /** Markets that have ever been. */
  readonly markets: number;
  /** Sizes on average over the sessions of the day, and after the last session. */
  readonly log: LogSizes;
  readonly logAtEnd: LogSizes;
  readonly takeOver: TakeOver;
  readonly rows: Readonly<Record<string, number>>;
  /** Bytes of the snapshots of removed markets in Postgres. */
  readonly archiveBytes: number;
  readonly heapBytes: number;
}

interface Measure {
  readonly name: string;
  readonly of: (day: DaySizes) => number;
  /** Live state to which the size is in proportion. */
  readonly unit: string;
  readonly units: (day: DaySizes) => number;
  /** Growth in bytes, or in markets, that does not count: a few more of the same. */
  readonly least: number;
  /** True for a size that grows with history by design, in proportion to its unit. */
  readonly byDesign?: true;
}

const KB = 1_024;

function ofLog(name: LogKind, unit: string, units: Measure["units"], least: number): Measure {
  return { name, of: ({ log }) => log[name], unit, units, least };
}

function ofLedgers(part: LedgerPart, unit: string, units: Measure["units"], least: number): Measure {
  return { name: `ledgers: ${part}`, of: ({ takeOver }) => takeOver.ledgerParts[part], unit, units, least };
}

const perExchange = (): number => 1;
const perMarket = ({ takeOver }: DaySizes): number => takeOver.markets;
/** Wallets, with their accounts and orders as further wallets. */
const perHolding = ({ takeOver: { wallets, accounts, openOrders } }: DaySizes): number =>
  wallets + accounts + openOrders;
const perRemoved = ({ removedMarkets }: DaySizes): number => removedMarkets;
const perEver = ({ markets }: DaySizes): number => markets;

/** Everything that could grow with history. */
const MEASURES: readonly Measure[] = [
  ofLog("mailboxes", "exchange", perExchange, 64 * KB),
  ofLog("market entries", "market in the log", perMarket, 256 * KB),
  ofLog("ledger entries", "exchange", perExchange, 256 * KB),
  ofLog("market snapshots", "market in the log", perMarket, 256 * KB),
  ofLog("ledger snapshots", "wallet, account or order", perHolding, 256 * KB),
  ofLog("heads in the log", "market in the log", perMarket, 8 * KB),
  ofLog("leases, fences, roles", "exchange", perExchange, 32 * KB),
  { name: "markets in the log", of: perMarket, unit: "exchange", units: perExchange, least: 5 },
  {
    name: "snapshots that a take-over reads",
    of: ({ takeOver }) => takeOver.snapshotBytes,
    unit: "wallet, account or order",
    units: perHolding,
    least: 256 * KB,
  },
  ofLedgers("wallets and orders", "wallet, account or order", perHolding, 16 * KB),
  ofLedgers("client ids of ten minutes", "exchange", perExchange, 16 * KB),
  ofLedgers("client ids of format 1", "exchange", perExchange, 16 * KB),
  ofLedgers("filters of a day", "exchange", perExchange, 64 * KB),
  ofLedgers("transfers and references of a day", "exchange", perExchange, 64 * KB),
  ofLedgers("answers", "exchange", perExchange, 64 * KB),
  ofLedgers("sources", "market in the log", perMarket, 16 * KB),
  ofLedgers("other", "exchange", perExchange, 64 * KB),
  {
    name: "heap of the process",
    of: ({ heapBytes }) => heapBytes,
    unit: "exchange",
    units: perExchange,
    least: 48 * KB * KB,
  },
  {
    name: "heads of removed markets",
    of: ({ logAtEnd }) => logAtEnd["heads of removed markets"],
    unit: "removed market",
    units: perRemoved,
    least: 8 * KB,
    byDesign: true,
  },
  { ...ofLedgers("filter for ever", "market ever", perEver, 8 * KB), byDesign: true },
];

export interface Verdict {
  readonly name: string;
  readonly unit: string;
  /** Bytes, or markets, on the middle days and on the last. */
  readonly middle: number;
  readonly last: number;
  /** Bytes per unit on the middle days and on the last. */
  readonly middlePerUnit: number;
  readonly lastPerUnit: number;
  /** Growth per unit, as a share. */
  readonly growth: number;
  readonly byDesign: boolean;
  readonly isTooMuch: boolean;
}

/** Compares the last two days with days 3 and 4, per unit of live state. */
export function judge(days: readonly DaySizes[], tolerance: number): readonly Verdict[] {
  const middleDays = days.slice(2, 4);
  const lastDays = days.slice(-2);
  return MEASURES.map(({ name, unit, of, units, least, byDesign = false }) => {
    const middle = mean(middleDays.map(of));
    const last = mean(lastDays.map(of));
    const middlePerUnit = mean(middleDays.map((day) => of(day) / Math.max(1, units(day))));
    const lastPerUnit = mean(lastDays.map((day) => of(day) / Math.max(1, units(day))));
    const growth = middlePerUnit === 0 ? (lastPerUnit === 0 ? 0 : Infinity) : lastPerUnit / middlePerUnit - 1;
    const beyond = last - (middle === 0 ? 0 : last / (1 + growth));
    const isTooMuch = growth > tolerance && beyond > least;
    return { name, unit, middle, last, middlePerUnit, lastPerUnit, growth, byDesign, isTooMuch };
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
