/** Middleware before the routes: gives the request an id, limits its rate, reads its raw target and its exact body. */

import { randomUUID } from "node:crypto";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { Refused } from "../request/errors.js";
import { MAX_BODY_BYTES } from "../request/limits.js";
import { subscriberOf } from "../geo/addresses.js";
import { REQUEST_ID } from "./headers.js";
import { localsOf } from "./incoming.js";
import { readTarget } from "./target.js";
import { MemoryBuckets } from "../request/throttle.js";
import { refuseAtEdge } from "./refusals.js";

/** Limits of the edge, per address and per request (contract section 5.20, Edge). */
export interface EdgeLimits {
  readonly ratePerSecond: number;
  readonly burst: number;
  readonly publicRatePerSecond: number;
  readonly publicBurst: number;
  readonly bodyBytes: number;
}

/** Header that closes the connection, because its next bytes are the rest of a body that nobody reads. */
const CLOSE = { Connection: "close" };

/** Gives the request a new id, which its log line has, and stores its address. An id that the client sent is ignored. */
export const requestId: RequestHandler = (req, res, next) => {
  const id = randomUUID();
  const locals = localsOf(res);
  locals.requestId = id;
  locals.ip = req.ip ?? "";
  res.set(REQUEST_ID, id);
  next();
};

/** Refuses requests over the rates of their subscriber; the public routes have a further rate of their own. */
export function edgeRate(limits: EdgeLimits): RequestHandler {
  const all = new MemoryBuckets({ capacity: limits.burst, refillPerSec: limits.ratePerSecond });
  const publicOnly = new MemoryBuckets({
    capacity: limits.publicBurst,
    refillPerSec: limits.publicRatePerSecond,
  });
  return (req, res, next) => {
    const ip = subscriberOf(localsOf(res).ip ?? "");
    const isPublic = req.url.startsWith("/v3/public/");
    const granted = all.charge(ip, 1).granted && (!isPublic || publicOnly.charge(ip, 1).granted);
    if (granted) next();
    else refuseAtEdge(res);
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
export function exactBody(limits: EdgeLimits): RequestHandler {
  return (req, res, next) => {
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
    if (declared > limits.bodyBytes) refuseAtEdge(res);
    else if (declared > MAX_BODY_BYTES) throw new Refused("PAYLOAD_TOO_LARGE", undefined, {}, CLOSE);
    else collect(req, res, Math.min(limits.bodyBytes, MAX_BODY_BYTES), next);
  };
}

function collect(req: Request, res: Response, cap: number, next: NextFunction): void {
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
    if (cap < MAX_BODY_BYTES) refuseAtEdge(res);
    else next(new Refused("PAYLOAD_TOO_LARGE", undefined, {}, CLOSE));
  };
  const onEnd = (): void => {
    localsOf(res).body = Buffer.concat(chunks);
    next();
  };
  req.on("data", onData);
  req.on("end", onEnd);
  req.on("error", () => req.destroy());
}
