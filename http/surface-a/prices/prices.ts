/**
 * Best bids, volume and the last hour of many markets in one answer, for timetables (contract section 5.14). Books would
 * take one request for each market.
 */

import type { Ticks } from "../../../actors/units.js";
import { formatMoney, formatPrice, fullValue } from "../../../actors/units.js";
import type { Database } from "../../../db/database.js";
import type { MarketRecord } from "../../../db/queries/catalog/markets.js";
import type { Replica } from "../../../stream/ws/market/replica.js";
import type { Replicas } from "../../../stream/ws/market/replicas.js";
import { IDS, UNCHANGED } from "../../docs/examples.js";
import { etagOf, matchesEtag } from "../../edge/etag.js";
import type { EngineTime } from "../../edge/incoming.js";
import { ANYBODY, signedOrSession, TRADING, type Access } from "../../request/access.js";
import { free, perListed, type Metering } from "../../request/metering.js";
import { route, Serialized, type Route } from "../../request/route.js";
import { MAX_PRICED_MARKETS, Prices, PricesQuery, type MarketPrices } from "../schemas/catalog.js";
import { outcomeIdOf } from "../wire.js";
import { ColdLoads } from "./cold-loads.js";
import { RecentMarkets, recentReads, type RecentMarket } from "./recent-markets.js";

interface PriceParts {
  readonly reads: { readonly db: Database };
  readonly time: Pick<EngineTime, "now">;
  readonly books: Pick<Replicas, "acquire" | "has" | "release">;
}

/** Replicas that one request acquires at a time: the state of a market that nobody watches is read first. */
const ACQUIRED_AT_ONCE = 8;
/** Number of markets that a signed request reads for one token. */
const MARKETS_PER_TOKEN = 10;
const PER_MARKETS = perListed("read", "markets", MARKETS_PER_TOKEN, MAX_PRICED_MARKETS);

export function priceRoutes({ reads, time, books }: PriceParts): readonly Route[] {
  const markets = new RecentMarkets(recentReads(reads.db, time));
  const coldLoads = new ColdLoads();

  const pricesOf = async (recent: RecentMarket, mayLoad: () => boolean): Promise<MarketPrices> => {
    const { marketId, status } = recent.market;
    // Only an open market has bids, and the others would fill the memory with their replicas.
    if (status !== "OPEN" || !(books.has(marketId) || mayLoad())) return pricesIn(recent, undefined);
    const replica = await books.acquire(marketId);
    if (replica === undefined) return pricesIn(recent, undefined);
    try {
      return pricesIn(recent, replica.market);
    } finally {
      books.release(marketId);
    }
  };

  const pricesIn = ({ market, hour }: RecentMarket, live: Replica["market"] | undefined): MarketPrices => {
    const { marketId, outcomes, volume } = market;
    const past = hour.map((price) => (price === null ? null : formatPrice(price)));
    if (live === undefined) {
      return {
        marketId,
        status: market.status,
        bids: Object.fromEntries(outcomes.map(({ outcomeId }) => [outcomeId, null])),
        last: pricesByOutcome(
          market,
          outcomes.map(({ last }) => last.CASH),
        ),
        volume: formatMoney(volume.CASH),
        hour: past,
      };
    }
    const bids = live
      .bbo("CASH")
      .map((level, outcome) => [
        outcomeIdOf(market, outcome),
        level && { price: formatPrice(level.price), qty: level.qty },
      ]);
    return {
      marketId,
      status: live.status,
      bids: Object.fromEntries(bids) as MarketPrices["bids"],
      last: pricesByOutcome(market, live.last("CASH")),
      volume: formatMoney(fullValue(live.volume("CASH"))),
      hour: past,
    };
  };

  const below = (base: string, access: Access, metering: Metering, mayLoad: () => boolean): Route =>
    route(`GET ${base}/catalog/prices`, {
      access,
      metering,
      query: PricesQuery,
      answer: Prices.optional(),
      docs: {
        summary: "List prices of markets",
        description: `Returns the best bid and the last price of each outcome, the volume, and the prices of the first outcome in the last hour, of up to ${MAX_PRICED_MARKETS} markets in one answer. Markets that do not exist are left out.`,
        also: UNCHANGED,
        exampleQuery: { markets: IDS.marketId },
      },
      run: async ({ query, incoming }) => {
        const recent = await markets.of([...new Set(query.markets)]);
        const items = await inTurns(recent, (one) => pricesOf(one, mayLoad));
        const json = Buffer.from(JSON.stringify({ items }));
        const etag = etagOf(json.toString());
        const headers = { ETag: etag, "Cache-Control": "no-cache" };
        if (matchesEtag(incoming.header("if-none-match"), etag))
          return { status: 304, headers, body: undefined };
        return { headers, body: new Serialized(() => json, json) };
      },
    });
  return [
    below("/v3", signedOrSession(TRADING), PER_MARKETS, () => true),
    // Nobody pays for the loads of these requests.
    below("/v3/public", ANYBODY, free, () => coldLoads.take()),
  ];
}

function pricesByOutcome(
  market: MarketRecord,
  prices: readonly (Ticks | null | undefined)[],
): Record<string, string> {
  return Object.fromEntries(
    prices.flatMap((price, outcome) =>
      price === null || price === undefined ? [] : [[outcomeIdOf(market, outcome), formatPrice(price)]],
    ),
  );
}

/** Maps items in their order, with `ACQUIRED_AT_ONCE` of them under way at a time. */
async function inTurns<Item, Value>(
  items: readonly Item[],
  read: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = [];
  const left = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of left) values[index] = await read(item);
  };
  await Promise.all(Array.from({ length: ACQUIRED_AT_ONCE }, work));
  return values;
}
