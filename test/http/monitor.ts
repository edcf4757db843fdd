/** Counts what the scripts of the exchange carry to its Redis, as MONITOR shows them. */

import { once } from "node:events";
import { connect } from "node:net";

export interface Counted {
  /** Number of matches so far. */
  readonly count: number;
  stop(): void;
}

/** Counts the matches of a global pattern in the arguments of the scripts from now on. One script has many messages. */
export async function countInScripts(redisUrl: string, pattern: RegExp): Promise<Counted> {
  const { hostname, port, password } = new URL(redisUrl);
  const monitor = connect(Number(port), hostname);
  let count = 0;
  let rest = "";
  monitor.write(`AUTH ${password}\r\nMONITOR\r\n`);
  await once(monitor, "data");
  monitor.on("data", (chunk) => {
    const lines = `${rest}${chunk.toString("latin1")}`.split("\n");
    rest = lines.pop() ?? "";
    // The calls that a script makes are listed as those of `lua`.
    const calls = lines.filter((line) => /^\S+ \[\d+ [^l].*\] "evalsha"/i.test(line));
    for (const line of calls) count += [...line.matchAll(pattern)].length;
  });
  return {
    get count() {
      return count;
    },
    stop: () => void monitor.destroy(),
  };
}
