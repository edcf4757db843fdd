/** Every route of surface B, with its rate (specification, Surface B table; contract section 7). */

import { free } from "../request/metering.js";
import { at, type Access, type Route } from "../request/route.js";
import type { TokenBucket } from "../../stream/services/token-buckets.js";
import type { emmAccountEndpoints } from "./account.js";
import type { emmMarketEndpoints } from "./markets/markets.js";
import type { emmOrderEndpoints } from "./orders.js";
import {
  CANCEL,
  HISTORY,
  KILL_SWITCH,
  MARKETS_BY_EVENT,
  OPEN_MARKETS,
  ordinary,
  POSITIONS,
} from "./rates.js";
import type { emmStrikeEndpoints } from "./strikes.js";

export interface EmmEndpoints {
  readonly markets: ReturnType<typeof emmMarketEndpoints>;
  readonly account: ReturnType<typeof emmAccountEndpoints>;
  readonly orders: ReturnType<typeof emmOrderEndpoints>;
  readonly strikes: ReturnType<typeof emmStrikeEndpoints>;
}

const reading = (rates: readonly TokenBucket[]) =>
  ({ kind: "client", rates, kyc: false, cancel: false }) as const satisfies Access;
const placing = {
  kind: "client",
  rates: ordinary("place"),
  kyc: true,
  cancel: false,
} as const satisfies Access;
const canceling = (rates: readonly TokenBucket[]) =>
  ({ kind: "client", rates, kyc: false, cancel: true }) as const satisfies Access;

/** The table; `prefix` is the first segment of its paths. */
export function emmRoutes(
  prefix: string,
  { markets, account, orders, strikes }: EmmEndpoints,
): readonly Route[] {
  const base = `/${prefix}/v2/emm`;
  const events = `${base}/events`;
  const metadata = `${base}/event-metadata`;
  return [
    at(`GET ${events}/getMarketsByEvent/:eventId`, reading(MARKETS_BY_EVENT), free, markets.byEvent),
    at(`GET ${base}/markets/open`, reading(OPEN_MARKETS), free, markets.open),
    at(`GET ${base}/markets/:marketId`, reading(ordinary("market")), free, markets.one),
    at(`GET ${base}/positions/all`, reading(POSITIONS), free, account.positions),
    at(`GET ${base}/ticks`, reading(ordinary("ticks")), free, markets.ticks),
    at(`GET ${events}`, reading(ordinary("events")), free, markets.events),
    at(`GET ${events}/:eventId`, reading(ordinary("event")), free, markets.event),
    at(`GET ${metadata}/leagues`, reading(ordinary("leagues")), free, markets.leagues),
    at(`GET ${metadata}/types`, reading(ordinary("event-types")), free, markets.types),
    at(`GET ${metadata}/statuses`, reading(ordinary("event-statuses")), free, markets.statuses),
    at(`POST ${base}/strike-requests`, reading(ordinary("strike-requests")), free, strikes.request),
    at(`GET ${base}/fills/all`, reading(HISTORY), free, account.fills),
    at(`GET ${base}/orders/all`, reading(HISTORY), free, account.orders),
    at(`GET ${base}/transactions`, reading(HISTORY), free, account.transactions),
    at(`POST ${base}/orders/place`, placing, free, orders.place),
    at(`POST ${base}/orders/cancel`, canceling(CANCEL), free, orders.cancel),
    at(`DELETE ${base}/orders`, canceling(KILL_SWITCH), free, orders.cancelAll),
  ];
}
