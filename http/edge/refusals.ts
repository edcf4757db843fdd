/** The two shapes of a refusal that no route has given: the edge's HTML, and the body of surface A. */

import type { Response } from "express";
import { meaningOf, statusOf, wireCode, type Refused } from "../request/errors.js";
import { notesOf } from "./incoming.js";

/** The edge's refusal: 403, HTML, no code and no message (specification, Errors). */
export function refuseAtEdge(res: Response): void {
  notesOf(res).code = "EDGE";
  res
    .status(403)
    .set({ "Content-Type": "text/html; charset=utf-8", Connection: "close" })
    .end(
      "<!doctype html><html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>\n",
    );
}

/** What surface A says of a refusal: `{ code, message }`, and whatever else the refusal carries. */
export function refusalBody(refused: Refused): Readonly<Record<string, unknown>> {
  return {
    code: wireCode(refused.code),
    message: refused.message || meaningOf(refused.code),
    ...refused.more,
  };
}

/** Surface A's refusal. */
export function refuse(res: Response, refused: Refused): void {
  notesOf(res).code = wireCode(refused.code);
  res.status(statusOf(refused.code)).set(refused.headers).json(refusalBody(refused));
}
