/** Compares the recorded ladder with the exchange's book, level by level, as the stream and as REST tell it. */

import { parsePrice } from "../../actors/units.js";
import { pause } from "../../http/client/connection.js";
import type { OrderBook } from "../../http/client/book.js";
import type { BookAnswer } from "../../http/client/wire.js";
import type { ReplaySetUp } from "./set-up.js";
import type { Bids, Ladder } from "./recording/ladder.js";

/** The level at which a book differs most, and by how many contracts. */
export interface Difference {
  readonly contracts: number;
  /** Such as `outcome 1 at 0.255: recorded 1200, ours 0`; empty without a difference. */
  readonly where: string;
}

/** What a checked moment found. */
export interface Check {
  readonly line: number;
  readonly difference: Difference;
  /** How long it took until both books had caught up, ms. */
  readonly caughtUpMs: number;
}

const SAME: Difference = { contracts: 0, where: "" };
/** How long the books may take to show what was acknowledged. */
const CATCH_UP_MS = 10_000;
const POLL_MS = 20;

/** The level at which the two differ most. */
export function largestDifference(recorded: Ladder, ours: Ladder): Difference {
  let largest = SAME;
  recorded.forEach((bids, outcome) => {
    const own: Bids = ours[outcome] ?? new Map<number, number>();
    for (const tick of new Set([...bids.keys(), ...own.keys()])) {
      const [want, have] = [bids.get(tick) ?? 0, own.get(tick) ?? 0];
      const contracts = Math.abs(want - have);
      if (contracts <= largest.contracts) continue;
      const price = (tick / 1_000).toFixed(3);
      largest = { contracts, where: `outcome ${outcome} at ${price}: recorded ${want}, ours ${have}` };
    }
  });
  return largest;
}

/** A folded stream book as a ladder. */
export function ladderOfBook(book: OrderBook, outcomeIds: readonly [string, string]): Ladder {
  const bids = (outcomeId: string): Bids =>
    new Map([...book.levels(outcomeId)].map(([price, qty]) => [parsePrice(price) ?? 0, qty]));
  return [bids(outcomeIds[0]), bids(outcomeIds[1])];
}

/** A book as `GET /book` answers it, as a ladder. */
export function ladderOfAnswer(answer: BookAnswer, outcomeIds: readonly [string, string]): Ladder {
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

/** How far the streamed book is from the recording at this very moment, without waiting for anything. */
export function streamedDifference(
  recorded: Ladder,
  { makers, market, outcomeIds }: ReplaySetUp,
): Difference {
  const book = makers[0].stream.book(market.marketId);
  return book === undefined ? SAME : largestDifference(recorded, ladderOfBook(book, outcomeIds));
}

/**
 * A checked moment: every order is acknowledged, so the books have only to arrive. Gives the difference that is left
 * when both the stream and REST show the recorded ladder, or when they had their time.
 */
export async function check(recorded: Ladder, stage: ReplaySetUp, line: number): Promise<Check> {
  const { makers, market, outcomeIds } = stage;
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
