/** Single orders on the exchange that the tests of the bridge run. */

import { trader } from "./client.js";
import type { TestExchange } from "./exchange.js";

/** Places one order and makes what came of it visible; gives its id, or the code of its refusal. */
export async function order(
  exchange: TestExchange,
  who: string,
  outcomeId: string | undefined,
  price: string,
  qty: number,
  changes = {},
): Promise<string> {
  const placed = await exchange.place(
    trader(who),
    [{ outcomeId, price, qty, tif: "GTC", ...changes }],
    false,
  );
  exchange.commit();
  return placed.ok ? (placed.accepted[0]?.orderId ?? "") : placed.code;
}
