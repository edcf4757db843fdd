/** Clients that place one order after the other, and record every failure. */

import { randomUUID } from "node:crypto";
import http from "node:http";
import { Signer } from "../../../http/client/client.js";
import type { TestKey } from "../../support/traders.js";

/**
 * Client that keeps its connections alive and, as HTTP clients do, opens one to another address when an address refuses
 * it. It sends no request twice.
 */
export class BusyClient {
  readonly failures: string[] = [];
  readonly orders: string[] = [];
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  #port: number;
  #stopped = false;

  constructor(
    private readonly ports: readonly number[],
    private readonly trading: TestKey,
    /** Outcomes of several markets, because a wallet has a limit of open orders in one market. */
    private readonly outcomeIds: readonly string[],
    private readonly pauseMs = 0,
  ) {
    [this.#port = 0] = ports;
  }

  async run(): Promise<void> {
    const { key, brand } = this.trading;
    const signer = new Signer(key, brand);
    for (let n = 0; !this.#stopped; n += 1) {
      const clientId = randomUUID();
      const outcomeId = this.outcomeIds[n % this.outcomeIds.length];
      const order = { outcomeId, price: "0.010", qty: 1, tif: "GTC", clientId };
      const body = Buffer.from(JSON.stringify(order));
      const headers = await signer.headers("POST", "/v3/orders", "", body);
      const { status } = await this.#send({ ...headers, "Content-Type": "application/json" }, body);
      if (status === 201) this.orders.push(clientId);
      else if (status !== 0) this.failures.push(`status ${status}`);
      if (this.pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
    }
    this.#agent.destroy();
  }

  stop(): void {
    this.#stopped = true;
  }

  /** Sends a request to the address in use; goes on to the next address while connections are refused. */
  async #send(headers: Record<string, string>, body: Buffer): Promise<{ readonly status: number }> {
    let port = this.#port;
    do {
      try {
        const answer = await send(this.#agent, port, headers, body);
        this.#port = port;
        return answer;
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        if (code !== "ECONNREFUSED") {
          this.failures.push(`${code ?? ""} ${message}`);
          return { status: 0 };
        }
        port = this.ports[(this.ports.indexOf(port) + 1) % this.ports.length] ?? 0;
      }
    } while (port !== this.#port);
    this.failures.push("every gateway refused the connection");
    return { status: 0 };
  }
}

function send(
  agent: http.Agent,
  port: number,
  headers: Record<string, string>,
  body: Buffer,
): Promise<{ readonly status: number }> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { agent, port, host: "127.0.0.1", method: "POST", path: "/v3/orders", headers },
      (response) => {
        response.resume();
        response.once("end", () => resolve({ status: response.statusCode ?? 0 }));
        response.once("error", reject);
      },
    );
    request.once("error", reject);
    request.end(body);
  });
}
