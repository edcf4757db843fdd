/** Delta streams in memory, delivered at times that the randomness of the test decides. */

import type { ActorId, Batch } from "../../../../actors/actor.js";
import type { AnyDelta, EarlierEntry, Entry, Tail } from "../../../../stream/log/ports.js";

/** Returns a whole number below `n`. */
export type Random = (n: number) => number;

interface Follower {
  readonly actor: ActorId;
  position: number;
  readonly onEntries: (entries: readonly Entry[]) => void;
  readonly onGap: () => void;
  stopped: boolean;
  scheduled: boolean;
}

export class MemoryTail implements Tail {
  readonly #entries = new Map<ActorId, Entry[]>();
  readonly #followers = new Set<Follower>();
  readonly #random: Random;

  /** Returns the size of an entry, as far as those who read earlier ones can tell. */
  bytesOf: (seq: number) => number = () => 1;
  /** Number of calls of `read`. */
  reads = 0;
  /** Seq of an entry that cannot be parsed. */
  unreadable: number | undefined;

  constructor(random: Random = () => 0) {
    this.#random = random;
  }

  get followers(): number {
    return this.#followers.size;
  }

  /** The actors that are followed. */
  get followed(): readonly ActorId[] {
    return [...new Set([...this.#followers].map(({ actor }) => actor))];
  }

  commit(actor: ActorId, batches: readonly Batch<AnyDelta>[]): void {
    const entries = this.#entries.get(actor) ?? [];
    this.#entries.set(actor, entries);
    const seq = (entries.at(-1)?.seq ?? 0) + 1;
    entries.push({ actor, seq, batches, cursor: "0-0", sources: {}, answers: [] });
    for (const follower of this.#followers) if (follower.actor === actor) this.#schedule(follower);
  }

  /** Removes the entries below `seq` but the last one. A follower that has not read them gets a gap. */
  trim(actor: ActorId, seq: number): void {
    const entries = this.#entries.get(actor) ?? [];
    const last = entries.at(-1)?.seq ?? 0;
    this.#entries.set(
      actor,
      entries.filter((entry) => entry.seq >= Math.min(seq, last)),
    );
  }

  last(actor: ActorId): number {
    return this.#entries.get(actor)?.at(-1)?.seq ?? 0;
  }

  head(actor: ActorId): Promise<number> {
    return Promise.resolve(this.last(actor));
  }

  read<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    throughSeq: number,
  ): Promise<readonly EarlierEntry<Delta>[] | undefined> {
    this.reads += 1;
    const entries = (this.#entries.get(actor) ?? []).filter(
      ({ seq }) => seq > afterSeq && seq <= throughSeq,
    ) as unknown as Entry<Delta>[];
    const isWhole = entries.length === throughSeq - afterSeq;
    const stored = entries.map((entry) => ({
      bytes: this.bytesOf(entry.seq),
      parse: () => (entry.seq === this.unreadable ? undefined : entry),
    }));
    return Promise.resolve(isWhole && stored[0]?.parse() !== undefined ? stored : undefined);
  }

  follow<Delta extends AnyDelta>(
    actor: ActorId,
    afterSeq: number,
    onEntries: (entries: readonly Entry<Delta>[]) => void,
    onGap: () => void,
  ): () => void {
    const take = onEntries as (entries: readonly Entry[]) => void;
    const follower = { actor, position: afterSeq, onEntries: take, onGap, stopped: false, scheduled: false };
    this.#followers.add(follower);
    this.#schedule(follower);
    return () => {
      follower.stopped = true;
      this.#followers.delete(follower);
    };
  }

  #schedule(follower: Follower): void {
    if (follower.scheduled || follower.stopped) return;
    follower.scheduled = true;
    this.#later(() => {
      follower.scheduled = false;
      this.#deliver(follower);
    });
  }

  #deliver(follower: Follower): void {
    if (follower.stopped) return;
    const fresh = (this.#entries.get(follower.actor) ?? []).filter(({ seq }) => seq > follower.position);
    const first = fresh[0];
    if (first === undefined) return;
    if (first.seq !== follower.position + 1) {
      follower.stopped = true;
      this.#followers.delete(follower);
      follower.onGap();
      return;
    }
    const delivered = fresh.slice(0, 1 + this.#random(fresh.length));
    follower.position += delivered.length;
    follower.onEntries(delivered);
    if (delivered.length < fresh.length) this.#schedule(follower);
  }

  #later(task: () => void): void {
    const wait = this.#random(4);
    if (wait === 0) queueMicrotask(task);
    else if (wait < 3) setImmediate(task);
    else setTimeout(task, 1);
  }
}
