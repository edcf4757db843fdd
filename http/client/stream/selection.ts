/** Selections of a stream client, and the requests that resume them after a reconnect (contract section 6.4). */

import { type MarketView } from "./market-view.js";
import type { WalletView } from "./wallet-view.js";
import { CHANNELS, type Channel, type PrivateChannel } from "../../../stream/ws/channels.js";

/** Markets and events to watch, by channels, and private channels. An event includes markets that open later. */
export interface Selection {
  readonly markets?: Readonly<Record<string, Channel | readonly Channel[]>>;
  readonly events?: Readonly<Record<string, Channel | readonly Channel[]>>;
  readonly private?: readonly PrivateChannel[];
}

type Channels = Channel | readonly Channel[];

/** Markets in one request: a request has at most 64 KiB, and a market with all its seqs takes about 200 bytes. */
const MARKETS_PER_REQUEST = 150;

/** All subjects that a client watches. */
export class WatchedSubjects {
  readonly #markets = new Map<string, Channels>();
  readonly #events = new Map<string, Channels>();
  readonly #private = new Set<PrivateChannel>();

  /** Adds the subjects of a selection. */
  add({ markets = {}, events = {}, private: channels = [] }: Selection): void {
    for (const [id, added] of Object.entries(markets))
      this.#markets.set(id, union(this.#markets.get(id), added));
    for (const [id, added] of Object.entries(events))
      this.#events.set(id, union(this.#events.get(id), added));
    for (const channel of channels) this.#private.add(channel);
  }

  /** Removes subjects, each named `market:<id>`, `event:<id>` or `PRIVATE`. */
  remove(subjects: readonly string[]): void {
    for (const subject of subjects) {
      this.#markets.delete(subject.replace(/^market:/, ""));
      this.#events.delete(subject.replace(/^event:/, ""));
      if (subject === "PRIVATE") this.#private.clear();
    }
  }

  get private(): readonly PrivateChannel[] {
    return [...this.#private];
  }

  /** Returns the channels that are watched of a market of an event; none when neither is watched. */
  channelsOf(marketId: string, eventId: string): readonly Channel[] {
    return [
      ...new Set([
        ...withLifecycle(this.#markets.get(marketId)),
        ...withLifecycle(this.#events.get(eventId)),
      ]),
    ];
  }

  /** Returns all subjects as one selection. */
  selection(): Selection {
    return {
      ...(this.#markets.size > 0 && { markets: Object.fromEntries(this.#markets) }),
      ...(this.#events.size > 0 && { events: Object.fromEntries(this.#events) }),
      ...(this.#private.size > 0 && { private: this.private }),
    };
  }
}

/** Splits a selection into requests that fit the size limit: some markets each, and at most one event. */
export function splitSelection({
  markets = {},
  events = {},
  private: channels,
}: Selection): readonly Selection[] {
  const ids = Object.keys(markets);
  const eventIds = Object.keys(events);
  const all: Selection[] = [];
  for (let i = 0; i === 0 || i * MARKETS_PER_REQUEST < ids.length || i < eventIds.length; i += 1) {
    const some = ids.slice(i * MARKETS_PER_REQUEST, (i + 1) * MARKETS_PER_REQUEST);
    const eventId = eventIds[i];
    all.push({
      ...(some.length > 0 && { markets: pick(markets, some) }),
      ...(eventId !== undefined && { events: pick(events, [eventId]) }),
      ...(i === 0 && channels !== undefined && { private: channels }),
    });
  }
  return all;
}

/** Returns true for a selection that names nothing; the exchange refuses it. */
export function isEmptySelection({ markets = {}, events = {}, private: channels = [] }: Selection): boolean {
  return Object.keys(markets).length + Object.keys(events).length + channels.length === 0;
}

/** Returns the subject, `market:<id>` or `event:<id>`, that a refusal says does not exist; `undefined` for other refusals. */
export function missingSubject(
  { markets = {}, events = {} }: Selection,
  { code, message }: Readonly<{ code: string; message: string }>,
): string | undefined {
  const named = (ids: object): string | undefined =>
    Object.keys(ids).find((id) => message.endsWith(` ${id}`));
  const marketId = code === "MARKET_NOT_FOUND" ? named(markets) : undefined;
  const eventId = code === "EVENT_NOT_FOUND" ? named(events) : undefined;
  if (marketId !== undefined) return `market:${marketId}`;
  return eventId === undefined ? undefined : `event:${eventId}`;
}

/** Returns a selection without a subject. */
export function withoutSubject(selection: Selection, subject: string): Selection {
  const left = new WatchedSubjects();
  left.add(selection);
  left.remove([subject]);
  return left.selection();
}

/** Returns the `since` of a request (contract section 6.10): the last seqs of those of its subjects that are known. */
export function sinceOf(
  { markets = {}, events = {}, private: channels = [] }: Selection,
  known: ReadonlyMap<string, MarketView>,
  wallet: Pick<WalletView, "seqs">,
): Record<string, unknown> {
  const seqs = [...known]
    .filter(([marketId, { eventId }]) => marketId in markets || eventId in events)
    // Markets beyond the limit get a snapshot.
    .slice(0, 2 * MARKETS_PER_REQUEST)
    .map(([marketId, market]) => [`market:${marketId}`, market.seqs] as const);
  const own = channels.filter((channel) => wallet.seqs[channel] !== undefined);
  return {
    ...Object.fromEntries(seqs),
    ...Object.fromEntries(own.map((channel) => [channel, wallet.seqs[channel]])),
  };
}

function pick(from: Readonly<Record<string, Channels>>, ids: readonly string[]): Record<string, Channels> {
  return Object.fromEntries(ids.flatMap((id) => (from[id] === undefined ? [] : [[id, from[id]]])));
}

/** Returns channels with the lifecycle, which every subscription includes. */
function withLifecycle(channels: Channels | undefined): readonly Channel[] {
  if (channels === undefined) return [];
  return ["lifecycle", ...(typeof channels === "string" ? [channels] : channels)];
}

function union(before: Channels | undefined, added: Channels): Channels {
  if (before === undefined) return added;
  const both = new Set([before, added].flat());
  return CHANNELS.filter((channel) => both.has(channel));
}
