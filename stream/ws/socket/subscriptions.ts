/** What one socket watches, and the verbs that change or show it (contract section 6). */

import { CURRENCIES } from "../../../actors/market/types.js";
import { bitOf, channelsOf, type Mask, watches } from "./channels.js";
import type { EventWatch } from "../market/event-watch.js";
import type { WatchedChannels } from "./faults.js";
import type { Outbox } from "./outbox.js";
import type { Caller } from "../ports.js";
import { MAX_CHARGE, MAX_WATCHED_MARKETS, Refusal, type Selection, type Since } from "./protocol.js";
import {
  channelNames,
  missedPrivateBatches,
  privateSnapshotFields,
  reply,
  resumedField,
  selectionOf,
  snapshotField,
  subscribedField,
} from "./replies.js";
import type { Replica } from "../market/replica.js";
import type { Rooms } from "../market/rooms.js";
import { prepare, type Prepared, release, type Sources } from "./selection.js";
import type { PrivateChannel } from "../wallet/fold.js";
import type { WatchedWallet } from "../wallet/wallets.js";
import { marketFrames } from "../wire.js";

/** What the bridge shares between its sockets. */
export interface Shared extends Sources {
  readonly rooms: Rooms;
  readonly events: EventWatch;
}

interface WatchedMarket {
  readonly replica: Replica;
  readonly mask: Mask;
}

export class Subscriptions {
  readonly #shared: Shared;
  readonly #caller: Caller;
  readonly #outbox: Outbox;
  /** Called when the private stream lost deltas and the client has to begin again. */
  readonly #onLost: () => void;
  /** Puts a market of a watched event, that just appeared, in line with the socket's requests. */
  readonly #onAppeared: (marketId: string) => void;
  readonly #direct = new Map<string, Mask>();
  readonly #events = new Map<string, Mask>();
  readonly #markets = new Map<string, WatchedMarket>();
  readonly #private = new Set<PrivateChannel>();
  #wallet: WatchedWallet | undefined;
  #stopPrivate: () => void = () => undefined;
  #closed = false;

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

  /** Answers with a snapshot, or with what was missed since a resumed seq, and goes on from there without a gap. */
  async subscribe(nonce: number, selection: Selection, since: Since | undefined): Promise<void> {
    const prepared = await this.#prepare(selection, since);
    if (this.#closed) {
      this.#release(prepared);
      return;
    }
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
    const replayed = missedPrivateBatches(wallet, channels, since);
    const shown = channels.filter((channel) => !replayed.has(channel));
    const answer = [
      reply(nonce, [
        subscribedField(prepared.direct, prepared.events, channels),
        snapshotField(
          joined.map(({ replica, mask, resumed }) => ({ replica, mask, resumed: resumed?.resumed ?? 0 })),
          currency,
        ),
        ...privateSnapshotFields(wallet?.feed, shown),
        ...(since === undefined ? [] : [resumedField(since, currency, joined, new Set(replayed.keys()))]),
      ]),
    ];
    for (const { replica, mask, resumed } of joined) {
      for (const batch of resumed?.batches ?? [])
        answer.push(...marketFrames(replica.market.identity, batch, mask));
    }
    for (const batches of replayed.values()) answer.push(...batches.map(({ frame }) => frame));
    this.#outbox.answer(answer);
    if (wallet !== undefined) this.#watchWallet(wallet, channels);
  }

  /** The snapshot of a selection; changes nothing. */
  async snapshot(nonce: number, selection: Selection): Promise<void> {
    const prepared = await this.#prepare(selection, undefined);
    const { currency, markets, channels, wallet } = prepared;
    for (const { replica } of markets) this.#shared.rooms.of(replica).flush();
    this.#outbox.answer([
      reply(nonce, [
        snapshotField(
          markets.map(({ replica, mask }) => ({ replica, mask, resumed: 0 })),
          currency,
        ),
        ...privateSnapshotFields(wallet?.feed, channels),
      ]),
    ]);
    this.#release(prepared);
  }

  /** Drops subjects, and answers with those that were watched and their channels. */
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

  /** The selection in force, in the form of a subscribe, how many markets it watches, and the tokens left. */
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

  /** Begins to watch a market that appeared in a watched event, from its first delta on. */
  async addAppeared(marketId: string): Promise<void> {
    if (this.#markets.has(marketId) || this.#events.size === 0) return;
    const replica = await this.#shared.replicas.acquire(marketId);
    if (replica === undefined) return;
    const mask = this.#maskOf(replica);
    if (this.#closed || mask === 0) {
      this.#shared.replicas.release(marketId);
      return;
    }
    const start = new Map<Mask, number>();
    for (const currency of CURRENCIES) {
      for (const channel of channelsOf(mask, currency)) start.set(bitOf(channel, currency), 0);
    }
    const missed = await replica.missed(start);
    const { resumed, batches } = missed.finish();
    if (this.#isClosed()) {
      this.#shared.replicas.release(marketId);
      return;
    }
    this.#watch(replica, mask);
    if (resumed === mask) {
      for (const batch of batches) {
        for (const frame of marketFrames(replica.market.identity, batch, mask)) this.#outbox.send(frame);
      }
      return;
    }
    for (const currency of CURRENCIES) {
      if (currency === "COIN" && !watches(mask, currency)) continue;
      const snapshot = `{"${marketId}":${replica.market.snapshot(mask, currency)}}`;
      this.#outbox.send(`{"ts":${Date.now()},"snapshot":${snapshot}}`);
    }
  }

  /** The heartbeat frames: the last seq of everything watched, one frame per currency. */
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

  *watched(): Generator<WatchedChannels> {
    for (const { replica, mask } of this.#markets.values()) {
      this.#shared.rooms.of(replica).flush();
      yield { market: replica.market, mask };
    }
  }

  close(): void {
    this.#closed = true;
    this.#direct.clear();
    for (const eventId of this.#events.keys()) this.#shared.events.unwatch(eventId, this.#onAppeared);
    this.#events.clear();
    for (const marketId of [...this.#markets.keys()]) this.#updateChannels(marketId);
    this.#dropWallet();
  }

  /** Events are watched before they are listed, so that a market which opens meanwhile is not missed. */
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

  async #charge(cost: number): Promise<{ readonly remaining: number }> {
    const { granted, remaining, retryAfterS } = await this.#shared.throttle.charge(
      this.#caller.keyId,
      "stream",
      cost,
    );
    if (!granted)
      throw new Refusal("RATE_LIMIT_EXCEEDED", `the stream bucket is empty; retry after ${retryAfterS} s`);
    return { remaining };
  }

  /** Adds channels of a market whose replica was acquired for it, or gives the replica back when it had one. */
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

  /** Brings a market's channels in line with the subjects that are left. */
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

  #unwatchEvents(eventIds: Iterable<string>): void {
    for (const eventId of eventIds) {
      if (!this.#events.has(eventId)) this.#shared.events.unwatch(eventId, this.#onAppeared);
    }
  }

  #watchWallet(wallet: WatchedWallet, channels: readonly PrivateChannel[]): void {
    for (const channel of channels) this.#private.add(channel);
    if (this.#wallet !== undefined) {
      wallet.stop();
      return;
    }
    this.#wallet = wallet;
    this.#stopPrivate = wallet.feed.onBatch(({ channel, frame }) => {
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

  #release(prepared: Prepared): void {
    for (const { replica } of prepared.markets) this.#shared.rooms.removeEmpty(replica.marketId);
    release(this.#shared, prepared);
    this.#unwatchEvents(prepared.events.keys());
  }

  #isClosed(): boolean {
    return this.#closed;
  }
}
