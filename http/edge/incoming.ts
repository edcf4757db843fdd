/** What the middleware in front of the routes has gathered about a request. */

import type { Request, Response } from "express";
import type { KeyAlgorithm } from "../auth/signing.js";
import type { Target } from "./target.js";

/** A request as it arrived: exact bytes, nothing interpreted. `receivedMs` is Unix ms. */
export interface Incoming {
  readonly requestId: string;
  readonly method: string;
  readonly target: Target;
  readonly body: Buffer;
  readonly ip: string;
  readonly receivedMs: number;
  /** The value of a header that was sent exactly once; `undefined` when absent, `"repeated"` otherwise. */
  header(name: string): string | undefined | typeof REPEATED;
}

/** A header that came more than once, and so means nothing. */
export const REPEATED: unique symbol = Symbol("repeated header");

/** Something in the log line of a request that only a later step knows. */
export interface LogNotes {
  route?: string;
  keyId?: string;
  accountId?: string;
  clientId?: string;
  code?: string;
  algorithm?: KeyAlgorithm;
}

interface Locals {
  requestId?: string;
  ip?: string;
  target?: Target;
  body?: Buffer;
  notes?: LogNotes;
}

/** What the front middleware keeps for a request. */
export function localsOf(res: Response): Locals {
  return res.locals as Locals;
}

/** The notes for a request's log line. */
export function notesOf(res: Response): LogNotes {
  const locals = localsOf(res);
  locals.notes ??= {};
  return locals.notes;
}

/** A header of a request that must have come once. */
export function soleHeader(req: Request, name: string): string | undefined | typeof REPEATED {
  const values = req.headersDistinct[name.toLowerCase()];
  if (values === undefined || values.length === 0) return undefined;
  return values.length === 1 ? values[0] : REPEATED;
}

/** Everything gathered so far, for the route. */
export function incomingOf(req: Request, res: Response): Incoming {
  const { requestId = "", ip = "", target = { path: "", query: "" }, body = Buffer.alloc(0) } = localsOf(res);
  return {
    requestId,
    method: req.method,
    target,
    body,
    ip,
    receivedMs: Date.now(),
    header: (name) => soleHeader(req, name),
  };
}
