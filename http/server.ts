/** HTTP server: its limits, and its orderly stop (contract sections 9.3 and 9.4). */

import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import {
  createServer as createTcpServer,
  Server as TcpServer,
  type AddressInfo,
  type Socket,
} from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { routeEveryTarget } from "./edge/target.js";

/** Limits of a server on its connections. */
export interface ServerLimits {
  readonly connections: number;
  /** Time for the headers of a request to arrive, and for all of it, in ms. */
  readonly headersMs: number;
  readonly requestMs: number;
}

const KEEP_ALIVE_MS = 30_000;
/** Interval of the check for requests that take too long. */
const CHECK_MS = 500;
/** Time in ms in which a connection in use has its next request, whose answer ends it. */
const HAND_OVER_MS = 400;
/** Shortest time between two warnings, in ms. */
const WARNING_MS = 1_000;
/** Interval of the checks of a drain, in ms. */
const POLL_MS = 10;

/** Makes a server for an app. Node itself cuts off slow headers and slow bodies. */
export function createHttpServer(app: RequestListener, limits: ServerLimits): Server {
  const server = createServer(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connectionsCheckingInterval: CHECK_MS,
      noDelay: true,
      insecureHTTPParser: false,
    },
    routeEveryTarget(app),
  );
  server.maxConnections = limits.connections;
  return server;
}

/** Origin of the connections of a server. */
export interface ConnectionSource {
  /** Begins to serve connections; resolves to their port. */
  open(server: Server): Promise<number>;
  /** Ends the flow of connections; resolves when the server has every connection that was accepted for it. */
  close(): Promise<void>;
}

/** Connections that each further port of a gateway keeps open, above the limit of the port for clients. */
export const RESERVED_CONNECTIONS = 100;

/** Accepts the connections of ports of this process; the system chooses the first one for port 0. */
export function listeningOn(port: number, host: string, further: readonly number[] = []): ConnectionSource {
  const opened: TcpServer[] = [];
  return {
    async open(server) {
      opened.push(server);
      await listen(server, port, host);
      for (const one of further) {
        // As the server of HTTP accepts connections: a client that has sent all still gets its answer.
        const door = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
          server.emit("connection", socket),
        );
        door.maxConnections = RESERVED_CONNECTIONS;
        opened.push(door);
        await listen(door, one, host);
      }
      return (server.address() as AddressInfo).port;
    },
    async close() {
      // This phase of the event loop comes right after the one that accepts connections, so that none waits for it.
      await new Promise((resolve) => setImmediate(resolve));
      // The server of HTTP would close the silent connections too, and with them requests on their way.
      for (const one of opened) TcpServer.prototype.close.call(one);
    },
  };
}

/**
 * Begins to accept connections; rejects when the address cannot be had. A connection that cannot be accepted later, as for
 * lack of memory, is no reason to end: the process only warns of it, once a second.
 */
export function listen(server: TcpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let warnedMs = -Infinity;
    server.on("error", (error) => {
      if (!server.listening) reject(error);
      else if (performance.now() - warnedMs >= WARNING_MS) {
        warnedMs = performance.now();
        process.emitWarning(`cannot accept connections: ${error.message}`);
      }
    });
    server.listen(port, host, resolve);
  });
}

/** The connections of a server and their requests in progress, so that a stop loses none of them. */
export class Connections {
  /** Answers in progress, by connection. An upgraded connection is no longer one of the server. */
  readonly #answers = new Map<Socket, Set<ServerResponse>>();
  /** Connections whose end is awaited. One that asked for another protocol comes again, with each such request. */
  readonly #known = new WeakSet<Socket>();
  #isDraining = false;

  constructor(
    private readonly server: Server,
    private readonly source: ConnectionSource,
  ) {
    server.on("connection", (socket: Socket) => {
      this.#answers.set(socket, new Set());
      if (this.#known.has(socket)) return;
      this.#known.add(socket);
      socket.once("close", () => this.#answers.delete(socket));
    });
    server.on("upgrade", ({ socket }) => this.#answers.delete(socket));
    server.prependListener("request", ({ socket }, response) => {
      if (this.#isDraining) endsConnection(response);
      const answers = this.#answers.get(socket);
      answers?.add(response);
      response.once("close", () => answers?.delete(response));
    });
  }

  /**
   * Moves the clients to other gateways and closes every connection. New connections go elsewhere or are refused, which
   * is safe to try elsewhere, and each answer ends its connection. A connection that stays silent is closed after the
   * hand-over. Requests in progress are answered; they are cut off after `graceMs`.
   */
  async drain(graceMs: number): Promise<void> {
    const untilMs = performance.now() + graceMs;
    await this.source.close();
    this.#isDraining = true;
    for (const answers of this.#answers.values()) for (const answer of answers) endsConnection(answer);
    await this.#empty(HAND_OVER_MS);
    for (const [socket, answers] of this.#answers) if (answers.size === 0) socket.destroy();
    await this.#empty(untilMs - performance.now());
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Resolves when there is no connection, and at the latest after `timeoutMs`. */
  async #empty(timeoutMs: number): Promise<void> {
    const untilMs = performance.now() + timeoutMs;
    while (this.#answers.size > 0 && performance.now() < untilMs) await sleep(POLL_MS);
  }
}

/** Makes an answer the last one of its connection. */
function endsConnection(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader("Connection", "close");
}
