/** Sends requests of one client, with an address of its own, so that no limit of addresses joins it with another one. */

import { Agent, request as httpRequest } from "node:http";
import { WebSocket } from "ws";
import { Signer, type SigningKey } from "../../../http/client/client.js";

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** Request as it is sent. */
export interface Sent {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Longest wait for an answer, in ms; the exchange answers within 5 s. */
const ANSWER_MS = 10_000;

export class Caller {
  readonly #url: URL;
  readonly #address: string;
  readonly #localAddress: string | undefined;
  readonly #agent: Agent;

  /**
   * The exchange must take the address of a client from `X-Forwarded-For`. On Linux, which has every address of the loopback
   * network, the connections come from addresses of their own too.
   */
  constructor(url: string, address: string, connections: number) {
    this.#url = new URL(url);
    this.#address = address;
    this.#localAddress = process.platform === "linux" ? address.replace(/^\d+/, "127") : undefined;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Sends a request. Rejects when it gets no answer. */
  send({ method, target, headers, body }: Sent): Promise<Answer> {
    const { hostname, port } = this.#url;
    const localAddress = this.#localAddress;
    const sent = { ...headers, "X-Forwarded-For": this.#address, "Content-Length": String(body.length) };
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        {
          hostname,
          port,
          localAddress,
          method,
          path: target,
          headers: sent,
          agent: this.#agent,
          timeout: ANSWER_MS,
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }),
          );
        },
      );
      request.on("timeout", () => request.destroy(new Error(`${method} ${target} has no answer`)));
      request.on("error", reject);
      request.end(body);
    });
  }

  /** Opens a websocket with the headers of a signed upgrade. Resolves to `undefined` when the upgrade is refused. */
  socket(headers: Readonly<Record<string, string>>): Promise<WebSocket | undefined> {
    const url = new URL("/v3/ws", this.#url);
    url.protocol = "ws:";
    const socket = new WebSocket(url, {
      headers: { ...headers, "X-Forwarded-For": this.#address },
      localAddress: this.#localAddress,
      perMessageDeflate: false,
      handshakeTimeout: ANSWER_MS,
    });
    return new Promise((resolve) => {
      socket.once("open", () => resolve(socket));
      socket.on("error", () => resolve(undefined));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Opens callers, each with an address of its own. */
export class Callers {
  readonly #opened: Caller[] = [];

  /** `network`: the first two numbers of all addresses, such as `198.51`. */
  constructor(
    private readonly url: string,
    private readonly network: string,
  ) {}

  open(connections: number): Caller {
    const number = this.#opened.length + 1;
    const opened = new Caller(this.url, `${this.network}.${number >> 8}.${number & 255}`, connections);
    this.#opened.push(opened);
    return opened;
  }

  close(): void {
    for (const opened of this.#opened) opened.close();
  }
}

/** Signs the requests of a key. */
export class SignedRequests {
  readonly #signer: Signer;

  constructor(key: SigningKey, brand: string) {
    this.#signer = new Signer(key, brand);
  }

  async of(method: string, target: string, content?: unknown): Promise<Sent> {
    const [path = "", query = ""] = target.split("?");
    const body = content === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(content));
    const type = content === undefined ? {} : { "Content-Type": "application/json" };
    return {
      method,
      target,
      headers: { ...type, ...(await this.#signer.headers(method, path, query, body)) },
      body,
    };
  }
}

/** Returns a request without credentials. */
export function unsigned(method: string, target: string, content?: unknown): Sent {
  const body = content === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(content));
  return {
    method,
    target,
    headers: content === undefined ? {} : { "Content-Type": "application/json" },
    body,
  };
}
