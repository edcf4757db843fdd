/**
 * Websocket upgrades of `GET /v3/ws`, routed through express-ws (contract section 6.1). An upgrade passes the middleware
 * of the app like any other request, and a refusal is plain HTTP, before there is a socket.
 */

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
} from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import express, { type NextFunction, type Request, type RequestHandler, type Response } from "express";
import expressWs from "express-ws";
import { WebSocket } from "ws";
import { WS_OPTIONS, type Bridge } from "../../stream/ws/bridge.js";
import type { Caller } from "../../stream/ws/ports.js";
import { Refused } from "../request/errors.js";
import { inTime } from "../request/in-time.js";
import { RATE_LIMIT, REQUEST_ID } from "./headers.js";
import { incomingOf, localsOf, notesOf } from "./incoming.js";
import { routeEveryTarget } from "./target.js";
import { admitStreamCaller, STREAM_PATH, type StreamCallerParts } from "../websocket/callers.js";

/** Headers of the request for the upgrade that the answer with the status 101 has too. */
const ANSWER_HEADERS = [REQUEST_ID, ...Object.values(RATE_LIMIT)];

/** Headers that ask for another protocol. */
const UPGRADE_HEADERS = new Set(["upgrade", "http2-settings"]);

/** Interval of the checks of a drain, in ms. */
const POLL_MS = 10;

/** A request for an upgrade that the app serves. */
interface Upgrade {
  /** Bytes that the client sent after the headers. */
  readonly head: Buffer;
  readonly connection: Socket;
}

/** A request for an upgrade whose checks are done. */
interface Admitted {
  readonly caller: Caller;
  readonly res: Response;
  readonly next: NextFunction;
}

/**
 * The upgrades of a gateway.
 *
 * express-ws upgrades every request of its server and routes it afterwards, when a refusal can only be a close frame.
 * Therefore it has a server of its own that never listens, and receives the upgrades that passed the checks. Its route
 * has an app of its own, because the middleware of the main app reads bodies and sends answers.
 */
export class Upgrades {
  readonly #upgrades = new WeakMap<IncomingMessage, Upgrade>();
  readonly #admitted = new WeakMap<IncomingMessage, Admitted>();
  readonly #express = createServer();
  /** Answers in progress to requests for an upgrade. */
  readonly #answers = new Set<ServerResponse>();

  constructor(bridge: Bridge) {
    const routes = express();
    routes.enable("case sensitive routing");
    routes.enable("strict routing");
    // express-ws writes its server into these options.
    const wsOptions = { ...WS_OPTIONS };
    const upgrades = expressWs(routes, this.#express, { leaveRouterUntouched: true, wsOptions });
    upgrades.getWss().on("headers", (lines: string[], request: IncomingMessage) => {
      const res = this.#admitted.get(request)?.res;
      if (res === undefined) return;
      for (const name of ANSWER_HEADERS) {
        const value = res.get(name);
        if (value !== undefined) lines.push(`${name}: ${value}`);
      }
      res.status(101).emit("close");
    });
    // A handshake that breaks RFC 6455 is refused in the same shape as any other upgrade.
    upgrades
      .getWss()
      .on("wsClientError", ({ message }: Error, connection: Duplex, request: IncomingMessage) => {
        const admitted = this.#admitted.get(request);
        if (admitted === undefined || !(connection instanceof Socket)) {
          connection.destroy();
          return;
        }
        admitted.res.assignSocket(connection);
        admitted.next(new Refused("INVALID_REQUEST", message, {}, { "Sec-WebSocket-Version": "13" }));
      });
    upgrades.app.ws(STREAM_PATH, (socket, request) => {
      // Without a listener, an error such as a frame that is too large would end the process.
      socket.on("error", () => socket.terminate());
      const caller = this.#admitted.get(request)?.caller;
      const connection: unknown = request.socket;
      // A plain HTTP server upgrades its TCP socket, and express-ws makes sockets of the `ws` package that the bridge uses.
      const served = socket instanceof WebSocket && connection instanceof Socket;
      if (caller !== undefined && served) bridge.open(socket, caller, connection);
      else socket.terminate();
    });
  }

  /** Lets the app serve the upgrades of a server to a websocket, and the server all others as if they had not asked. */
  accept(server: Server, app: RequestListener): void {
    const serve = routeEveryTarget(app);
    server.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
      const onError = (): unknown => connection.destroy();
      connection.on("error", onError);
      if (connection.destroyed || !(connection instanceof Socket)) {
        connection.destroy();
      } else if (request.headers.upgrade?.toLowerCase() === "websocket") {
        this.#upgrades.set(request, { head, connection });
        const answer = responseTo(request, connection);
        this.#answers.add(answer);
        answer.once("close", () => this.#answers.delete(answer));
        serve(request, answer);
      } else {
        // The server listens for errors itself; one connection may ask for another protocol over and over.
        connection.off("error", onError);
        serveWithoutUpgrade(server, request, connection, head);
      }
    });
  }

  /** Resolves when every request for an upgrade has its socket or its refusal, and at the latest after `timeoutMs`. */
  async settle(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    while (this.#answers.size > 0 && performance.now() < untilMs) await sleep(POLL_MS);
  }

  /** Opens the socket of a request for an upgrade whose caller is admitted. Leaves other requests to the next handler. */
  handler(parts: StreamCallerParts): RequestHandler {
    return async (req: Request, res: Response, next: NextFunction) => {
      const upgrade = this.#upgrades.get(req);
      if (upgrade === undefined) {
        next();
        return;
      }
      const isStream = localsOf(res).target?.path === STREAM_PATH && req.method === "GET";
      if (!isStream) throw new Refused("ROUTE_NOT_FOUND");
      notesOf(res).route = `GET ${STREAM_PATH}`;
      const { connection, head } = upgrade;
      const admitted = admitStreamCaller(incomingOf(req, res), res, connection, parts);
      const caller = await inTime(admitted, localsOf(res).dueMs);
      if (connection.destroyed) return;
      this.#admitted.set(req, { caller, res, next });
      res.detachSocket(connection);
      this.#express.emit("upgrade", req, connection, head);
    };
  }
}

/** Makes the response to a request for an upgrade. An answer in plain HTTP ends the connection. */
function responseTo(request: IncomingMessage, connection: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(connection);
  response.once("finish", () => {
    response.detachSocket(connection);
    connection.end(() => response.emit("close"));
  });
  return response;
}

/** Gives a connection that asked for another protocol back to the server, with its request as if it had not asked. */
function serveWithoutUpgrade(
  server: Server,
  request: IncomingMessage,
  connection: Socket,
  head: Buffer,
): void {
  const lines = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const [name = "", value = ""] = request.rawHeaders.slice(i, i + 2);
    const kept = name.toLowerCase() === "connection" ? withoutUpgrade(value) : value;
    if (!UPGRADE_HEADERS.has(name.toLowerCase()) && kept !== "") lines.push(`${name}: ${kept}`);
  }
  connection.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", connection);
}

/** Returns the options of a `Connection` header that do not ask for another protocol. */
function withoutUpgrade(connection: string): string {
  const options = connection.split(",").map((option) => option.trim());
  return options.filter((option) => !UPGRADE_HEADERS.has(option.toLowerCase())).join(", ");
}
