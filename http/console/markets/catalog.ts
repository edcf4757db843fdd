/** Events with their markets, as the timetable shows them, and the filters on them. */

import type { z } from "zod";
import type { CatalogEvent, Market } from "../../surface-a/schemas/catalog.js";
import { pages } from "../data/api.js";
import { inOrder } from "../market/words.js";

type EventAnswer = z.infer<typeof CatalogEvent>;
export type MarketAnswer = z.infer<typeof Market>;

/** An event with its markets. */
export interface Listed {
  readonly event: EventAnswer;
  readonly markets: readonly MarketAnswer[];
}

/** Filters of the timetable, as they stand in the address; an empty one filters nothing. */
export interface Filters {
  readonly sport: string;
  readonly league: string;
  readonly type: string;
  readonly status: string;
  readonly text: string;
}

/** Choices of the filter by status. Without a choice the timetable has everything that is not over. */
export const STATUS_CHOICES = [
  ["", "Not over"],
  ["play", "In play"],
  ["open", "Before the start"],
  ["over", "Over, last 7 days"],
] as const;

const CATALOG = "/v3/public/catalog";
const PAGE = 1_000;
const OVER = "FINAL,SETTLED,CANCELED";
const OVER_MS = 7 * 86_400_000;

/** Returns items by a key, in the order of the keys' first items. */
function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Reads the events and their markets: those that are not over, or those that are, in the order of their start. */
export async function readCatalog(isOver: boolean, signal: AbortSignal): Promise<readonly Listed[]> {
  const startsAfter = isOver ? Date.now() - OVER_MS : undefined;
  const common = { limit: PAGE, startsAfter };
  const [events, markets] = await Promise.all([
    pages<EventAnswer>(`${CATALOG}/events`, { ...common, status: isOver ? OVER : undefined }, { signal }),
    pages<MarketAnswer>(
      `${CATALOG}/markets`,
      { ...common, eventStatus: isOver ? OVER : undefined },
      { signal },
    ),
  ]);
  const byEvent = grouped(markets, ({ eventId }) => eventId);
  const listed = events.map((event) => ({ event, markets: inOrder(byEvent.get(event.eventId) ?? []) }));
  return isOver ? listed.toReversed() : listed;
}

/** Returns the words of a text in the form in which they are compared: lower case, without accents. */
function wordsOf(text: string): string[] {
  const plain = text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.split(/\s+/).filter((word) => word !== "");
}

/** Everything by which a market is found. */
function textOf({ event, market }: { event: EventAnswer; market?: MarketAnswer | undefined }): string {
  const outcomes = market?.outcomes.map(({ name }) => name) ?? [];
  const parts = [
    event.description,
    event.league,
    event.sport,
    market?.description,
    market?.marketType,
    ...outcomes,
  ];
  return wordsOf(parts.join(" ")).join(" ");
}

/** Returns true when every word of the search begins a word of the text. */
function matches(search: readonly string[], text: string): boolean {
  return search.every((word) => text.startsWith(word) || text.includes(` ${word}`));
}

/** Returns the events that pass the filters, with those of their markets that do. */
export function filtered(listed: readonly Listed[], filters: Filters): readonly Listed[] {
  const search = wordsOf(filters.text);
  const isLive = ({ status }: EventAnswer): boolean => status === "OPEN_INGAME";
  return listed.flatMap(({ event, markets }) => {
    if (filters.sport !== "" && event.sport !== filters.sport) return [];
    if (filters.league !== "" && event.league !== filters.league) return [];
    if (filters.status === "play" && !isLive(event)) return [];
    if (filters.status === "open" && event.status !== "OPEN_PREGAME") return [];
    const kept = markets.filter(
      (market) =>
        (filters.type === "" || market.marketType === filters.type) &&
        (search.length === 0 || matches(search, textOf({ event, market }))),
    );
    if (kept.length > 0) return [{ event, markets: kept }];
    const isWanted = filters.type === "" && markets.length === 0 && matches(search, textOf({ event }));
    return isWanted ? [{ event, markets: [] }] : [];
  });
}

/** A market that a search has found. */
export interface Found {
  readonly event: EventAnswer;
  readonly market: MarketAnswer;
}

/** Returns the first markets that a text finds. */
export function find(listed: readonly Listed[], text: string, most: number): readonly Found[] {
  const search = wordsOf(text);
  if (search.length === 0) return [];
  const found: Found[] = [];
  for (const { event, markets } of listed) {
    for (const market of markets) {
      if (!matches(search, textOf({ event, market }))) continue;
      found.push({ event, market });
      if (found.length === most) return found;
    }
  }
  return found;
}

/** A part of the timetable with its heading. */
export interface Section {
  readonly title: string;
  readonly listed: readonly Listed[];
}

/** Divides the timetable: events in play first, then one section for each day in the visitor's zone. */
export function sectionsOf(listed: readonly Listed[], dayOf: (ms: number) => string): readonly Section[] {
  const live = listed.filter(({ event }) => event.status === "OPEN_INGAME");
  const others = listed.filter(({ event }) => event.status !== "OPEN_INGAME");
  const days = grouped(others, ({ event }) => dayOf(event.startsTs));
  const sections = [...days].map(([title, ofDay]) => ({ title, listed: ofDay }));
  return live.length === 0 ? sections : [{ title: "In play", listed: live }, ...sections];
}
