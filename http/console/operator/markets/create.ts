/** Creation of a set of markets, one after the other, so that the list of the event has their order. */

import { call } from "../../data/api.js";
import type { MarketAnswer } from "../answers.js";
import { forEach, type Batch } from "./actions.js";
import type { NewMarket } from "./sets.js";

/** Creates the markets in an event. `onCreated` receives the number of those that exist so far. */
export function createMarkets(
  eventId: string,
  markets: readonly NewMarket[],
  onCreated: (count: number) => void,
): Promise<Batch> {
  let created = 0;
  return forEach(
    markets,
    ({ description }) => description,
    async (market) => {
      await call<MarketAnswer>("POST", "/admin/v1/markets", { body: { eventId, ...market } });
      created += 1;
      onCreated(created);
    },
    1,
  );
}
