/** What goes wrong between a process and Redis. */

import net from "node:net";
import { Redis } from "ioredis";

/** Ends every connection that works on the database of a test. */
export async function cutConnections(url: string): Promise<void> {
  const admin = new Redis(url);
  const database = new URL(url).pathname.slice(1);
  for (const line of String(await admin.client("LIST")).split("\n")) {
    const id = /\bid=(\d+)/.exec(line)?.[1];
    if (id === undefined || !new RegExp(`\\bdb=${database}\\b`).test(line)) continue;
    await admin.client("KILL", "ID", id, "SKIPME", "yes").catch(() => undefined);
  }
  admin.disconnect();
}

interface Road {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** What the server answers goes nowhere; what the client says still arrives. */
  silent: boolean;
}

/** A way to Redis whose connections can be silenced and cut. */
export class Proxy {
  readonly #server: net.Server;
  readonly #roads = new Set<Road>();

  private constructor(target: URL) {
    this.#server = net.createServer((client) => {
      const server = net.connect(Number(target.port), target.hostname);
      const road = { client, server, silent: false };
      this.#roads.add(road);
      const end = (): void => {
        client.destroy();
        server.destroy();
        this.#roads.delete(road);
      };
      for (const socket of [client, server]) socket.on("error", end).on("close", end);
      client.on("data", (data) => server.write(data));
      server.on("data", (data) => {
        if (!road.silent) client.write(data);
      });
    });
  }

  /** Listens on a port of its own; gives the proxy and the URL through it. */
  static async open(url: string): Promise<{ readonly proxy: Proxy; readonly url: string }> {
    const through = new URL(url);
    const proxy = new Proxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    const address = proxy.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    through.hostname = "127.0.0.1";
    through.port = String(address.port);
    return { proxy, url: through.href };
  }

  /** No connection that there is now gives an answer any more; new ones work. */
  silence(): void {
    for (const road of this.#roads) road.silent = true;
  }

  /** Ends all connections; new ones work. */
  cut(): void {
    for (const { client, server } of this.#roads) {
      client.destroy();
      server.destroy();
    }
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
