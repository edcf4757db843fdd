/**
 * `GET /v3/ws`, routed through express-ws (contract section 6). The checks of a signed GET stand in front of it and
 * are answered in plain HTTP, before there is a socket.
 */

import { randomUUID } from "node:crypto";
import { createServer, STATUS_CODES, type IncomingMessage, type Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import express from "express";
import expressWs from "express-ws";
import { WebSocket } from "ws";
import { WS_OPTIONS, type Bridge } from "../stream/ws/bridge.js";
import type { Caller } from "../stream/ws/ports.js";
import { refuseInactive, refuseLocation, type AdmissionParts } from "./admission.js";
import { Refused, statusOf, wireCode } from "./errors.js";
import { refusalOf } from "./failures.js";
import { REPEATED } from "./incoming.js";
import type { Logger } from "./edge/request-log.js";
import type { SignedRequest } from "./signed.js";
import { readTarget } from "./target.js";

export interface UpgradeParts extends AdmissionParts {
  readonly bridge: Bridge;
  readonly log: Logger;
  /** The caller's address, by the same rule as for requests. */
  readonly addressOf: (request: IncomingMessage) => string;
}

/** What an upgrade costs in the `stream` bucket. */
const UPGRADE_COST = 32;
const PATH = "/v3/ws";

/**
 * Takes websocket upgrades of a server. Everything but a good one on `/v3/ws` gets a plain HTTP answer.
 *
 * express-ws upgrades whatever its server is asked to and routes it afterwards, when a refusal can only be a close
 * frame. So it is given a server of its own that never listens, and hears there of the upgrades that passed. Its
 * routes have an app of their own too: what the other one does with bodies and answers means nothing to a socket.
 */
export function acceptUpgrades(server: Server, parts: UpgradeParts): void {
  const callers = new WeakMap<IncomingMessage, Caller>();
  const admitted = createServer();
  const routes = express();
  routes.enable("case sensitive routing");
  routes.enable("strict routing");
  const { app } = expressWs(routes, admitted, { leaveRouterUntouched: true, wsOptions: WS_OPTIONS });
  app.ws(PATH, (socket, request) => {
    // One frame that is too large would end the process if nobody listened.
    socket.on("error", () => socket.terminate());
    const caller = callers.get(request);
    const connection: unknown = request.socket;
    // What upgrades on a plain HTTP server is its TCP socket, and express-ws makes sockets of our own `ws`.
    const served = socket instanceof WebSocket && connection instanceof Socket;
    if (caller !== undefined && served) parts.bridge.open(socket, caller, connection);
    else socket.terminate();
  });

  server.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on("error", () => connection.destroy());
    authenticate(request, parts).then(
      (caller) => {
        if (connection.destroyed) return;
        callers.set(request, caller);
        admitted.emit("upgrade", request, connection, head);
      },
      (error: unknown) => {
        const refused = refusalOf(error);
        if (refused === undefined) parts.log.error({ err: error }, "an upgrade failed");
        refuseUpgrade(connection, refused ?? new Refused("INTERNAL"));
      },
    );
  });
}

async function authenticate(request: IncomingMessage, parts: UpgradeParts): Promise<Caller> {
  const target = readTarget(request.url ?? "");
  if (target?.path !== PATH || request.method !== "GET") throw new Refused("ROUTE_NOT_FOUND");
  const signed: SignedRequest = {
    method: request.method,
    target,
    body: Buffer.alloc(0),
    ip: parts.addressOf(request),
    receivedMs: Date.now(),
    header: (name) => {
      const values = request.headersDistinct[name];
      return values !== undefined && values.length > 1 ? REPEATED : values?.[0];
    },
  };
  const { key, ip } = await parts.signatures.identify(signed);
  if (target.query !== "") throw new Refused("INVALID_QUERY", "this route takes no query parameters");
  parts.keyUse.note(key.keyId, signed.receivedMs);
  const { scope, subaccountId, traderId, keyId } = key;
  if ((scope !== "trading" && scope !== "trading::read") || subaccountId === undefined) {
    throw new Refused("SCOPE_REJECTED", "the stream takes trading and trading::read keys");
  }
  const charge = await parts.throttle.charge(keyId, "stream", UPGRADE_COST);
  if (!charge.granted) {
    throw new Refused("RATE_LIMIT_EXCEEDED", undefined, {}, { "Retry-After": String(charge.retryAfterS) });
  }
  refuseInactive(key.state, false);
  await refuseLocation(parts.locations, { traderId, ip, purpose: "read", nowMs: signed.receivedMs });
  return { keyId, traderId, wallet: subaccountId, scope, address: ip };
}

function refuseUpgrade(connection: Duplex, refused: Refused): void {
  const status = statusOf(refused.code);
  const body = JSON.stringify({ code: wireCode(refused.code), message: refused.message, ...refused.more });
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
    "X-Request-Id": randomUUID(),
    ...refused.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
