/**
 * Best bids, volume and the last hour of many markets in one answer, for timetables (contract section 5.14). Books would
 * take one request for each market.
 */

import type { Ticks } from "../../../actors/units.js";
import { formatMoney, formatPrice, fullValue } from "../../../actors/units.js";
import type { Database } from "../../../db/database.js";
import type { MarketRecord } from "../../../db/queries/catalog/markets.js";
import type { Replicas } from "../../../stream/ws/market/replicas.js";
import { IDS, UNCHANGED } from "../../docs/examples.js";
import { etagOf, matchesEtag } from "../../edge/etag.js";
import { ANYBODY, signedOrSession, TRADING, type Access } from "../../request/access.js";
import { free, READ, type Metering } from "../../request/metering.js";
import { route, Serialized, type Route } from "../../request/route.js";
import { MAX_PRICED_MARKETS, Prices, PricesQuery, type MarketPrices } from "../schemas/catalog.js";
import { outcomeIdOf } from "../wire.js";
import { RecentMarkets, type RecentMarket } from "./recent-markets.js";

interface PriceParts {
  readonly reads: { readonly db: Database };
  readonly books: Pick<Replicas, "acquire" | "release">;
}

/** Replicas that one request acquires at a time: the state of a market that nobody watches is read first. */
const ACQUIRED_AT_ONCE = 8;

export function priceRoutes({ reads, books }: PriceParts): readonly Route[] {
  const markets = new RecentMarkets(reads.db);

  const pricesOf = async ({ market, hour }: RecentMarket): Promise<MarketPrices> => {
    const { marketId, outcomes, volume } = market;
    const past = hour.map((price) => (price === null ? null : formatPrice(price)));
    // Only an open market has bids, and the others would fill the memory with their replicas.
    const replica = market.status === "OPEN" ? await books.acquire(marketId) : undefined;
    if (replica === undefined) {
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
    const { market: live } = replica;
    const bids = live
      .bbo("CASH")
      .map((level, outcome) => [
        outcomeIdOf(market, outcome),
        level && { price: formatPrice(level.price), qty: level.qty },
      ]);
    const prices = {
      marketId,
      status: live.status,
      bids: Object.fromEntries(bids) as MarketPrices["bids"],
      last: pricesByOutcome(market, live.last("CASH")),
      volume: formatMoney(fullValue(live.volume("CASH"))),
      hour: past,
    };
    books.release(marketId);
    return prices;
  };

  const below = (base: string, access: Access, metering: Metering): Route =>
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
        const items = await inTurns(recent, pricesOf);
        const json = Buffer.from(JSON.stringify({ items }));
        const etag = etagOf(json.toString());
        const headers = { ETag: etag, "Cache-Control": "no-cache" };
        if (matchesEtag(incoming.header("if-none-match"), etag))
          return { status: 304, headers, body: undefined };
        return { headers, body: new Serialized(() => json, json) };
      },
    });
  return [below("/v3", signedOrSession(TRADING), READ), below("/v3/public", ANYBODY, free)];
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
