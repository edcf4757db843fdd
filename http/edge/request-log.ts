/** Log of requests: one line each, with the caller, the route and the status, and never a query, a header or a body. */

import type { RequestHandler } from "express";
import { pino, type DestinationStream, type Logger } from "pino";
import { localsOf, notesOf } from "./incoming.js";

export type { Logger } from "pino";

/** Names of fields that are redacted in every object that is logged. */
const SECRETS = [
  "authorization",
  "password",
  "passwordHash",
  "token",
  "ticket",
  "secret",
  "clientSecret",
  "signature",
  "publicKey",
  "privateKey",
  "body",
  "query",
];

/** Makes the logger of a process. Every line has the fields of `base`. */
export function createLogger(
  level: string,
  base: Readonly<Record<string, unknown>>,
  destination?: DestinationStream,
): Logger {
  const paths = SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  const options = { level, base, redact: { paths, censor: "[redacted]" } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** Logs and measures each request once its answer is sent or its connection is closed. */
export function requestLog(
  log: Logger,
  observe: (route: string, status: number, ms: number) => void,
): RequestHandler {
  return (req, res, next) => {
    const started = process.hrtime.bigint();
    res.once("close", () => {
      const ms = Number(process.hrtime.bigint() - started) / 1e6;
      const { requestId, target, ip } = localsOf(res);
      const notes = notesOf(res);
      observe(notes.route ?? "none", res.statusCode, ms);
      if (res.statusCode < 500 && !log.isLevelEnabled("info")) return;
      const line = {
        requestId,
        method: req.method,
        path: target?.path,
        status: res.statusCode,
        ms: Math.round(ms * 100) / 100,
        ip,
        ...notes,
        ...(res.writableFinished || res.statusCode === 101 ? {} : { aborted: true }),
      };
      if (res.statusCode >= 500) log.warn(line, "a request failed");
      else log.info(line, "a request was answered");
    });
    next();
  };
}
