/** Resume of the channels of one market: the batches that a watcher has missed, as frames. */

import type { Pieces } from "../../services/long-work.js";
import type { Mask } from "../channels.js";
import type { MarketIdentity } from "../ports.js";
import { textFrame } from "../socket/outbox.js";
import { marketFrames, type PublicBatch } from "../wire.js";

/** Batches whose frames are made at once, which takes about 1 ms. */
const SLICE_BATCHES = 250;

/** Channels that are resumed, and the frames that bring them up to date; each buffer holds whole frames. */
export interface Resumed {
  readonly resumed: Mask;
  readonly frames: readonly Buffer[];
}

/** Source of a resume. */
export interface ResumeSource {
  readonly identity: MarketIdentity;
  /** Last seqs that the watcher has, by bit. */
  readonly since: ReadonlyMap<Mask, number>;
  /** Batches from before the resume began. */
  readonly past: readonly PublicBatch[];
  /** Batches since then, which still come. */
  readonly recorded: readonly PublicBatch[];
  readonly stopRecording: () => void;
  readonly seqNow: (bit: Mask) => number;
}

/** A resume that records batches until `finish` or `cancel`, one of which must be called. */
export class PendingResume {
  readonly #source: ResumeSource;
  /** Frames of the first batches, made for the channels that were complete then. */
  #made:
    { readonly complete: Mask; readonly batches: number; readonly frames: readonly Buffer[] } | undefined;

  constructor(source: ResumeSource) {
    this.#source = source;
  }

  /** Makes the frames of the batches so far in pieces, so that `finish` makes few. */
  async prepare(pieces: Pieces): Promise<void> {
    const batches = this.#batches();
    const complete = this.#complete(batches);
    const frames: Buffer[] = [];
    for (let from = 0; from < batches.length; from += SLICE_BATCHES) {
      const slice = batches.slice(from, from + SLICE_BATCHES);
      frames.push(await pieces.piece(() => this.#framesOf(slice, complete)));
    }
    this.#made = { complete, batches: batches.length, frames };
  }

  /** Ends a resume that nobody waits for. */
  cancel(): void {
    this.#source.stopRecording();
  }

  /**
   * Returns the frames of every batch after the seqs of the watcher up to now, so that the next batch follows them. A
   * channel is resumed when each of its batches is present.
   */
  finish(): Resumed {
    this.#source.stopRecording();
    const batches = this.#batches();
    const resumed = this.#complete(batches);
    // A reload in between may have changed which channels are complete.
    const made = this.#made?.complete === resumed ? this.#made : { batches: 0, frames: [] };
    const last = this.#framesOf(batches.slice(made.batches), resumed);
    return { resumed, frames: [...made.frames, last].filter(({ length }) => length > 0) };
  }

  #batches(): readonly PublicBatch[] {
    return [...this.#source.past, ...this.#source.recorded];
  }

  /** Returns the channels of which the batches have every seq after that of the watcher. */
  #complete(batches: readonly PublicBatch[]): Mask {
    const { since, seqNow } = this.#source;
    const missed = new Map<Mask, number>();
    for (const { parts } of batches) {
      for (const { bit, seq } of parts)
        if (seq > (since.get(bit) ?? Infinity)) missed.set(bit, (missed.get(bit) ?? 0) + 1);
    }
    let complete = 0;
    for (const [bit, from] of since) if ((missed.get(bit) ?? 0) === seqNow(bit) - from) complete |= bit;
    return complete;
  }

  #framesOf(batches: readonly PublicBatch[], mask: Mask): Buffer {
    const { identity, since } = this.#source;
    const frames = batches.flatMap(({ ts, parts }) => {
      const missed = parts.filter(({ bit, seq }) => seq > (since.get(bit) ?? Infinity));
      return marketFrames(identity, { ts, parts: missed }, mask).map(textFrame);
    });
    return Buffer.concat(frames);
  }
}
