/** Compares the recorded ladder level by level with the book of the exchange, from the stream and from REST. */

import { parsePrice } from "../../actors/units.js";
import { pause } from "../../http/client/connection.js";
import type { OrderBook } from "../../http/client/stream/book.js";
import type { BookAnswer } from "../../http/client/wire/catalog.js";
import type { ReplaySetUp } from "./set-up.js";
import type { Bids, Ladder } from "./recording/ladder.js";

/** Level at which a book differs most, and by how many contracts. */
export interface Difference {
  readonly contracts: number;
  /** Text such as `outcome 1 at 0.255: recorded 1200, exchange 0`; empty without a difference. */
  readonly where: string;
}

/** Result of one check of the book. */
export interface Check {
  readonly line: number;
  readonly difference: Difference;
  /** Time until both books showed the acknowledged orders, in ms. */
  readonly caughtUpMs: number;
}

const SAME: Difference = { contracts: 0, where: "" };
/** Longest time in ms until the books show every acknowledged order. */
const CATCH_UP_MS = 10_000;
const POLL_MS = 20;

/** Returns the level at which the two ladders differ most. */
function largestDifference(recorded: Ladder, found: Ladder): Difference {
  let largest = SAME;
  recorded.forEach((bids, outcome) => {
    const own: Bids = found[outcome] ?? new Map<number, number>();
    for (const tick of new Set([...bids.keys(), ...own.keys()])) {
      const [want, have] = [bids.get(tick) ?? 0, own.get(tick) ?? 0];
      const contracts = Math.abs(want - have);
      if (contracts <= largest.contracts) continue;
      const price = (tick / 1_000).toFixed(3);
      largest = { contracts, where: `outcome ${outcome} at ${price}: recorded ${want}, exchange ${have}` };
    }
  });
  return largest;
}

/** Returns the ladder of a book that is folded from the stream. */
function ladderOfBook(book: OrderBook, outcomeIds: readonly [string, string]): Ladder {
  const bids = (outcomeId: string): Bids =>
    new Map([...book.levels(outcomeId)].map(([price, qty]) => [parsePrice(price) ?? 0, qty]));
  return [bids(outcomeIds[0]), bids(outcomeIds[1])];
}

/** Returns the ladder of an answer of `GET /book`. */
function ladderOfAnswer(answer: BookAnswer, outcomeIds: readonly [string, string]): Ladder {
  const bids = (outcomeId: string): Bids => {
    const levels = new Map<number, number>();
    for (const { price, qty } of answer.orders[outcomeId] ?? []) {
      const tick = parsePrice(price) ?? 0;
      levels.set(tick, (levels.get(tick) ?? 0) + qty);
    }
    return levels;
  };
  return [bids(outcomeIds[0]), bids(outcomeIds[1])];
}

/** Returns the present difference between the streamed book and the recording, without waiting for frames. */
export function streamedDifference(
  recorded: Ladder,
  { makers, market, outcomeIds }: ReplaySetUp,
): Difference {
  const book = makers[0].stream.book(market.marketId);
  return book === undefined ? SAME : largestDifference(recorded, ladderOfBook(book, outcomeIds));
}

/**
 * Waits until both the stream and REST show the recorded ladder, at most for `CATCH_UP_MS`, and returns the remaining
 * difference. Every order is acknowledged before the call, so the books only have to catch up.
 */
export async function check(recorded: Ladder, setUp: ReplaySetUp, line: number): Promise<Check> {
  const { makers, market, outcomeIds } = setUp;
  const began = Date.now();
  for (;;) {
    const book = makers[0].stream.book(market.marketId);
    const streamed =
      book === undefined ? undefined : largestDifference(recorded, ladderOfBook(book, outcomeIds));
    if (streamed?.contracts === 0 || Date.now() - began > CATCH_UP_MS) {
      const answered = ladderOfAnswer(await makers[0].rest.book(market.marketId), outcomeIds);
      const rest = largestDifference(recorded, answered);
      const worst = streamed === undefined || rest.contracts > streamed.contracts ? rest : streamed;
      const caughtUpMs = Date.now() - began;
      if (worst.contracts === 0 || caughtUpMs > CATCH_UP_MS) return { line, difference: worst, caughtUpMs };
    }
    await pause(POLL_MS);
  }
}
