/** URL of this service as its clients reach it, for documents that name it. */

import type { Request } from "express";
import { Refused } from "../request/errors.js";

const HOST = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** Returns the configured URL, else one made of the request's `Host` header. Refuses `INVALID_REQUEST` for a malformed header. */
export function publicUrlOf(req: Request, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl;
  const host = req.headers.host ?? "";
  if (!HOST.test(host))
    throw new Refused(
      "INVALID_REQUEST",
      "the header Host is missing or malformed; send the host and port of this service",
    );
  return `${req.protocol}://${host}`;
}
