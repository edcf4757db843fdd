/** Subscriptions of one socket, and the verbs that change or report them (contract sections 6.3 and 6.4). */

import { CURRENCIES } from "../../../actors/market/types.js";
import { bitOf, channelsOf, type Mask, type PrivateChannel, watches } from "../channels.js";
import { Unavailable } from "../../log/ports.js";
import { type LongWork, NotBegun, type Pieces } from "../../services/long-work.js";
import type { EventWatch } from "../market/event-watch.js";
import type { WatchedChannels } from "./faults.js";
import type { Outbox } from "./outbox.js";
import type { Caller } from "../ports.js";
import { MAX_CHARGE, MAX_WATCHED_MARKETS, Refusal, type Selection, type Since } from "./protocol.js";
import {
  channelNames,
  encodeInPieces,
  missedPrivateBatches,
  privateFrame,
  privateSnapshotFields,
  reply,
  resumedField,
  selectionOf,
  snapshotField,
  subscribedField,
} from "./replies.js";
import type { Replica } from "../market/replica.js";
import type { Rooms } from "../market/rooms.js";
import { isSmall, prepare, type Prepared, release, type Sources } from "./selection.js";
import type { WatchedWallet } from "../wallet/wallets.js";

/** Parts of the bridge that all of its sockets share. */
export interface Shared extends Sources {
  readonly longWork: LongWork;
  readonly rooms: Rooms;
  readonly events: EventWatch;
}

/** Bounds of the large answers of one trader. */
const LARGE_ANSWERS = { most: 32, waitMs: 10_000 };

interface WatchedMarket {
  readonly replica: Replica;
  readonly mask: Mask;
}

/** Subscriptions of one socket. */
export class Subscriptions {
  readonly #shared: Shared;
  readonly #caller: Caller;
  readonly #outbox: Outbox;
  /** Called when deltas of the wallet were lost, so that the client must reconnect. */
  readonly #onLost: () => void;
  /** Queues a market that appeared in a watched event behind the requests of the socket. */
  readonly #onAppeared: (marketId: string) => void;
  readonly #direct = new Map<string, Mask>();
  readonly #events = new Map<string, Mask>();
  readonly #markets = new Map<string, WatchedMarket>();
  readonly #private = new Set<PrivateChannel>();
  #wallet: Pick<WatchedWallet, "feed" | "stop"> | undefined;
  #stopPrivate: () => void = () => undefined;
  /** Aborted when the socket has ended. */
  readonly #ended = new AbortController();

  constructor(
    shared: Shared,
    caller: Caller,
    outbox: Outbox,
    hooks: { readonly onLost: () => void; readonly onAppeared: (marketId: string) => void },
  ) {
    this.#shared = shared;
    this.#caller = caller;
    this.#outbox = outbox;
    this.#onLost = hooks.onLost;
    this.#onAppeared = hooks.onAppeared;
  }

  /** Answers with a snapshot, or with the batches missed since `since`, and continues from there without a gap. */
  async subscribe(nonce: number, selection: Selection, since: Since | undefined): Promise<void> {
    await this.#inTurn(selection, since, (prepared) => this.#start(nonce, prepared, since));
  }

  #start(nonce: number, prepared: Prepared, since: Since | undefined): void {
    if (this.#isClosed()) {
      this.#release(prepared);
      return;
    }
    this.#requireCurrent(prepared);
    const { currency, markets, channels, wallet } = prepared;
    for (const [eventId, mask] of prepared.events)
      this.#events.set(eventId, (this.#events.get(eventId) ?? 0) | mask);
    for (const [marketId, mask] of prepared.direct)
      this.#direct.set(marketId, (this.#direct.get(marketId) ?? 0) | mask);
    const joined = markets.map(({ replica, mask, missed }) => {
      this.#watch(replica, mask);
      const resumed = missed?.finish();
      return { replica, mask, resumed };
    });
    const replayed = missedPrivateBatches(wallet, channels);
    const shown = channels.filter((channel) => !replayed.has(channel));
    const answer = reply(nonce, [
      subscribedField(prepared.direct, prepared.events, channels),
      snapshotField(
        joined.map(({ replica, mask, resumed }) => ({ replica, mask, resumed: resumed?.resumed ?? 0 })),
        currency,
      ),
      ...privateSnapshotFields(wallet?.feed, shown),
      ...(since === undefined ? [] : [resumedField(since, currency, joined, new Set(replayed.keys()))]),
    ]);
    const missed = joined.flatMap(({ resumed }) => resumed?.frames ?? []);
    const missedOwn = [...replayed.values()].flatMap(({ past, kept }) => [
      ...past,
      ...kept.map(privateFrame),
    ]);
    this.#outbox.answer(answer, [...missed, ...missedOwn]);
    if (wallet !== undefined) this.#watchWallet(wallet, channels);
  }

  /** Answers with the snapshot of a selection and changes no subscription. */
  async snapshot(nonce: number, selection: Selection): Promise<void> {
    await this.#inTurn(selection, undefined, (prepared) => this.#show(nonce, prepared));
  }

  #show(nonce: number, prepared: Prepared): void {
    if (this.#isClosed()) {
      this.#release(prepared);
      return;
    }
    this.#requireCurrent(prepared);
    const { currency, markets, channels, wallet } = prepared;
    for (const { replica } of markets) this.#shared.rooms.of(replica).flush();
    this.#outbox.answer(
      reply(nonce, [
        snapshotField(
          markets.map(({ replica, mask }) => ({ replica, mask, resumed: 0 })),
          currency,
        ),
        ...privateSnapshotFields(wallet?.feed, channels),
      ]),
    );
    this.#release(prepared);
  }

  /** Drops subjects. Returns those that were watched, with their channels. */
  async unsubscribe(subjects: readonly string[]): Promise<Readonly<Record<string, readonly string[]>>> {
    await this.#charge(Math.min(subjects.length, MAX_CHARGE));
    const dropped: Record<string, readonly string[]> = {};
    for (const subject of subjects) {
      const channels = this.#drop(subject);
      if (channels.length > 0) dropped[subject] = channels;
    }
    for (const marketId of [...this.#markets.keys()]) this.#updateChannels(marketId);
    return dropped;
  }

  /** Returns the current selection in the form of a subscribe, the number of watched markets and the tokens left. */
  async status(): Promise<object> {
    const { remaining } = await this.#charge(1);
    const coin = { markets: selectionOf(this.#direct, "COIN"), events: selectionOf(this.#events, "COIN") };
    const watchesCoin = Object.keys(coin.markets).length + Object.keys(coin.events).length > 0;
    return {
      selection: {
        markets: selectionOf(this.#direct, "CASH"),
        events: selectionOf(this.#events, "CASH"),
        private: [...this.#private],
      },
      ...(watchesCoin ? { coin: { ...coin, currency: "COIN" } } : {}),
      watchedMarkets: this.#markets.size,
      maxWatchedMarkets: MAX_WATCHED_MARKETS,
      tokens: remaining,
    };
  }

  /** Starts watching a market that appeared in a watched event, from its first delta if that is still available. */
  async addAppeared(marketId: string): Promise<void> {
    if (this.#markets.has(marketId) || this.#events.size === 0) return;
    const replica = await this.#shared.replicas.acquire(marketId);
    if (replica === undefined) return;
    let isWatched = false;
    try {
      isWatched = await this.#showFromStart(replica);
    } finally {
      if (!isWatched) this.#shared.replicas.release(marketId);
    }
  }

  /** Watches an acquired replica from its first batch. Returns false when nothing selects its market any more. */
  async #showFromStart(replica: Replica): Promise<boolean> {
    const { marketId } = replica;
    const mask = this.#maskOf(replica);
    if (this.#isClosed() || mask === 0) return false;
    const start = new Map<Mask, number>();
    for (const currency of CURRENCIES) {
      for (const channel of channelsOf(mask, currency)) start.set(bitOf(channel, currency), 0);
    }
    const missed = await replica.missed(start);
    const { resumed, frames } = missed.finish();
    if (this.#isClosed()) return false;
    if (!replica.isCurrent)
      throw new Unavailable(`the deltas of market ${marketId} were interrupted; try again`);
    this.#watch(replica, mask);
    if (resumed === mask) {
      for (const each of frames) this.#outbox.send(each);
      return true;
    }
    for (const currency of CURRENCIES) {
      if (currency === "COIN" && !watches(mask, currency)) continue;
      const snapshot = `{"${marketId}":${replica.market.snapshot(mask, currency)}}`;
      this.#outbox.send(`{"ts":${Date.now()},"snapshot":${snapshot}}`);
    }
    return true;
  }

  /** Returns the heartbeat frames: the last seq of every watched channel, one frame per currency. */
  heartbeats(): string[] {
    const frames: string[] = [];
    for (const currency of CURRENCIES) {
      const markets: string[] = [];
      for (const [marketId, { replica, mask }] of this.#markets) {
        if (currency === "COIN" && !watches(mask, currency)) continue;
        this.#shared.rooms.of(replica).flush();
        markets.push(`"${marketId}":${replica.market.heartbeat(mask, currency)}`);
      }
      if (currency === "COIN" && markets.length === 0) continue;
      const own = currency === "COIN" ? [`"currency":"COIN"`] : this.#privateSeqs();
      const body = [`"ts":${Date.now()}`, ...own, `"markets":{${markets.join(",")}}`];
      frames.push(`{"heartbeat":{${body.join(",")}}}`);
    }
    return frames;
  }

  /** Lists the watched markets, flushed, with their channels. */
  *watched(): Generator<WatchedChannels> {
    for (const { replica, mask } of this.#markets.values()) {
      this.#shared.rooms.of(replica).flush();
      yield { market: replica.market, mask };
    }
  }

  /** Drops every subscription. */
  close(): void {
    this.#ended.abort();
    this.#direct.clear();
    for (const eventId of this.#events.keys()) this.#shared.events.unwatch(eventId, this.#onAppeared);
    this.#events.clear();
    for (const marketId of [...this.#markets.keys()]) this.#updateChannels(marketId);
    this.#dropWallet();
  }

  /**
   * Prepares a selection and answers it: a small one at once, and a large one after those of all sockets of the trader.
   * A prepared selection collects deltas, so it does not wait for the turn. Throws `Refusal` `UNAVAILABLE`.
   */
  async #inTurn(
    selection: Selection,
    since: Since | undefined,
    answer: (prepared: Prepared) => void,
  ): Promise<void> {
    if (isSmall(this.#shared, this.#caller, selection, since)) {
      answer(await this.#prepare(selection, since));
      return;
    }
    const bounds = { ...LARGE_ANSWERS, signal: this.#ended.signal };
    try {
      await this.#shared.longWork.run(`stream ${this.#caller.traderId}`, bounds, async (pieces) => {
        const prepared = await this.#prepare(selection, since);
        await this.#prepareRows(prepared, pieces);
        await pieces.piece(() => answer(prepared));
      });
    } catch (error) {
      if (!(error instanceof NotBegun)) throw error;
      const message =
        "too many subscribes and snapshots of yours wait; nothing was done, so send it again later";
      throw new Refusal("UNAVAILABLE", message);
    }
  }

  /** Serializes the orders and positions that an answer shows, and the batches that it replays, in pieces. */
  async #prepareRows(prepared: Prepared, pieces: Pieces): Promise<void> {
    const { markets, wallet, channels } = prepared;
    const replayed = missedPrivateBatches(wallet, channels);
    const shown = channels.filter((channel) => !replayed.has(channel));
    try {
      for (const { missed } of markets) await missed?.prepare(pieces);
      for (const { kept } of replayed.values()) await encodeInPieces(kept, pieces);
      for (const channel of shown) await wallet?.feed.prepareSnapshot(channel, pieces);
    } catch (error) {
      this.#release(prepared);
      throw error;
    }
  }

  /** Prepares a selection. Watches events before their markets are listed, so that no market is missed in between. */
  async #prepare(selection: Selection, since: Since | undefined): Promise<Prepared> {
    const eventIds = Object.keys(selection.events);
    for (const eventId of eventIds) this.#shared.events.watch(eventId, this.#onAppeared);
    try {
      return await prepare(this.#shared, this.#caller, selection, since, {
        watched: this.#markets,
        charge: (cost) => this.#charge(cost),
        onLost: this.#onLost,
      });
    } catch (error) {
      this.#unwatchEvents(eventIds);
      throw error;
    }
  }

  /** Releases a selection and throws `Unavailable` when one of its markets has lost deltas since it was loaded. */
  #requireCurrent(prepared: Prepared): void {
    const lost = prepared.markets.find(({ replica }) => !replica.isCurrent);
    if (lost === undefined) return;
    this.#release(prepared);
    throw new Unavailable(`the deltas of market ${lost.replica.marketId} were interrupted; try again`);
  }

  /** Charges the `stream` bucket. Throws `Refusal` `RATE_LIMIT_EXCEEDED`. */
  async #charge(cost: number): Promise<{ readonly remaining: number }> {
    const { granted, remaining, retryAfterS } = await this.#shared.throttle.charge(
      this.#caller.payer,
      "stream",
      cost,
    );
    if (!granted)
      throw new Refusal("RATE_LIMIT_EXCEEDED", `the stream bucket is empty; retry after ${retryAfterS} s`);
    return { remaining };
  }

  /** Adds channels of a market. Keeps the acquired replica, or releases it when the socket watches the market already. */
  #watch(replica: Replica, mask: Mask): void {
    const { marketId } = replica;
    const room = this.#shared.rooms.of(replica);
    const before = this.#markets.get(marketId);
    if (before !== undefined) {
      this.#shared.replicas.release(marketId);
      room.leave(this.#outbox, before.mask);
    }
    const joined = mask | (before?.mask ?? 0);
    room.join(this.#outbox, joined);
    this.#markets.set(marketId, { replica, mask: joined });
  }

  /** Reduces the channels of a market to those of the remaining subjects. */
  #updateChannels(marketId: string): void {
    const watched = this.#markets.get(marketId);
    if (watched === undefined) return;
    const { replica, mask } = watched;
    const left = this.#maskOf(replica);
    if (left === mask) return;
    const room = this.#shared.rooms.of(replica);
    room.leave(this.#outbox, mask);
    if (left === 0) {
      this.#markets.delete(marketId);
      this.#shared.rooms.removeEmpty(marketId);
      this.#shared.replicas.release(marketId);
    } else {
      room.join(this.#outbox, left);
      this.#markets.set(marketId, { replica, mask: left });
    }
  }

  #maskOf({ marketId, market }: Replica): Mask {
    return (this.#direct.get(marketId) ?? 0) | (this.#events.get(market.identity.eventId) ?? 0);
  }

  /** Drops one subject and returns its channels. */
  #drop(subject: string): readonly string[] {
    if (subject === "PRIVATE") {
      const channels = [...this.#private];
      this.#dropWallet();
      return channels;
    }
    const [kind, id = ""] = subject.split(":");
    const subjects = kind === "event" ? this.#events : this.#direct;
    const mask = subjects.get(id) ?? 0;
    subjects.delete(id);
    if (kind === "event") this.#unwatchEvents([id]);
    return channelNames(mask);
  }

  /** Stops watching those of the events that are not subscribed. */
  #unwatchEvents(eventIds: Iterable<string>): void {
    for (const eventId of eventIds) {
      if (!this.#events.has(eventId)) this.#shared.events.unwatch(eventId, this.#onAppeared);
    }
  }

  /** Watches a wallet, without what it keeps of the batches that were missed. */
  #watchWallet({ feed, stop }: WatchedWallet, channels: readonly PrivateChannel[]): void {
    for (const channel of channels) this.#private.add(channel);
    if (this.#wallet !== undefined) {
      stop();
      return;
    }
    this.#wallet = { feed, stop };
    this.#stopPrivate = feed.onBatch(({ channel, frame }) => {
      if (this.#private.has(channel)) this.#outbox.sendPrivate(frame);
    });
  }

  #dropWallet(): void {
    this.#stopPrivate();
    this.#wallet?.stop();
    this.#wallet = undefined;
    this.#private.clear();
  }

  #privateSeqs(): string[] {
    const { feed } = this.#wallet ?? {};
    return feed === undefined ? [] : [...this.#private].map((channel) => `"${channel}":${feed.seq(channel)}`);
  }

  /** Releases a selection that is not subscribed to. */
  #release(prepared: Prepared): void {
    for (const { replica } of prepared.markets) this.#shared.rooms.removeEmpty(replica.marketId);
    release(this.#shared, prepared);
    this.#unwatchEvents(prepared.events.keys());
  }

  #isClosed(): boolean {
    return this.#ended.signal.aborted;
  }
}
