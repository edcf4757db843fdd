/** Refusals in the two shapes outside surface B: the HTML of the edge, and the JSON of surface A. */

import type { Response } from "express";
import { meaningOf, statusOf, wireCode, type Refused } from "../request/errors.js";
import { notesOf } from "./incoming.js";

/**
 * Refuses a request at the edge: 403 with HTML, without a code or a message (specification, Errors). Closes the connection
 * of a request whose body nobody has read; a new connection for each request would cost more than the refusal.
 */
export function refuseAtEdge(res: Response): void {
  notesOf(res).code = "EDGE";
  res
    .status(403)
    .set({ "Content-Type": "text/html; charset=utf-8", ...(res.req.complete ? {} : { Connection: "close" }) })
    .end(
      "<!doctype html><html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>\n",
    );
}

/** Returns the body of a refusal on surface A: `code`, `message`, and the further fields of the refusal. */
export function refusalBody(refused: Refused): Readonly<Record<string, unknown>> {
  return {
    code: wireCode(refused.code),
    message: refused.message || meaningOf(refused.code),
    ...refused.more,
  };
}

/** Answers a request with a refusal in the shape of surface A. */
export function refuse(res: Response, refused: Refused): void {
  notesOf(res).code = wireCode(refused.code);
  res.status(statusOf(refused.code)).set(refused.headers).json(refusalBody(refused));
}
