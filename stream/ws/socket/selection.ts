/** Prepares a selection for its answer: checks the cap, charges the bucket and loads replicas and wallet. */

import type { Currency } from "../../../actors/market/types.js";
import { bitOf, channelsOf, costOf, type Mask, maskOf, type PrivateChannel } from "../channels.js";
import type { Caller, Catalog, Throttle } from "../ports.js";
import { MAX_CHARGE, MAX_WATCHED_MARKETS, Refusal, type Selection, type Since } from "./protocol.js";
import type { Replica } from "../market/replica.js";
import type { PendingResume } from "../market/resume.js";
import type { Replicas } from "../market/replicas.js";
import type { WatchedWallet, Wallets } from "../wallet/wallets.js";

/** Number of replicas that one request loads at a time. */
const LOADS_AT_ONCE = 64;

/** Number of rows in an answer that is small. */
const FEW_ROWS = 500;
/** Cost of a market in an answer beside the orders of its book, in rows. */
const MARKET_ROWS = 10;

/** Sources of markets, wallets and reference data, shared by all sockets of a bridge. */
export interface Sources {
  readonly replicas: Replicas;
  readonly wallets: Wallets;
  readonly catalog: Catalog;
  readonly throttle: Throttle;
}

/** One market of a prepared selection. */
interface PreparedMarket {
  readonly replica: Replica;
  readonly mask: Mask;
  /** Set when some channels of the market are to be resumed. */
  readonly missed: PendingResume | undefined;
}

/** A selection with its events expanded to markets. The owner must release its replicas and its wallet. */
export interface Prepared {
  readonly currency: Currency;
  /** Markets that the selection names, without those of its events. */
  readonly direct: ReadonlyMap<string, Mask>;
  readonly events: ReadonlyMap<string, Mask>;
  /** All markets, including those of the events. */
  readonly markets: readonly PreparedMarket[];
  readonly channels: readonly PrivateChannel[];
  readonly wallet: WatchedWallet | undefined;
}

/** The socket for which a selection is prepared. */
export interface Watcher {
  /** Markets that the socket watches already, by id. */
  readonly watched: ReadonlyMap<string, unknown>;
  /** Charges the `stream` bucket. Throws `Refusal` `RATE_LIMIT_EXCEEDED`. */
  charge(cost: number): Promise<unknown>;
  /** Called when deltas of the wallet are lost after it was prepared. */
  onLost(): void;
}

/**
 * Checks, charges and loads a selection. Throws `Unavailable`, or `Refusal` with `EMPTY_SELECTION`, `EVENT_NOT_FOUND`,
 * `SUBSCRIPTION_LIMIT_EXCEEDED`, `RATE_LIMIT_EXCEEDED` or `MARKET_NOT_FOUND`; it then holds nothing.
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
    throw new Refusal("EMPTY_SELECTION", "the selection must name a market, an event or a private channel");
  }
  const wanted = await expand(sources.catalog, direct, events);
  if (new Set([...watcher.watched.keys(), ...wanted.keys()]).size > MAX_WATCHED_MARKETS) {
    throw new Refusal(
      "SUBSCRIPTION_LIMIT_EXCEEDED",
      `a connection may watch at most ${MAX_WATCHED_MARKETS} markets; unsubscribe from some or use another connection`,
    );
  }
  const pairs = [...wanted.values()].reduce((cost, mask) => cost + costOf(mask), channels.length);
  await watcher.charge(Math.min(pairs, MAX_CHARGE));
  const markets: PreparedMarket[] = [];
  try {
    await load(sources, { wanted, direct, currency, since }, markets);
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

/**
 * Returns whether the answer to a selection is small, such as a resume of few batches or a book of few orders, and nothing
 * must be loaded for it.
 */
export function isSmall(
  { replicas, wallets }: Sources,
  { wallet }: Caller,
  selection: Selection,
  since: Since | undefined,
): boolean {
  const { currency } = selection;
  if (Object.keys(selection.events).length > 0) return false;
  let rows = 0;
  for (const channel of selection.private) rows += wallets.shownBy(wallet, channel, since?.[channel]);
  for (const [marketId, channels] of Object.entries(selection.markets)) {
    const market = replicas.loaded(marketId)?.market;
    if (market === undefined) return false;
    const seqs = since?.markets.get(marketId) ?? {};
    rows += MARKET_ROWS;
    for (const channel of channels) {
      const seq = seqs[channel];
      if (seq !== undefined) rows += Math.max(0, market.seq(channel, currency) - seq);
      else if (channel === "book") rows += market.orderCount(currency);
    }
  }
  return rows <= FEW_ROWS;
}

/** Releases the replicas and the wallet of a prepared selection. */
export function release(sources: Sources, { markets, wallet }: Pick<Prepared, "markets" | "wallet">): void {
  for (const { replica, missed } of markets) {
    missed?.cancel();
    sources.replicas.release(replica.marketId);
  }
  wallet?.stop();
}

function masksOf(subjects: Selection["markets"], currency: Currency): ReadonlyMap<string, Mask> {
  return new Map(Object.entries(subjects).map(([id, channels]) => [id, maskOf(channels, currency)]));
}

/** Adds the markets of the events to the named markets. Throws `Refusal` `EVENT_NOT_FOUND`. */
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

interface Wanted extends Pick<Prepared, "currency" | "direct"> {
  /** All markets, those of the events included. */
  readonly wanted: ReadonlyMap<string, Mask>;
  readonly since: Since | undefined;
}

/**
 * Loads the wanted markets into `loaded` one by one, so that the caller can release them after a failure. Leaves out
 * markets that do not exist, and named ones that are not listed.
 */
async function load(
  { replicas, catalog }: Sources,
  { wanted, direct, currency, since }: Wanted,
  loaded: PreparedMarket[],
): Promise<void> {
  const listed = direct.size === 0 ? new Set() : await catalog.listed([...direct.keys()]);
  const loadOne = async ([marketId, mask]: readonly [string, Mask]): Promise<void> => {
    if (direct.has(marketId) && !listed.has(marketId)) return;
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

/** Returns the seqs to resume a market from, by bit. */
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
