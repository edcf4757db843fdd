/** Faults between a process and Redis. */

import net from "node:net";
import { Redis } from "ioredis";

/** Closes every connection to the database of a test. */
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

interface ProxiedConnection {
  readonly client: net.Socket;
  readonly server: net.Socket;
  /** True when the replies of the server are dropped. The commands of the client still arrive. */
  silent: boolean;
}

/** A proxy in front of Redis that can silence and cut its connections. */
export class Proxy {
  readonly #server: net.Server;
  readonly #connections = new Set<ProxiedConnection>();

  private constructor(target: URL) {
    this.#server = net.createServer((client) => {
      const server = net.connect(Number(target.port), target.hostname);
      const connection = { client, server, silent: false };
      this.#connections.add(connection);
      const end = (): void => {
        client.destroy();
        server.destroy();
        this.#connections.delete(connection);
      };
      for (const socket of [client, server]) socket.on("error", end).on("close", end);
      client.on("data", (data) => server.write(data));
      server.on("data", (data) => {
        if (!connection.silent) client.write(data);
      });
    });
  }

  /** Listens on a free port. Returns the proxy, and the URL of Redis through it. */
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

  /** Drops all replies on the present connections. New connections work. */
  silence(): void {
    for (const connection of this.#connections) connection.silent = true;
  }

  /** Closes the present connections. New connections work. */
  cut(): void {
    for (const { client, server } of this.#connections) {
      client.destroy();
      server.destroy();
    }
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
