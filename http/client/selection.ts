/** What a stream client watches, and how it asks for it again where it left off (contract section 6). */

import { type MarketView } from "./market-view.js";
import type { WalletView } from "./wallet-view.js";
import { CHANNELS, type Channel, type PrivateChannel } from "../../stream/ws/channels.js";

/** What to watch. An event stands for its markets, those that open later too. */
export interface Selection {
  readonly markets?: Readonly<Record<string, Channel | readonly Channel[]>>;
  readonly events?: Readonly<Record<string, Channel | readonly Channel[]>>;
  readonly private?: readonly PrivateChannel[];
}

type Channels = Channel | readonly Channel[];

/** A request may have 64 KiB, and a market takes some 200 bytes of it with all of its seqs. */
const MARKETS_PER_REQUEST = 150;

/** Everything that is watched, added to as it is asked for. */
export class Watched {
  readonly #markets = new Map<string, Channels>();
  readonly #events = new Map<string, Channels>();
  readonly #private = new Set<PrivateChannel>();

  add({ markets = {}, events = {}, private: channels = [] }: Selection): void {
    for (const [id, added] of Object.entries(markets))
      this.#markets.set(id, union(this.#markets.get(id), added));
    for (const [id, added] of Object.entries(events))
      this.#events.set(id, union(this.#events.get(id), added));
    for (const channel of channels) this.#private.add(channel);
  }

  get isEmpty(): boolean {
    return this.#markets.size + this.#events.size + this.#private.size === 0;
  }

  get private(): readonly PrivateChannel[] {
    return [...this.#private];
  }

  /** The channels that a market of an event is watched by; none when neither is. */
  channelsOf(marketId: string, eventId: string): readonly Channel[] {
    return [...new Set([...listed(this.#markets.get(marketId)), ...listed(this.#events.get(eventId))])];
  }

  selection(): Selection {
    return {
      ...(this.#markets.size > 0 && { markets: Object.fromEntries(this.#markets) }),
      ...(this.#events.size > 0 && { events: Object.fromEntries(this.#events) }),
      ...(this.#private.size > 0 && { private: this.private }),
    };
  }
}

/** A selection in requests of a size that the exchange takes: some markets each, and at most one event. */
export function pieces({ markets = {}, events = {}, private: channels }: Selection): readonly Selection[] {
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

/** Where a client left off, of what a piece selects. */
export function sinceOf(
  { markets = {}, events = {}, private: channels = [] }: Selection,
  known: ReadonlyMap<string, MarketView>,
  wallet: Pick<WalletView, "seqs">,
): Record<string, unknown> {
  const seqs = [...known]
    .filter(([marketId, { eventId }]) => marketId in markets || eventId in events)
    // Beyond that the exchange sends snapshots.
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

/** As a subscription has them: the lifecycle comes with every other channel. */
function listed(channels: Channels | undefined): readonly Channel[] {
  if (channels === undefined) return [];
  return ["lifecycle", ...(typeof channels === "string" ? [channels] : channels)];
}

function union(before: Channels | undefined, added: Channels): Channels {
  if (before === undefined) return added;
  const both = new Set([before, added].flat());
  return CHANNELS.filter((channel) => both.has(channel));
}
