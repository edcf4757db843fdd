/** Answers to everything that a request throws. */

import type { ErrorRequestHandler, Response } from "express";
import { isUnavailable } from "../../db/database.js";
import { InvalidCursor } from "../../db/page.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { Logger } from "../edge/request-log.js";
import { Refused } from "./errors.js";
import { retryAfter } from "../edge/headers.js";
import { localsOf } from "../edge/incoming.js";

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

/** Answers refusals in the shape of a surface, and any other error with 500 and a line in the log. */
export function answerFailures(
  log: Logger,
  refuse: (res: Response, refused: Refused) => void,
): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const refused = refusalOf(error);
    if (refused === undefined)
      log.error({ err: error, requestId: localsOf(res).requestId }, "a request failed unexpectedly");
    if (res.headersSent) {
      res.destroy();
      return;
    }
    refuse(res, refused ?? new Refused("INTERNAL"));
  };
}
