/** One line per request. It names who asked for what and how it ended; never a query, a header or a body. */

import type { RequestHandler } from "express";
import { pino, type DestinationStream, type Logger } from "pino";
import { localsOf, notesOf } from "./incoming.js";

export type { Logger } from "pino";

/** Field names that never reach the log, should an object with one ever be logged. */
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

/** The logger of a process. */
export function createLogger(level: string, role: string, destination?: DestinationStream): Logger {
  const paths = SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  const options = { level, base: { role }, redact: { paths, censor: "[redacted]" } };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** Logs each request when its answer is out, or its connection gone. */
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
        ...(res.writableFinished ? {} : { aborted: true }),
      };
      if (res.statusCode >= 500) log.warn(line, "request failed");
      else log.info(line, "request");
    });
    next();
  };
}
