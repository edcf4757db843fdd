/** HTTP server: its limits, and its orderly stop (contract sections 9.3 and 9.4). */

import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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

/** Listens, and returns the port, which the system chooses for port 0. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Accepts no more connections, finishes the requests in progress, and closes the remaining connections after `graceMs`. */
export function drain(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
