/** What every request passes before a route is looked for: its id, the edge's caps, its raw target and its bytes. */

import { randomUUID } from "node:crypto";
import type { NextFunction, Request, RequestHandler, Response } from "express";
import { Refused } from "../request/errors.js";
import { subscriberOf } from "../geo/addresses.js";
import { localsOf } from "./incoming.js";
import { readTarget } from "./target.js";
import { MemoryBuckets } from "../request/throttle.js";
import { refuseAtEdge } from "./refusals.js";

/** The edge's thresholds, per address and per request (contract section 5, Edge). */
export interface EdgeLimits {
  readonly ratePerSecond: number;
  readonly burst: number;
  readonly publicRatePerSecond: number;
  readonly publicBurst: number;
  readonly bodyBytes: number;
}

/** The largest body that the service itself takes; the edge normally stops smaller ones. */
const MAX_BODY_BYTES = 100 * 1024;

/** What is left of a body that is not read makes the connection useless. */
const CLOSE = { Connection: "close" };

/**
 * Gives the request its id, and works out whose it is, once. A client's own id is not believed: it is how a line in our
 * log is found.
 */
export const requestId: RequestHandler = (req, res, next) => {
  const id = randomUUID();
  const locals = localsOf(res);
  locals.requestId = id;
  locals.ip = req.ip ?? "";
  res.set("X-Request-Id", id);
  next();
};

/** Counts requests per address, the public routes apart. */
export function edgeRate(limits: EdgeLimits): RequestHandler {
  const all = new MemoryBuckets({ capacity: limits.burst, refillPerSec: limits.ratePerSecond });
  const open = new MemoryBuckets({ capacity: limits.publicBurst, refillPerSec: limits.publicRatePerSecond });
  return (req, res, next) => {
    const ip = subscriberOf(localsOf(res).ip ?? "");
    const isOpen = req.url.startsWith("/v3/public/");
    const granted = all.charge(ip, 1).granted && (!isOpen || open.charge(ip, 1).granted);
    if (granted) next();
    else refuseAtEdge(res);
  };
}

/** Refuses targets that mean anything else than their bytes. */
export const rawTarget: RequestHandler = (req, res, next) => {
  const target = readTarget(req.originalUrl);
  if (target === undefined) throw new Refused("ROUTE_NOT_FOUND");
  localsOf(res).target = target;
  next();
};

/** Reads the body's exact bytes, up to the edge's cap and the service's own. */
export function exactBody(limits: EdgeLimits): RequestHandler {
  return (req, res, next) => {
    const declared = Number(req.headers["content-length"] ?? 0);
    const coding = req.headers["transfer-encoding"];
    if (coding !== undefined && coding.toLowerCase() !== "chunked") {
      throw new Refused("INVALID_REQUEST", "the only Transfer-Encoding is chunked", {}, CLOSE);
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
