/** Markets and market makers of the benches that flood a whole exchange. */

import { readFileSync } from "node:fs";
import type { Exchange } from "../../replay/exchange.js";
import { BenchExchange } from "../bench-exchange.js";
import { Traffic } from "./traffic.js";

export const SOCKETS = 24;
export const MARKETS = 16;

/** Returns whether Linux shares the cores between sessions first, which prolongs the pauses of a worker. */
function autogroupsAreOn(): boolean {
  try {
    return readFileSync("/proc/sys/kernel/sched_autogroup_enabled", "latin1").trim() === "1";
  } catch {
    return false;
  }
}

/** Opens the markets, and an account with a socket for each market maker. */
export async function openTraffic(exchange: Exchange): Promise<Traffic> {
  if (autogroupsAreOn())
    console.log("autogroups are on: workers pause longer than without (scripts/README.md, Priorities)");
  const bench = new BenchExchange(exchange);
  try {
    const eventId = await bench.event();
    const outcomeIds: string[] = [];
    for (let i = 0; i < MARKETS; i += 1) outcomeIds.push(...(await bench.market(eventId)));
    const keys = [];
    for (let i = 0; i < SOCKETS; i += 1) {
      keys.push((await bench.account(`maker-${i}`, "100000000")).tradingKey);
    }
    return await Traffic.open(exchange.url, keys, outcomeIds);
  } finally {
    bench.close();
  }
}
