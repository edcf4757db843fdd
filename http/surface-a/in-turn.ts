/** Runs the lists of one reader, and the previews of one trader, one after the other. */

import { type LongWork, NotBegun, type WorkPieces } from "../../stream/services/long-work.js";
import { retryAfter } from "../edge/headers.js";
import { NotStarted } from "../request/errors.js";
import { KEY_BUCKETS } from "../request/throttle.js";

/**
 * Bounds of the lists of one reader, and of the previews of one trader, of which one key has tokens for so many at once. Work
 * that begins after a longer wait may not be answered in the time that an answer may take.
 */
const LISTS = { most: 16, waitMs: 2_000 };
const PREVIEWS = { most: KEY_BUCKETS.read.capacity, waitMs: 2_000 };

/**
 * Reads and serializes a list after the earlier ones of its line. Refuses `RATE_LIMIT_EXCEEDED` when the list cannot begin
 * early enough.
 */
export function inTurn<Result>(
  longWork: LongWork,
  line: string,
  list: (pieces: WorkPieces) => Promise<Result>,
): Promise<Result> {
  return orRefuse("lists are being read", longWork.run(line, LISTS, list));
}

/** Makes a preview after the earlier ones of its trader. Refuses `RATE_LIMIT_EXCEEDED` as `inTurn` does. */
export function previewInTurn<Result>(
  longWork: LongWork,
  traderId: string,
  preview: () => Promise<Result>,
): Promise<Result> {
  return orRefuse("previews are being made", longWork.run(`preview ${traderId}`, PREVIEWS, preview));
}

async function orRefuse<Result>(what: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof NotBegun)) throw error;
    const message = `too many of your ${what}; wait for the answer to one of them`;
    throw new NotStarted("RATE_LIMIT_EXCEEDED", message, {}, retryAfter(1));
  }
}
