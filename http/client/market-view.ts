/** One market as a client folds it from a snapshot and the batches after it (contract section 6). */

import { OrderBook } from "./book.js";
import type { Level, MarketBatches, MarketSnapshot } from "./wire.js";
import { CHANNELS, type Channel } from "../../stream/ws/channels.js";

/** What became of a batch: folded, known already, or not the next one. */
export type Taken = "folded" | "known" | "gap";

export class MarketView {
  readonly book = new OrderBook();
  /** By outcome, the best bid; `null`: there is none. */
  readonly bbo = new Map<string, Level | null>();
  status: string | undefined;
  readonly #seqs = new Map<Channel, number>();

  /** `channels` are those of a market that opened while its event was watched: it is known from its first delta on. */
  constructor(
    readonly eventId: string,
    channels: Iterable<Channel> = [],
  ) {
    for (const channel of channels) this.#seqs.set(channel, 0);
  }

  /** The last seq of every channel that is watched. */
  get seqs(): Readonly<Partial<Record<Channel, number>>> {
    return Object.fromEntries(this.#seqs);
  }

  watches(channel: Channel): boolean {
    return this.#seqs.has(channel);
  }

  /** Begins anew, with the channels that the snapshot has. */
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

  /** Folds the batch of one channel, if it is the next. */
  take(channel: Channel, { lifecycle, bbo, book, [channel]: batch }: MarketBatches): Taken {
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

  /** Whether a heartbeat knows of batches that are missing here, or of another book at the same seq. */
  differsFrom(heartbeat: Readonly<Record<string, number>>): boolean {
    for (const [channel, seq] of this.#seqs) if ((heartbeat[channel] ?? 0) > seq) return true;
    const { checksum } = heartbeat;
    if (checksum === undefined || heartbeat["book"] !== this.#seqs.get("book")) return false;
    return (this.book.checksum() ?? checksum) !== checksum;
  }
}
