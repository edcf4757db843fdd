/**
 * Websocket upgrades of `GET /v3/ws`, routed through express-ws (contract section 6.1). The checks of the caller come
 * first, and a refusal is plain HTTP, before there is a socket.
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
import { Refused, statusOf } from "../request/errors.js";
import { refusalOf } from "../request/failures.js";
import { inTime } from "../request/in-time.js";
import { REQUEST_ID } from "./headers.js";
import { refusalBody } from "./refusals.js";
import type { Logger } from "./request-log.js";
import { admitStreamCaller, STREAM_PATH, type StreamCallerParts } from "../websocket/callers.js";

export interface UpgradeParts extends StreamCallerParts {
  readonly bridge: Bridge;
  readonly log: Logger;
}

/**
 * Accepts the websocket upgrades of a server on `/v3/ws` and refuses all others with plain HTTP.
 *
 * express-ws upgrades every request of its server and routes it afterwards, when a refusal can only be a close frame.
 * Therefore it has a server of its own that never listens, and receives the upgrades that passed the checks. Its route
 * has an app of its own, because the middleware of the main app reads bodies and sends answers.
 */
export function acceptUpgrades(server: Server, parts: UpgradeParts): void {
  const callers = new WeakMap<IncomingMessage, Caller>();
  const admitted = createServer();
  const routes = express();
  routes.enable("case sensitive routing");
  routes.enable("strict routing");
  // express-ws writes its server into these options.
  const wsOptions = { ...WS_OPTIONS };
  const upgrades = expressWs(routes, admitted, { leaveRouterUntouched: true, wsOptions });
  // A handshake that breaks RFC 6455 is refused in the same shape as any other upgrade.
  upgrades.getWss().on("wsClientError", ({ message }: Error, connection: Duplex) => {
    refuseUpgrade(connection, new Refused("INVALID_REQUEST", message, {}, { "Sec-WebSocket-Version": "13" }));
  });
  upgrades.app.ws(STREAM_PATH, (socket, request) => {
    // Without a listener, an error such as a frame that is too large would end the process.
    socket.on("error", () => socket.terminate());
    const caller = callers.get(request);
    const connection: unknown = request.socket;
    // A plain HTTP server upgrades its TCP socket, and express-ws makes sockets of the `ws` package that the bridge uses.
    const served = socket instanceof WebSocket && connection instanceof Socket;
    if (caller !== undefined && served) parts.bridge.open(socket, caller, connection);
    else socket.terminate();
  });

  server.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on("error", () => connection.destroy());
    inTime(admitStreamCaller(request, parts)).then(
      (caller) => {
        if (connection.destroyed) return;
        callers.set(request, caller);
        admitted.emit("upgrade", request, connection, head);
      },
      (error: unknown) => {
        const refused = refusalOf(error);
        if (refused === undefined) parts.log.error({ err: error }, "a websocket upgrade failed unexpectedly");
        refuseUpgrade(connection, refused ?? new Refused("INTERNAL"));
      },
    );
  });
}

function refuseUpgrade(connection: Duplex, refused: Refused): void {
  const status = statusOf(refused.code);
  const body = JSON.stringify(refusalBody(refused));
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(Buffer.byteLength(body)),
    Connection: "close",
    [REQUEST_ID]: randomUUID(),
    ...refused.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`);
}
