/** Markets and events by id, as the tables of the portfolio name them. What has been read once is kept. */

import type { z } from "zod";
import type { CatalogEventWithMarkets, Market } from "../../surface-a/schemas/catalog.js";
import { call } from "../data/api.js";
import { asRefusal, isAborted } from "../data/refusal.js";
import { marketName as nameBelow } from "../market/words.js";

type MarketAnswer = z.infer<typeof Market>;

/** Names of a market. */
export interface MarketNames {
  readonly event: string;
  readonly description: string;
  /** Names of the outcomes by id. */
  readonly outcomes: ReadonlyMap<string, string>;
}

/** Requests at a time, so that a large portfolio stays below the rate of the public routes. */
const AT_ONCE = 4;

const markets = new Map<string, MarketNames>();
const events = new Map<string, string>();

/** Runs a job for each item, a few at a time, and stops at the first that throws. */
export async function eachOf<T>(items: readonly T[], job: (item: T) => Promise<void>): Promise<void> {
  const rest = [...items];
  const work = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await job(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Returns the description of an event; hidden events have none. */
async function eventOf(eventId: string, signal: AbortSignal): Promise<string> {
  const known = events.get(eventId);
  if (known !== undefined) return known;
  const path = `/v3/public/catalog/events/${eventId}`;
  const { description } = await call<z.infer<typeof CatalogEventWithMarkets>>("GET", path, { signal });
  events.set(eventId, description);
  return description;
}

async function read(marketId: string, signal: AbortSignal): Promise<void> {
  if (markets.has(marketId)) return;
  try {
    const path = `/v3/public/catalog/markets/${marketId}`;
    const market = await call<MarketAnswer>("GET", path, { signal });
    const event = await eventOf(market.eventId, signal);
    const outcomes = new Map(market.outcomes.map(({ outcomeId, name }) => [outcomeId, name]));
    markets.set(marketId, { event, description: nameBelow(market, event), outcomes });
  } catch (error) {
    // A hidden market has no names; one that could not be read is tried again at the next time.
    if (isAborted(error)) throw error;
    if (asRefusal(error).status !== 404) return;
    markets.set(marketId, { event: "", description: "", outcomes: new Map() });
  }
}

/** Reads the names of the markets. Returns those of all markets that are known by now. */
export async function namesOf(
  marketIds: Iterable<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, MarketNames>> {
  await eachOf([...new Set(marketIds)], (marketId) => read(marketId, signal));
  return new Map(markets);
}

/** Returns the name of a market in one line, or its id when the market has no name. */
export function marketName(names: ReadonlyMap<string, MarketNames> | undefined, marketId: string): string {
  const found = names?.get(marketId);
  if (found === undefined) return "";
  return found.event === "" ? `market ${marketId.slice(0, 8)}` : `${found.event} · ${found.description}`;
}

/** Returns the name of an outcome, or an empty text while it is not known. */
export function outcomeName(
  names: ReadonlyMap<string, MarketNames> | undefined,
  { marketId, outcomeId }: { readonly marketId: string; readonly outcomeId: string },
): string {
  const found = names?.get(marketId);
  return found?.outcomes.get(outcomeId) ?? (found === undefined ? "" : outcomeId.slice(0, 8));
}
