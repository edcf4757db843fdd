import { randomInt } from "node:crypto";
import net from "node:net";

/** Resolves to whether the port is free on this address. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

/**
 * Returns a free loopback port for a server that keeps it over restarts. The port is below the range that the
 * system gives to outgoing connections, so that no such connection holds the port at the next start.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, 30_000);
    if (await isFree(port)) return port;
  }
  throw new Error("no port between 20000 and 30000 is free on 127.0.0.1");
}
