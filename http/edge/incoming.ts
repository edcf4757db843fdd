/** Facts about a request that the middleware gathers for the routes and for the log. */

import type { Request, Response } from "express";
import type { ConfirmedJump } from "../../stream/log/log.js";
import type { KeyAlgorithm } from "../auth/canonical.js";
import type { Turn } from "./senders/turns.js";
import type { Target } from "./target.js";

/** Time of the service (`EngineClock`). */
export interface EngineTime {
  /** Returns engine time (Unix ms). */
  now(): number;
  /** Engine time less the time of Redis, in ms, while a jump of its clock is held; else 0. */
  readonly heldMs: number;
  /** The last jump that an operator has confirmed. */
  readonly lastJump: ConfirmedJump | undefined;
}

/** Request as it arrived: exact bytes, nothing interpreted. */
export interface Incoming {
  readonly requestId: string;
  readonly method: string;
  readonly target: Target;
  readonly body: Buffer;
  readonly ip: string;
  /** Engine time at which it is read (Unix ms). */
  readonly receivedMs: number;
  /** Engine time less the time of Redis then, in ms, while a jump of its clock is held; else 0. */
  readonly heldMs: number;
  /** The last jump that an operator had confirmed then. */
  readonly lastJump: ConfirmedJump | undefined;
  /** Returns the value of a header that was sent once, `undefined` when it is absent, and `REPEATED` otherwise. */
  header(name: string): string | undefined | typeof REPEATED;
}

/** Mark of a header that was sent more than once and has no value. */
export const REPEATED: unique symbol = Symbol("repeated header");

/** Fields of a request's log line that later steps add. */
export interface LogNotes {
  route?: string;
  keyId?: string;
  accountId?: string;
  clientId?: string;
  code?: string;
  algorithm?: KeyAlgorithm;
}

interface Locals {
  /** Time of `performance.now()` by which the work of the request ends. */
  dueMs?: number;
  time?: EngineTime;
  requestId?: string;
  ip?: string;
  /** Name under which the requests of the address are counted. */
  sender?: string;
  target?: Target;
  body?: Buffer;
  notes?: LogNotes;
  /** Turn of the request among those of its sender. */
  turn?: Turn;
}

/** Returns the facts that the middleware has stored for a request so far. */
export function localsOf(res: Response): Locals {
  return res.locals as Locals;
}

/** Returns the fields of a request's log line, for a step to add to. */
export function notesOf(res: Response): LogNotes {
  const locals = localsOf(res);
  locals.notes ??= {};
  return locals.notes;
}

/** Returns a header that may be sent once: its value, `undefined` when it is absent, and `REPEATED` otherwise. */
function soleHeader(req: Request, name: string): string | undefined | typeof REPEATED {
  const values = req.headersDistinct[name.toLowerCase()];
  if (values === undefined || values.length === 0) return undefined;
  return values.length === 1 ? values[0] : REPEATED;
}

/** Returns the gathered facts as the request that a route reads. */
export function incomingOf(req: Request, res: Response): Incoming {
  const {
    time,
    requestId = "",
    ip = "",
    target = { path: "", query: "" },
    body = Buffer.alloc(0),
  } = localsOf(res);
  if (time === undefined) throw new Error("the middleware of this request has not run");
  return {
    requestId,
    method: req.method,
    target,
    body,
    ip,
    receivedMs: time.now(),
    heldMs: time.heldMs,
    lastJump: time.lastJump,
    header: (name) => soleHeader(req, name),
  };
}
