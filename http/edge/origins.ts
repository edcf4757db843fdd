/** Cross-origin requests of web pages (contract section 5.20). */

import cors from "cors";
import type { RequestHandler } from "express";
import { isForOperators, type OtherPorts } from "./doors.js";
import { EXPOSED_HEADERS } from "./headers.js";

/** Answers the preflights of browsers, and names the origins whose pages may read an answer. */
export function crossOrigin(
  brand: string,
  ports: OtherPorts,
  adminOrigins: readonly string[],
): RequestHandler {
  const options = {
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    allowedHeaders: [
      "Authorization",
      "Content-Type",
      "If-None-Match",
      `${brand}-Key-Id`,
      `${brand}-Timestamp`,
      `${brand}-Signature`,
      `${brand}-Debug`,
    ],
    exposedHeaders: [...EXPOSED_HEADERS, `${brand}-Canonical`],
    maxAge: 600,
  };
  // Clients: no cookie authenticates a request, because requests have a signature or a bearer token.
  const clients = cors({ ...options, origin: "*" });
  const operators = cors({ ...options, origin: [...adminOrigins] });
  return (req, res, next) => (isForOperators(req, ports) ? operators : clients)(req, res, next);
}
