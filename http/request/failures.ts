/** Answers to everything that a request throws. */

import type { ErrorRequestHandler, Response } from "express";
import { isUnavailable } from "../../db/database.js";
import { InvalidCursor } from "../../db/page.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { Logger } from "../edge/request-log.js";
import { Refused } from "./errors.js";
import { hasPaid, retryAfter } from "../edge/headers.js";
import { localsOf } from "../edge/incoming.js";
import type { Slowdown } from "../edge/senders/slowdown.js";

const RETRY = retryAfter(1);

/** Returns an exception as the refusal that the client receives; `undefined` for a bug of the service. */
export function refusalOf(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof InvalidCursor) return new Refused("INVALID_QUERY", `after ${error.message}`);
  if (error instanceof Unavailable) return new Refused("UNAVAILABLE", error.message, {}, RETRY);
  if (isUnavailable(error))
    return new Refused("UNAVAILABLE", "the database cannot be reached; try again", {}, RETRY);
  return undefined;
}

/** Answers a request with a refusal in the shape of a surface. */
export type Refuse = (res: Response, refused: Refused) => void;

/**
 * Answers refusals in the shape of a surface, and any other error with 500 and a line in the log. Refusals that cost their
 * sender no token wait in `slowdown`.
 */
export function answerFailures(log: Logger, refuse: Refuse, slowdown: Slowdown): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const refused = refusalOf(error);
    const { requestId, sender = "", turn, dueMs } = localsOf(res);
    if (refused === undefined) log.error({ err: error, requestId }, "a request failed unexpectedly");
    if (res.headersSent) res.destroy();
    else if (refused === undefined) refuse(res, new Refused("INTERNAL"));
    else if (hasPaid(res)) refuse(res, refused);
    else {
      turn?.free();
      const answer = (): void => {
        // The work of a late request may have ended meanwhile.
        if (!res.headersSent) refuse(res, refused);
      };
      slowdown.answer(sender, answer, dueMs);
    }
  };
}
