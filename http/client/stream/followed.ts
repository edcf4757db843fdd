/**
 * State of the subjects that a stream client watches, folded from snapshots, deltas and heartbeats (contract section 6.7).
 * Its changes are reported to the listener; a gap in a seq and a wrong checksum of a book ask for a new snapshot.
 */

import { CHANNELS, PRIVATE_CHANNELS } from "../../../stream/ws/channels.js";
import {
  DeltaFrame,
  HeartbeatFrame,
  SnapshotFrame,
  type MarketBatches,
  type MarketSnapshot,
} from "../wire/stream.js";
import { fits } from "../wire/values.js";
import type { StreamListener } from "./listener.js";
import { MarketView } from "./market-view.js";
import { sinceOf, WatchedSubjects, type Selection } from "./selection.js";
import { WalletView } from "./wallet-view.js";

/** Names the private channels among the subjects. */
const PRIVATE = "PRIVATE";

export class Followed {
  readonly watched = new WatchedSubjects();
  readonly wallet = new WalletView();
  readonly #markets = new Map<string, MarketView>();
  /** Subjects that wait for a snapshot: market ids and `PRIVATE`. Their deltas are ignored, because the snapshot has them. */
  readonly #awaitingSnapshot = new Set<string>();

  /** `onGap` is called with a subject that needs a new snapshot: a market id or `PRIVATE`. */
  constructor(
    private readonly listener: StreamListener,
    private readonly onGap: (subject: string) => void,
  ) {}

  /** Returns the state of a market; `undefined` while it waits for a snapshot. */
  market(marketId: string): MarketView | undefined {
    return this.#awaitingSnapshot.has(marketId) ? undefined : this.#markets.get(marketId);
  }

  /** Returns the last seqs of a selection, from which it resumes. */
  since(selection: Selection): object {
    return sinceOf(selection, this.#markets, this.wallet);
  }

  /** Returns the selection of one subject with the channels that are watched of it. */
  selectionOf(subject: string): Selection {
    if (subject === PRIVATE) return { private: this.watched.private };
    const seqs = this.#markets.get(subject)?.seqs ?? {};
    return { markets: { [subject]: CHANNELS.filter((channel) => seqs[channel] !== undefined) } };
  }

  /** Forgets subjects, each named `market:<id>`, `event:<id>` or `PRIVATE`. */
  remove(subjects: readonly string[]): void {
    this.watched.remove(subjects);
    if (subjects.includes(PRIVATE)) this.wallet.clear();
    for (const [marketId, { eventId }] of this.#markets) {
      if (this.watched.channelsOf(marketId, eventId).length === 0) this.#markets.delete(marketId);
    }
  }

  /** Ignores the deltas of every subject until its snapshot arrives or `goOn` is called. */
  awaitSnapshots(): void {
    for (const marketId of this.#markets.keys()) this.#awaitingSnapshot.add(marketId);
    this.#awaitingSnapshot.add(PRIVATE);
  }

  /** Ends the wait of every subject: all of them have resumed. */
  goOn(): void {
    this.#awaitingSnapshot.clear();
  }

  /** Applies the answer to a subscribe or to a snapshot request. */
  apply(frame: SnapshotFrame): void {
    for (const [marketId, snapshot] of Object.entries(frame.snapshot)) {
      const market = this.#markets.get(marketId) ?? new MarketView(snapshot.eventId);
      this.#markets.set(marketId, market);
      market.replace(snapshot);
      this.#awaitingSnapshot.delete(marketId);
      this.#notifySnapshot(marketId, snapshot);
    }
    for (const subject of Object.keys(frame.resumed ?? {})) {
      this.#awaitingSnapshot.delete(
        subject.startsWith("market:") ? subject.slice("market:".length) : PRIVATE,
      );
    }
    if (frame.orders !== undefined || frame.positions !== undefined) this.#awaitingSnapshot.delete(PRIVATE);
    this.wallet.replace(frame);
    if (frame.orders !== undefined) this.listener.openOrders?.(frame.orders.open);
    if (frame.positions !== undefined) this.listener.positions?.(frame.positions.positions);
  }

  /** Applies a frame that answers no request. */
  receive(frame: unknown): void {
    if (fits(DeltaFrame, frame)) this.#fold(frame);
    else if (fits(HeartbeatFrame, frame)) this.#checkHeartbeat(frame);
    // Snapshot of a market that appeared in a watched event and whose first deltas are no longer available.
    else if (fits(SnapshotFrame, frame)) this.apply(frame);
  }

  #notifySnapshot(marketId: string, { lifecycle, book }: MarketSnapshot): void {
    if (lifecycle !== undefined) {
      this.listener.lifecycle?.(marketId, [{ kind: "SNAPSHOT", status: lifecycle.status }]);
    }
    if (book !== undefined) this.listener.book?.(marketId);
  }

  #fold(frame: DeltaFrame): void {
    for (const [marketId, batches] of Object.entries(frame.delta)) {
      if (!this.#awaitingSnapshot.has(marketId)) this.#foldMarket(marketId, batches);
    }
    for (const channel of PRIVATE_CHANNELS) {
      if (this.#awaitingSnapshot.has(PRIVATE)) return;
      const result = this.wallet.fold(channel, frame);
      if (result === "gap") this.#awaitSnapshot(PRIVATE);
      else if (result === "folded" && channel === "orders")
        this.listener.orders?.(frame.orders?.deltas ?? []);
      else if (result === "folded") this.listener.positions?.(frame.positions?.deltas ?? []);
    }
  }

  #foldMarket(marketId: string, batches: MarketBatches): void {
    const market = this.#markets.get(marketId) ?? this.#addAppeared(marketId, batches.eventId);
    for (const channel of CHANNELS) {
      const result = market.fold(channel, batches);
      if (result === "gap") {
        this.#awaitSnapshot(marketId);
        return;
      }
      if (result === "known") continue;
      if (channel === "lifecycle") this.listener.lifecycle?.(marketId, batches.lifecycle?.deltas ?? []);
      if (channel === "trades") this.listener.trades?.(marketId, batches.trades?.deltas ?? []);
      if (channel === "bbo") this.listener.bbo?.(marketId, batches.bbo?.deltas ?? []);
      if (channel === "book") this.listener.book?.(marketId);
    }
  }

  /** Adds a market that appeared in a watched event. */
  #addAppeared(marketId: string, eventId: string): MarketView {
    const market = new MarketView(eventId, this.watched.channelsOf(marketId, eventId));
    this.#markets.set(marketId, market);
    return market;
  }

  /** Asks for snapshots of subjects whose last seqs in a heartbeat this client has not received. */
  #checkHeartbeat(frame: HeartbeatFrame): void {
    if (!this.#awaitingSnapshot.has(PRIVATE) && this.wallet.differsFrom(frame)) this.#awaitSnapshot(PRIVATE);
    for (const [marketId, seqs] of Object.entries(frame.heartbeat.markets ?? {})) {
      if (this.market(marketId)?.differsFrom(seqs) === true) this.#awaitSnapshot(marketId);
    }
  }

  /** Ignores the deltas of a subject until a new snapshot of it arrives. */
  #awaitSnapshot(subject: string): void {
    this.#awaitingSnapshot.add(subject);
    this.onGap(subject);
  }
}
