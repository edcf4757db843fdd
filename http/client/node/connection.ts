/**
 * Connections of Node: HTTP/1.1 by `node:http`, because `fetch` takes five times the processor time, and websockets by `ws`,
 * which can sign an upgrade.
 */

import http from "node:http";
import https from "node:https";
import { WebSocket } from "ws";
import {
  ATTEMPT_MS,
  Connection,
  errorOf,
  HANDSHAKE_MS,
  retryAfterMs,
  type PlatformSocket,
  type PlatformSocketEvents,
  type RawAnswer,
  type RawRequest,
  type SocketEnd,
} from "../connection.js";

const MAX_SOCKETS = 64;

/** Kept-alive connections to one origin. */
export class NodeConnection extends Connection {
  override readonly signsUpgrades = true;
  readonly #agent: http.Agent;
  readonly #request: typeof http.request;

  /** Opens no connection yet. `url` is the origin of the exchange, such as `http://127.0.0.1:8080`. */
  constructor(url: string) {
    super(url);
    const secure = this.url.protocol === "https:";
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, noDelay: true };
    this.#agent = secure ? new https.Agent(options) : new http.Agent(options);
    this.#request = secure ? https.request : http.request;
  }

  override attempt(request: RawRequest): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const headers: Record<string, string | number> = { ...request.headers };
      if (request.body.length > 0) {
        headers["Content-Type"] = "application/json";
        headers["Content-Length"] = request.body.length;
      }
      const outgoing = this.#request({
        agent: this.#agent,
        hostname: this.url.hostname,
        port: this.url.port,
        method: request.method,
        path: request.target,
        headers,
        timeout: ATTEMPT_MS,
      });
      outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${ATTEMPT_MS} ms`)));
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        readAnswer(incoming).then(resolve, reject);
      });
      outgoing.end(request.body);
    });
  }

  override openSocket(
    target: string,
    headers: Readonly<Record<string, string>>,
    events: PlatformSocketEvents,
  ): PlatformSocket {
    const address = new URL(target, this.url);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address, {
      headers,
      perMessageDeflate: false,
      handshakeTimeout: HANDSHAKE_MS,
    });
    let refusal: Omit<SocketEnd, "reason"> = {};
    let problem = "the connection was closed";
    socket.on("unexpected-response", (_, incoming) => {
      void readAnswer(incoming)
        .then((answer) => {
          const { code, message } = errorOf(answer);
          refusal = { code, retryAfterMs: retryAfterMs(answer) };
          problem = message;
        })
        .catch(() => undefined)
        .finally(() => socket.terminate());
    });
    socket.on("error", ({ message }) => {
      if (refusal.code === undefined) problem = message;
    });
    socket.on("open", events.onOpen);
    socket.on("message", (data: Buffer) => events.onText(data.toString("utf8")));
    socket.on("ping", events.onAlive);
    socket.on("close", (code) => events.onEnd({ ...refusal, reason: `${problem} (${code})` }));
    return {
      send: (text) => socket.send(text),
      close: () => socket.close(1000),
      drop: () => socket.terminate(),
    };
  }

  override close(): void {
    this.#agent.destroy();
  }
}

function readAnswer(incoming: http.IncomingMessage): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("error", reject);
    incoming.on("end", () =>
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      }),
    );
  });
}
