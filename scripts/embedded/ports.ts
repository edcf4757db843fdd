import { randomInt } from "node:crypto";
import net from "node:net";

/** Whether something could listen on this address now. */
export function isFree(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

/**
 * A free loopback port for a server that keeps it over restarts. It is taken from below the range the
 * system gives to outgoing connections, else one of those could hold the port at the next start.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, 30_000);
    if (await isFree(port)) return port;
  }
  throw new Error("no free port between 20000 and 30000 on 127.0.0.1");
}
