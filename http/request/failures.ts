/** The last stop of everything that a request throws. */

import type { ErrorRequestHandler, Response } from "express";
import { isUnavailable } from "../../db/database.js";
import { InvalidCursor } from "../../db/page.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { Logger } from "../edge/request-log.js";
import { Refused } from "./errors.js";
import { localsOf } from "../edge/incoming.js";

const RETRY = { "Retry-After": "1" };

/** What an exception means to the client; `undefined` is a bug of ours. */
export function refusalOf(error: unknown): Refused | undefined {
  if (error instanceof Refused) return error;
  if (error instanceof InvalidCursor) return new Refused("INVALID_QUERY", `after: ${error.message}`);
  if (error instanceof Unavailable) return new Refused("UNAVAILABLE", error.message, {}, RETRY);
  if (isUnavailable(error))
    return new Refused("UNAVAILABLE", "the database cannot be reached; try again", {}, RETRY);
  return undefined;
}

/** Answers refusals in the shape of a surface, and anything else with 500 and a line in the log. */
export function answerFailures(
  log: Logger,
  refuse: (res: Response, refused: Refused) => void,
): ErrorRequestHandler {
  return (error: unknown, _req, res, _next) => {
    const refused = refusalOf(error);
    if (refused === undefined)
      log.error({ err: error, requestId: localsOf(res).requestId }, "unexpected failure");
    if (res.headersSent) {
      res.destroy();
      return;
    }
    refuse(res, refused ?? new Refused("INTERNAL"));
  };
}
