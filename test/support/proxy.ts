/** TCP proxy in this process, which cuts connections without a change of the server behind it. */

import { createServer, connect, type AddressInfo, type Socket } from "node:net";

export interface Proxy {
  /** URL of the server with the address of the proxy. */
  readonly url: string;
  /** Closes every connection and refuses new ones until `heal`. */
  cut(): void;
  heal(): void;
  /**
   * Ends the open connections for the server alone: its clients get no answer any more, as when the host of the server has
   * lost power. New connections reach the server.
   */
  silence(): void;
  close(): Promise<void>;
}

/** Starts a proxy in front of the server that a URL names. */
export async function startProxy(url: string): Promise<Proxy> {
  const target = new URL(url);
  const open = new Set<Socket>();
  const clients = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  let down = false;
  const server = createServer((client) => {
    if (down) {
      client.destroy();
      return;
    }
    clients.add(client);
    const upstream = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        open.delete(from);
        clients.delete(from);
        if (!silent.has(to)) to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String((server.address() as AddressInfo).port);
  const cut = (): void => {
    down = true;
    for (const socket of open) socket.destroy();
  };
  return {
    url: through.href,
    cut,
    heal: () => {
      down = false;
    },
    silence: () => {
      for (const socket of clients) silent.add(socket);
      for (const socket of open) if (!silent.has(socket)) socket.destroy();
    },
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
