import { Unavailable } from "../../stream/log/ports.js";

/**
 * Longest time in ms from a complete request to the end of its work, with the wait for its turn; the contract promises an
 * answer within 5 s.
 */
export const ANSWER_MS = 4_500;

/**
 * Resolves as the work of a request does, and rejects with `Unavailable` when the work takes longer than an answer may.
 * The work goes on: each of its waits has a time-out, and a signed request that is sent again gets the answer of the
 * first run. `dueMs` is the time of `performance.now()` by which it ends.
 */
export async function inTime<Answer>(
  work: Promise<Answer>,
  dueMs = performance.now() + ANSWER_MS,
): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Unavailable("the request was not answered in time; its outcome is unknown")),
      dueMs - performance.now(),
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
