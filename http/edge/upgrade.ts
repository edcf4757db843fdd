/**
 * `GET /v3/ws`, routed through express-ws (contract section 6). The checks of the caller stand in front of it
 * and are answered in plain HTTP, before there is a socket.
 */

import { randomUUID } from "node:crypto";
import { createServer, STATUS_CODES, type IncomingMessage, type Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import express from "express";
import expressWs from "express-ws";
import { WebSocket } from "ws";
import { WS_OPTIONS, type Bridge } from "../../stream/ws/bridge.js";
import type { Caller } from "../../stream/ws/ports.js";
import { Refused, statusOf, wireCode } from "../request/errors.js";
import { refusalOf } from "../request/failures.js";
import type { Logger } from "./request-log.js";
import { admitStreamCaller, STREAM_PATH, type StreamCallerParts } from "../websocket/callers.js";

export interface UpgradeParts extends StreamCallerParts {
  readonly bridge: Bridge;
  readonly log: Logger;
}

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
  // It writes the server into the options it is given.
  const wsOptions = { ...WS_OPTIONS };
  const upgrades = expressWs(routes, admitted, { leaveRouterUntouched: true, wsOptions });
  // What is no handshake of RFC 6455 is refused in the shape of everything else.
  upgrades.getWss().on("wsClientError", ({ message }: Error, connection: Duplex) => {
    refuseUpgrade(connection, new Refused("INVALID_REQUEST", message, {}, { "Sec-WebSocket-Version": "13" }));
  });
  upgrades.app.ws(STREAM_PATH, (socket, request) => {
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
    admitStreamCaller(request, parts).then(
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
