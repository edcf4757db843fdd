/** Exposure of events and markets, so that an operator knows what an action would change (contract section 8.22). */

import { formatMoney } from "../../../actors/units.js";
import type { Database } from "../../../db/database.js";
import { findEvent } from "../../../db/queries/catalog/events.js";
import { exposureOfEvents, exposureOfMarkets, type Exposure } from "../../../db/queries/operator/exposure.js";
import { operatorWith } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { route } from "../../request/route.js";
import { EventExposures, MarketExposures } from "../schemas/day.js";

function exposureOnWire<Held extends Exposure>({ escrow, ...held }: Held) {
  return { ...held, escrow: { CASH: formatMoney(escrow.CASH), COIN: formatMoney(escrow.COIN) } };
}

/** Time in ms for which the list of events is answered again: it adds up all open orders. */
const LIST_MS = 3_000;

/** Returns a reader of the exposure of events, whose callers share one computation. */
function eventsReader(db: Database) {
  let list: ReturnType<typeof exposureOfEvents> | undefined;
  const forget = (): void => void (list = undefined);
  return () => {
    if (list === undefined) {
      list = exposureOfEvents(db);
      list.then(() => setTimeout(forget, LIST_MS).unref(), forget);
    }
    return list;
  };
}

export function exposureRoutes({ db }: { readonly db: Database }) {
  const readEvents = eventsReader(db);
  const ofEvents = route("GET /admin/v1/exposure", {
    access: operatorWith("read"),
    answer: EventExposures,
    docs: {
      summary: "List the exposure of events",
      description:
        "Returns the open orders, their unfilled contracts and the escrow of every event that is not settled and has markets, and of canceled events with markets that are not settled. The answer may be 3 s old.",
    },
    run: async () => ({ body: { items: (await readEvents()).map(exposureOnWire) } }),
  });

  const ofMarkets = route("GET /admin/v1/events/:eventId/exposure", {
    access: operatorWith("read"),
    answer: MarketExposures,
    docs: {
      summary: "List the exposure of the markets of an event",
      refuses: ["EVENT_NOT_FOUND"],
    },
    run: async ({ id }) => {
      const eventId = id("eventId");
      if ((await findEvent(db, eventId)) === undefined) throw new Refused("EVENT_NOT_FOUND");
      return { body: { items: (await exposureOfMarkets(db, eventId)).map(exposureOnWire) } };
    },
  });

  return [ofEvents, ofMarkets];
}
