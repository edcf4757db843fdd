/** From a selection to everything it takes to answer it: checked against the cap, paid for, and loaded. */

import type { Currency } from "../../../actors/market/types.js";
import { bitOf, channelsOf, costOf, type Mask, maskOf } from "./channels.js";
import type { Caller, Catalog, Throttle } from "../ports.js";
import { MAX_CHARGE, MAX_WATCHED_MARKETS, Refusal, type Selection, type Since } from "./protocol.js";
import type { PendingResume, Replica, Replicas } from "../market/replica.js";
import type { PrivateChannel } from "../wallet/fold.js";
import type { WatchedWallet, Wallets } from "../wallet/wallets.js";

/** How many replicas one request loads at a time. */
const LOADS_AT_ONCE = 64;

export interface Sources {
  readonly replicas: Replicas;
  readonly wallets: Wallets;
  readonly catalog: Catalog;
  readonly throttle: Throttle;
}

export interface PreparedMarket {
  readonly replica: Replica;
  readonly mask: Mask;
  /** There when some of its channels are to be resumed. */
  readonly missed: PendingResume | undefined;
}

/** A selection with its events taken apart. It holds replicas and a wallet, which its owner gives back. */
export interface Prepared {
  readonly currency: Currency;
  /** The markets and the events that the selection names. */
  readonly direct: ReadonlyMap<string, Mask>;
  readonly events: ReadonlyMap<string, Mask>;
  /** All markets, those of the events too. */
  readonly markets: readonly PreparedMarket[];
  readonly channels: readonly PrivateChannel[];
  readonly wallet: WatchedWallet | undefined;
}

/** What preparing depends on of the socket it is for. */
export interface Watcher {
  readonly watched: ReadonlyMap<string, unknown>;
  charge(cost: number): Promise<unknown>;
  onLost(): void;
}

/**
 * Throws `Refusal`: `EMPTY_SELECTION`, `EVENT_NOT_FOUND`, `SUBSCRIPTION_LIMIT_EXCEEDED`, `RATE_LIMIT_EXCEEDED`,
 * `MARKET_NOT_FOUND`; and `Unavailable`. Nothing is held then.
 */
export async function prepare(
  sources: Sources,
  caller: Caller,
  selection: Selection,
  since: Since | undefined,
  watcher: Watcher,
): Promise<Prepared> {
  const { currency } = selection;
  const channels = [...new Set(selection.private)];
  const direct = masksOf(selection.markets, currency);
  const events = masksOf(selection.events, currency);
  if (direct.size + events.size + channels.length === 0) {
    throw new Refusal("EMPTY_SELECTION", "the selection names no market, no event and no private channel");
  }
  const wanted = await expand(sources.catalog, direct, events);
  if (new Set([...watcher.watched.keys(), ...wanted.keys()]).size > MAX_WATCHED_MARKETS) {
    throw new Refusal("SUBSCRIPTION_LIMIT_EXCEEDED", `a connection may watch ${MAX_WATCHED_MARKETS} markets`);
  }
  const pairs = [...wanted.values()].reduce((cost, mask) => cost + costOf(mask), channels.length);
  await watcher.charge(Math.min(pairs, MAX_CHARGE));
  const markets: PreparedMarket[] = [];
  try {
    await load(sources.replicas, wanted, currency, since, markets);
    const missing = [...direct.keys()].find((id) => !markets.some(({ replica }) => replica.marketId === id));
    if (missing !== undefined) throw new Refusal("MARKET_NOT_FOUND", `there is no market ${missing}`);
    const wallet =
      channels.length === 0
        ? undefined
        : await sources.wallets.watch(caller.traderId, caller.wallet, () => watcher.onLost(), since);
    return { currency, direct, events, markets, channels, wallet };
  } catch (error) {
    release(sources, { markets, wallet: undefined });
    throw error;
  }
}

/** Gives back what was prepared and is not used. */
export function release(sources: Sources, { markets, wallet }: Pick<Prepared, "markets" | "wallet">): void {
  for (const { replica, missed } of markets) {
    missed?.finish();
    sources.replicas.release(replica.marketId);
  }
  wallet?.stop();
}

function masksOf(subjects: Selection["markets"], currency: Currency): ReadonlyMap<string, Mask> {
  return new Map(Object.entries(subjects).map(([id, channels]) => [id, maskOf(channels, currency)]));
}

async function expand(
  catalog: Catalog,
  direct: ReadonlyMap<string, Mask>,
  events: ReadonlyMap<string, Mask>,
): Promise<ReadonlyMap<string, Mask>> {
  const wanted = new Map(direct);
  for (const [eventId, mask] of events) {
    const marketIds = await catalog.marketsOf(eventId);
    if (marketIds === undefined) throw new Refusal("EVENT_NOT_FOUND", `there is no event ${eventId}`);
    for (const marketId of marketIds) wanted.set(marketId, (wanted.get(marketId) ?? 0) | mask);
  }
  return wanted;
}

/** Adds to `loaded` as it goes, so that its owner can give back what was loaded before a failure. */
async function load(
  replicas: Replicas,
  wanted: ReadonlyMap<string, Mask>,
  currency: Currency,
  since: Since | undefined,
  loaded: PreparedMarket[],
): Promise<void> {
  const loadOne = async ([marketId, mask]: readonly [string, Mask]): Promise<void> => {
    const replica = await replicas.acquire(marketId);
    if (replica === undefined) return;
    try {
      if ((mask & bitOf("trades", currency)) !== 0) await replica.prepareTrades();
      const from = resumePoints(since, marketId, mask, currency);
      loaded.push({ replica, mask, missed: from.size === 0 ? undefined : await replica.missed(from) });
    } catch (error) {
      replicas.release(marketId);
      throw error;
    }
  };
  const all = [...wanted];
  for (let from = 0; from < all.length; from += LOADS_AT_ONCE) {
    const results = await Promise.allSettled(all.slice(from, from + LOADS_AT_ONCE).map(loadOne));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

function resumePoints(
  since: Since | undefined,
  marketId: string,
  mask: Mask,
  currency: Currency,
): ReadonlyMap<Mask, number> {
  const seqs = since?.markets.get(marketId);
  const from = new Map<Mask, number>();
  for (const channel of channelsOf(mask, currency)) {
    const seq = seqs?.[channel];
    if (seq !== undefined) from.set(bitOf(channel, currency), seq);
  }
  return from;
}
