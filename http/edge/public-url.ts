/** The address of this service as its clients know it, for documents that name it. */

import type { Request } from "express";
import { Refused } from "../request/errors.js";

const HOST = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** `publicUrl` when it is configured, else what the request calls us. Throws `INVALID_REQUEST` for a malformed host. */
export function publicUrlOf(req: Request, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl;
  const host = req.headers.host ?? "";
  if (!HOST.test(host)) throw new Refused("INVALID_REQUEST", "the Host header is missing or malformed");
  return `${req.protocol}://${host}`;
}
