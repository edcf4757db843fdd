/** Resume of the channels of one market: the batches that a watcher has missed, as frames. */

import type { Pieces } from "../../services/long-work.js";
import type { Mask } from "../channels.js";
import type { MarketIdentity } from "../ports.js";
import { joinFrames, textFrame } from "../socket/outbox.js";
import { marketFrames, type PublicBatch } from "../wire.js";

/** Batches whose frames are made at once, which takes about 1 ms. */
const SLICE_BATCHES = 250;

/** Seqs of channels, by bit. */
export type Seqs = ReadonlyMap<Mask, number>;

/** Channels that are resumed, and the frames that bring them up to date; each buffer holds whole frames. */
export interface Resumed {
  readonly resumed: Mask;
  readonly frames: readonly Buffer[];
}

/**
 * The frames of missed batches that were committed before the resume began. They are made window by window, from the
 * latest to the first, so that no batch stays on the heap until all are read.
 */
export class PastFrames {
  readonly #identity: MarketIdentity;
  readonly #since: Seqs;
  /** Number of missed batches of each channel that are not added yet. */
  readonly #left: Map<Mask, number>;
  /** Frames of each window that was added. */
  readonly #windows: Buffer[][] = [];

  /** `since` and `now` are the last seqs of the watcher and of the market. */
  constructor(identity: MarketIdentity, since: Seqs, now: Seqs) {
    this.#identity = identity;
    this.#since = since;
    this.#left = new Map([...since].map(([bit, seq]) => [bit, (now.get(bit) ?? 0) - seq]));
  }

  /** Channels of which every missed batch is present, with the seqs of the watcher. */
  get complete(): Seqs {
    return new Map([...this.#since].filter(([bit]) => this.#left.get(bit) === 0));
  }

  isComplete(): boolean {
    return this.complete.size === this.#since.size;
  }

  /** Frames from the first to the latest. */
  get frames(): readonly Buffer[] {
    return this.#windows.toReversed().flat();
  }

  /** Adds the batches before those that were added. */
  add(batches: readonly PublicBatch[]): void {
    for (const { parts } of batches) {
      for (const { bit, seq } of parts)
        if (seq > (this.#since.get(bit) ?? Infinity)) this.#left.set(bit, (this.#left.get(bit) ?? 0) - 1);
    }
    this.#windows.push(framesOf(this.#identity, batches, this.#since));
  }
}

/** Source of a resume. */
export interface ResumeSource {
  readonly identity: MarketIdentity;
  /** Last seqs of the watcher, for the channels of which every past batch is present. */
  readonly since: Seqs;
  /** Last seqs of the market when the resume began. */
  readonly began: Seqs;
  /** Frames of the batches from before the resume began. */
  readonly past: readonly Buffer[];
  /** Batches since then, which still come. */
  readonly recorded: readonly PublicBatch[];
  readonly stopRecording: () => void;
  readonly seqNow: (bit: Mask) => number;
}

/** A resume that records batches until `finish` or `cancel`, one of which must be called. */
export class PendingResume {
  readonly #source: ResumeSource;
  /** Frames of the first recorded batches. */
  readonly #made: Buffer[] = [];
  #madeBatches = 0;

  constructor(source: ResumeSource) {
    this.#source = source;
  }

  /** Makes the frames of the batches that were recorded so far in pieces, so that `finish` makes few. */
  async prepare(pieces: Pieces): Promise<void> {
    const batches = this.#source.recorded.length;
    while (this.#madeBatches < batches)
      await pieces.piece(() => this.#makeFrames(Math.min(batches, this.#madeBatches + SLICE_BATCHES)));
  }

  /** Ends a resume that nobody waits for. */
  cancel(): void {
    this.#source.stopRecording();
  }

  /**
   * Returns the frames of every batch after the seqs of the watcher up to now, so that the next batch follows them. No
   * channel is resumed when batches were lost meanwhile.
   */
  finish(): Resumed {
    const { since, past, recorded, stopRecording } = this.#source;
    stopRecording();
    if (since.size === 0 || !this.#isWhole()) return { resumed: 0, frames: [] };
    this.#makeFrames(recorded.length);
    return { resumed: maskOf(since), frames: [...past, ...this.#made] };
  }

  /** Returns whether the recorded batches lead from the start of the resume to the present. */
  #isWhole(): boolean {
    const { since, began, recorded, seqNow } = this.#source;
    const counts = new Map<Mask, number>();
    for (const { parts } of recorded)
      for (const { bit } of parts) counts.set(bit, (counts.get(bit) ?? 0) + 1);
    return [...since.keys()].every((bit) => (began.get(bit) ?? 0) + (counts.get(bit) ?? 0) === seqNow(bit));
  }

  /** Makes the frames of the next recorded batches, up to a number of them. */
  #makeFrames(upTo: number): void {
    const { identity, recorded, since } = this.#source;
    this.#made.push(...framesOf(identity, recorded.slice(this.#madeBatches, upTo), since));
    this.#madeBatches = upTo;
  }
}

/** Returns the channels that have a seq. */
function maskOf(seqs: Seqs): Mask {
  return [...seqs.keys()].reduce((mask, bit) => mask | bit, 0);
}

/** Returns the frames of the channels of `since`, with the batches after its seqs. */
function framesOf(identity: MarketIdentity, batches: readonly PublicBatch[], since: Seqs): Buffer[] {
  const mask = maskOf(since);
  const frames = batches.flatMap(({ ts, parts }) => {
    const missed = parts.filter(({ bit, seq }) => seq > (since.get(bit) ?? Infinity));
    return marketFrames(identity, { ts, parts: missed }, mask).map(textFrame);
  });
  return joinFrames(frames);
}
