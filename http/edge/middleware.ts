/** Middleware before the routes: gives the request an id, limits its rate, reads its raw target and its exact body. */

import { randomUUID } from "node:crypto";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { Refused } from "../request/errors.js";
import { ANSWER_MS } from "../request/in-time.js";
import { MAX_BODY_BYTES } from "../request/limits.js";
import { subscriberOf } from "../geo/addresses.js";
import { REQUEST_ID, retryAfter } from "./headers.js";
import { type EngineTime, localsOf } from "./incoming.js";
import { readTarget } from "./target.js";
import { MemoryBuckets, type BucketSize } from "../request/throttle.js";
import { refuseAtEdge } from "./refusals.js";
import type { Slowdown } from "./senders/slowdown.js";
import type { Turns } from "./senders/turns.js";

/** Limits of the edge, per address and per request (contract section 5.20, Edge). */
export interface EdgeLimits {
  readonly ratePerSecond: number;
  readonly burst: number;
  readonly publicRatePerSecond: number;
  readonly publicBurst: number;
  readonly bodyBytes: number;
}

/** Share of the rate of the edge that the answers to the refusals and repeats of a sender have. */
const SHARE_OF_FREE_ANSWERS = 20;

const WAITED = "too many requests of your address wait; send fewer at a time";

/** Header that closes the connection, because its next bytes are the rest of a body that nobody reads. */
const CLOSE = { Connection: "close" };

/**
 * Gives the request a new id, which its log line has, and stores its address, its sender and the clock that it is judged
 * by. An id that the client sent is ignored.
 */
export function requestId(time: EngineTime): RequestHandler {
  return (req, res, next) => {
    const id = randomUUID();
    const locals = localsOf(res);
    locals.time = time;
    locals.requestId = id;
    locals.ip = req.ip ?? "";
    locals.sender = subscriberOf(locals.ip);
    res.set(REQUEST_ID, id);
    next();
  };
}

/** Returns the pace of the answers to the refusals and repeats of a sender (contract section 5.20). */
export function paceOfFreeAnswers({ ratePerSecond }: EdgeLimits): BucketSize {
  const refillPerSec = ratePerSecond / SHARE_OF_FREE_ANSWERS;
  return { capacity: refillPerSec / 2, refillPerSec };
}

/**
 * Refuses requests over the rates of their sender, and of one whose answers in `slowdown` wait for too long; the public
 * routes have a further rate of their own.
 */
export function edgeRate(limits: EdgeLimits, slowdown: Slowdown): RequestHandler {
  const all = new MemoryBuckets({ capacity: limits.burst, refillPerSec: limits.ratePerSecond });
  const publicOnly = new MemoryBuckets({
    capacity: limits.publicBurst,
    refillPerSec: limits.publicRatePerSecond,
  });
  return (req, res, next) => {
    const { sender = "" } = localsOf(res);
    if (slowdown.isFull(sender)) {
      slowdown.refuse(() => refuseAtEdge(res));
      return;
    }
    const isPublic = req.url.startsWith("/v3/public/");
    const granted = all.charge(sender, 1).granted && (!isPublic || publicOnly.charge(sender, 1).granted);
    if (granted) next();
    else slowdown.answer(sender, () => refuseAtEdge(res));
  };
}

/** Lets the requests of each sender take turns; refuses one when too many wait, or when it has waited for too long. */
export function inTurn(turns: Turns, slowdown: Slowdown): RequestHandler {
  return (_req, res, next) => {
    const locals = localsOf(res);
    locals.dueMs = performance.now() + ANSWER_MS;
    const giveUp = (): void => next(new Refused("UNAVAILABLE", WAITED, {}, retryAfter(1)));
    const turn = turns.enter(locals.sender ?? "", next, giveUp);
    if (turn === undefined) {
      slowdown.refuse(() => refuseAtEdge(res));
      return;
    }
    locals.turn = turn;
    res.once("close", turn.end);
  };
}

/** Refuses a target that has any meaning besides its bytes. */
export const rawTarget: RequestHandler = (req, res, next) => {
  const target = readTarget(req.originalUrl);
  if (target === undefined) throw new Refused("ROUTE_NOT_FOUND");
  localsOf(res).target = target;
  next();
};

/** Reads the exact bytes of the body, up to the cap of the edge and that of the service. */
export function exactBody(limits: EdgeLimits, slowdown: Slowdown): RequestHandler {
  return (req, res, next) => {
    const atEdge = (): void => slowdown.answer(localsOf(res).sender ?? "", () => refuseAtEdge(res));
    const tooLarge = (): void => next(new Refused("PAYLOAD_TOO_LARGE", undefined, {}, CLOSE));
    const declared = Number(req.headers["content-length"] ?? 0);
    const coding = req.headers["transfer-encoding"];
    if (coding !== undefined && coding.toLowerCase() !== "chunked") {
      throw new Refused(
        "INVALID_REQUEST",
        "the header Transfer-Encoding names an unknown coding; send chunked or Content-Length",
        {},
        CLOSE,
      );
    }
    if (declared > limits.bodyBytes) atEdge();
    else if (declared > MAX_BODY_BYTES) tooLarge();
    else if (limits.bodyBytes < MAX_BODY_BYTES) collect(req, res, limits.bodyBytes, atEdge, next);
    else collect(req, res, MAX_BODY_BYTES, tooLarge, next);
  };
}

/** Reads a body of at most `cap` bytes, and calls `refuse` at the first byte beyond. */
function collect(req: Request, res: Response, cap: number, refuse: () => void, next: NextFunction): void {
  const locals = localsOf(res);
  const beganMs = performance.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes <= cap) {
      chunks.push(chunk);
      return;
    }
    req.off("data", onData);
    req.off("end", onEnd);
    req.pause();
    refuse();
  };
  const onEnd = (): void => {
    locals.body = Buffer.concat(chunks);
    // The client takes the time in which it sends the body.
    if (locals.dueMs !== undefined) locals.dueMs += performance.now() - beganMs;
    next();
  };
  req.on("data", onData);
  req.on("end", onEnd);
  req.on("error", () => req.destroy());
}
