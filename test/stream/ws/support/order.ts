/** Places single orders on the exchange of the bridge tests. */

import { trader } from "./client.js";
import type { TestExchange } from "./exchange.js";

/** Places one order and commits. Returns the id of the order, or the code of the refusal. */
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
