/** One market, folded from a snapshot and the batches after it (contract section 6.7). */

import { OrderBook } from "./book.js";
import type { Level, MarketBatches, MarketSnapshot } from "../wire/stream.js";
import { CHANNELS, type Channel } from "../../../stream/ws/channels.js";

/** Result of folding a batch: folded, already known, or not the next one. */
export type FoldResult = "folded" | "known" | "gap";

/** State of one watched market. Fields of channels that are not watched stay empty. */
export class MarketView {
  readonly book = new OrderBook();
  /** Best bid by outcome id; `null` when the outcome has no bid. */
  readonly bbo = new Map<string, Level | null>();
  /** Market status, `undefined` until it is received. */
  status: string | undefined;
  readonly #seqs = new Map<Channel, number>();

  /** `channels` start at seq 0: those of a market that appears in a watched event and is known from its first delta. */
  constructor(
    readonly eventId: string,
    channels: Iterable<Channel> = [],
  ) {
    for (const channel of channels) this.#seqs.set(channel, 0);
  }

  /** Last seq of every watched channel. */
  get seqs(): Readonly<Partial<Record<Channel, number>>> {
    return Object.fromEntries(this.#seqs);
  }

  /** Returns true when the channel is watched. */
  watches(channel: Channel): boolean {
    return this.#seqs.has(channel);
  }

  /** Replaces the state of the channels that the snapshot has. */
  replace(snapshot: MarketSnapshot): void {
    const { lifecycle, bbo, book } = snapshot;
    for (const channel of CHANNELS) {
      const seq = snapshot[channel]?.seq;
      if (seq !== undefined) this.#seqs.set(channel, seq);
    }
    if (lifecycle !== undefined) this.status = lifecycle.status;
    if (book !== undefined) this.book.replace(book);
    if (bbo === undefined) return;
    this.bbo.clear();
    for (const [outcomeId, level] of Object.entries(bbo.bbo)) this.bbo.set(outcomeId, level);
  }

  /** Folds the batch of one channel if it is the next one. */
  fold(channel: Channel, { lifecycle, bbo, book, [channel]: batch }: MarketBatches): FoldResult {
    const last = this.#seqs.get(channel);
    if (batch === undefined || last === undefined || batch.seq <= last) return "known";
    if (batch.seq > last + 1) return "gap";
    this.#seqs.set(channel, batch.seq);
    if (channel === "book" && book !== undefined) this.book.apply(book.seq, book.deltas);
    if (channel === "lifecycle") this.status = lifecycle?.deltas.at(-1)?.status ?? this.status;
    if (channel === "bbo") {
      for (const { outcomeId, bbo: level } of bbo?.deltas ?? []) this.bbo.set(outcomeId, level ?? null);
    }
    return "folded";
  }

  /** Returns true when a heartbeat has a later seq, or another checksum of the book at the same seq. */
  differsFrom(heartbeat: Readonly<Record<string, number>>): boolean {
    for (const [channel, seq] of this.#seqs) if ((heartbeat[channel] ?? 0) > seq) return true;
    const { checksum } = heartbeat;
    if (checksum === undefined || heartbeat["book"] !== this.#seqs.get("book")) return false;
    return (this.book.checksum() ?? checksum) !== checksum;
  }
}
