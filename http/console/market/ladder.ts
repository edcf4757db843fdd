/**
 * Ladders as the page draws them: what is offered and what is bid on each outcome. A book holds bids only; the bids on the
 * other outcomes offer what they leave of a full payout (contract section 2.1).
 */

import { impliedAsks, type PriceLevel } from "../../../actors/market/book/implied-asks.js";
import { contracts } from "../../../actors/units.js";
import { ticksOf } from "../data/prices.js";

/** A bid, in the order of the book: best price first, then queue order. */
export interface Bid {
  readonly orderId: string;
  readonly price: string;
  readonly qty: number;
}

/** The orders of this page at one price. */
interface OwnPlace {
  readonly qty: number;
  /** Position in the queue of the first of them, from 1. */
  readonly place: number;
}

/** One line of a ladder. */
export interface Line {
  readonly ticks: number;
  readonly qty: number;
  readonly own?: OwnPlace | undefined;
}

/** The lines of one outcome. */
export interface Ladder {
  readonly outcomeId: string;
  /** Prices to buy at, the cheapest first. */
  readonly offers: readonly Line[];
  /** Bids, the dearest first. */
  readonly bids: readonly Line[];
  /** Ticks between the best offer and the best bid; absent when one of them is. */
  readonly spread?: number | undefined;
  /** Greatest quantity of a line, to which the bars are drawn. */
  readonly most: number;
}

/** Lines on each side of a ladder. */
export const DEPTH = 8;

/** State of a book: the outcomes in market order, and the bids on each. */
export interface BookState {
  readonly outcomes: readonly string[];
  /** Contracts by price, in no order. */
  levels(outcomeId: string): ReadonlyMap<string, number>;
  /** Orders in queue order. Slower than `levels`. */
  queue(outcomeId: string): readonly Bid[];
}

/** Returns the book of an answer of the service. */
export function bookOf(orders: Readonly<Record<string, readonly Bid[]>>): BookState {
  const levels = new Map<string, ReadonlyMap<string, number>>();
  for (const [outcomeId, bids] of Object.entries(orders)) {
    const sums = new Map<string, number>();
    for (const { price, qty } of bids) sums.set(price, (sums.get(price) ?? 0) + qty);
    levels.set(outcomeId, sums);
  }
  return {
    outcomes: Object.keys(orders),
    levels: (outcomeId) => levels.get(outcomeId) ?? new Map<string, number>(),
    queue: (outcomeId) => orders[outcomeId] ?? [],
  };
}

/** Returns the best levels of an outcome, one more than a ladder shows, so that the offers which they imply are complete. */
function best(book: BookState, outcomeId: string): PriceLevel[] {
  // Every price has three decimals, so the order of the text is that of the price.
  const levels = [...book.levels(outcomeId)].sort(([a], [b]) => (a < b ? 1 : -1)).slice(0, DEPTH + 1);
  return levels.map(([price, qty]) => ({ price: ticksOf(price), qty: contracts(qty) }));
}

/** Returns the own quantity and queue place at each price of an outcome, in ticks. */
function ownPlaces(
  book: BookState,
  outcomeId: string,
  own: ReadonlySet<string>,
): ReadonlyMap<number, OwnPlace> {
  const places = new Map<number, OwnPlace>();
  if (own.size === 0) return places;
  const ahead = new Map<string, number>();
  for (const { orderId, price, qty } of book.queue(outcomeId)) {
    const place = (ahead.get(price) ?? 0) + 1;
    ahead.set(price, place);
    if (!own.has(orderId)) continue;
    const at = ticksOf(price);
    const known = places.get(at);
    places.set(at, known === undefined ? { qty, place } : { ...known, qty: known.qty + qty });
  }
  return places;
}

function isSame(a: Line | undefined, b: Line): boolean {
  return (
    a?.ticks === b.ticks && a.qty === b.qty && a.own?.qty === b.own?.qty && a.own?.place === b.own?.place
  );
}

/** Returns the lines, with the objects of those that have not changed, so that only the others are drawn again. */
function keepSame(old: readonly Line[], lines: readonly Line[]): readonly Line[] {
  const kept = lines.map((line, index) => {
    const known = old[index];
    return known !== undefined && isSame(known, line) ? known : line;
  });
  return kept.length === old.length && kept.every((line, index) => line === old[index]) ? old : kept;
}

/** Draws the ladders of a book. `own` holds the ids of the own orders; `old` are the ladders that are shown. */
export function laddersOf(
  book: BookState,
  own: ReadonlySet<string>,
  old: readonly Ladder[] | undefined,
): readonly Ladder[] {
  const bidsOf = book.outcomes.map((outcomeId) => best(book, outcomeId));
  const ladders = book.outcomes.map((outcomeId, index): Ladder => {
    const last = old?.[index];
    const places = ownPlaces(book, outcomeId, own);
    const others = bidsOf.filter((_, other) => other !== index);
    const offers = keepSame(
      last?.offers ?? [],
      impliedAsks(others)
        .slice(0, DEPTH)
        .map(({ price, qty }) => ({ ticks: price, qty })),
    );
    const bids = keepSame(
      last?.bids ?? [],
      (bidsOf[index] ?? [])
        .slice(0, DEPTH)
        .map(({ price, qty }) => ({ ticks: price, qty, own: places.get(price) })),
    );
    const [offer, bid] = [offers[0], bids[0]];
    const spread = offer === undefined || bid === undefined ? undefined : offer.ticks - bid.ticks;
    const most = Math.max(1, ...offers.map(({ qty }) => qty), ...bids.map(({ qty }) => qty));
    const isUnchanged =
      last?.offers === offers && last.bids === bids && last.spread === spread && last.most === most;
    return isUnchanged ? last : { outcomeId, offers, bids, spread, most };
  });
  const isUnchanged =
    old?.length === ladders.length && ladders.every((ladder, index) => ladder === old[index]);
  return isUnchanged ? old : ladders;
}
