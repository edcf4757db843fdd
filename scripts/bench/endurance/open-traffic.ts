/** Markets and market makers of the benches that flood a whole exchange. */

import type { Exchange } from "../../replay/exchange.js";
import { BenchExchange } from "../bench-exchange.js";
import { Traffic } from "./traffic.js";

export const SOCKETS = 24;
export const MARKETS = 16;

/** Opens the markets, and an account with a socket for each market maker. */
export async function openTraffic(exchange: Exchange): Promise<Traffic> {
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
