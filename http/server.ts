/** The HTTP server: its time-outs, and how it stops (contract section 9). */

import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** What a server puts up with from its connections. */
export interface ServerLimits {
  readonly connections: number;
  /** How long the headers of a request may take to arrive, and the whole of it, ms. */
  readonly headersMs: number;
  readonly requestMs: number;
}

const KEEP_ALIVE_MS = 30_000;
/** How often the server looks for requests that take too long. */
const CHECK_MS = 500;

/** Makes a server for an app. Slow headers and slow bodies are cut off by Node itself. */
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
    app,
  );
  server.maxConnections = limits.connections;
  return server;
}

/** Listens; the answer is the port, which matters when 0 was asked for. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Takes no more connections, lets the requests under way be answered, and cuts what is left after `graceMs`. */
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
