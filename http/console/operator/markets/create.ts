/** Creation of a set of markets, one after the other, so that the list of the event has their order. */

import { call, pages } from "../../data/api.js";
import type { MarketAnswer } from "../answers.js";
import { forEach, type Batch } from "./actions.js";
import { exists, type NewMarket } from "./sets.js";

/**
 * Creates those of the markets that the event does not have. It reads the event's markets first, because a market whose
 * answer was lost may exist. `onCreated` receives the number of the markets that exist so far.
 */
export async function createMarkets(
  eventId: string,
  markets: readonly NewMarket[],
  onCreated: (count: number) => void,
): Promise<Batch> {
  const existing = await pages<MarketAnswer>("/admin/v1/markets", { event: eventId, limit: 1_000 });
  const missing = markets.filter((market) => !exists(market, existing));
  let created = markets.length - missing.length;
  return forEach(
    missing,
    ({ description }) => description,
    async (market) => {
      await call<MarketAnswer>("POST", "/admin/v1/markets", { body: { eventId, ...market } });
      created += 1;
      onCreated(created);
    },
    1,
  );
}
