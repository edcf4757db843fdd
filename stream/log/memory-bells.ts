/** Listening to bells and feeds of a `MemoryStore`: told in a microtask after the operation that rang. */

import type { ActorId } from "../../actors/actor.js";
import type { Keys } from "./keys.js";
import type { BellKind, FeedReader, Listener, Ring, Subscription } from "./log.js";
import type { MemoryStore } from "./memory-store.js";

export class MemoryListener implements Listener {
  readonly #store: MemoryStore;
  readonly #bellOf: (partition: string) => string;
  readonly #onRing: (ring: Ring) => void;
  readonly #stops: readonly (() => void)[];
  /** The last ring heard, by partition; undefined: everything has to be looked at. */
  readonly #heard = new Map<string, number | undefined>();
  #partitions = new Map<string, string>();
  readonly #rung = new Set<string>();

  constructor(
    store: MemoryStore,
    keys: Keys,
    kind: BellKind,
    onRing: (ring: Ring) => void,
    onLost: (listener: () => void) => () => void,
  ) {
    this.#store = store;
    this.#bellOf = (partition) => keys.bell(partition, kind);
    this.#onRing = onRing;
    const stopGrowth = store.onGrowth((key) => {
      const partition = this.#partitions.get(key);
      if (partition !== undefined) this.#schedule(partition);
    });
    const stopLost = onLost(() => {
      for (const partition of this.#heard.keys()) this.#restart(partition);
    });
    this.#stops = [stopGrowth, stopLost];
  }

  watch(partitions: readonly string[]): void {
    for (const partition of this.#heard.keys())
      if (!partitions.includes(partition)) this.#heard.delete(partition);
    this.#partitions = new Map(partitions.map((partition) => [this.#bellOf(partition), partition]));
    for (const partition of partitions) if (!this.#heard.has(partition)) this.#restart(partition);
  }

  #restart(partition: string): void {
    this.#heard.set(partition, undefined);
    this.#schedule(partition);
  }

  #schedule(partition: string): void {
    if (this.#rung.has(partition)) return;
    this.#rung.add(partition);
    queueMicrotask(() => {
      this.#rung.delete(partition);
      if (this.#heard.has(partition)) this.#hear(partition);
    });
  }

  #hear(partition: string): void {
    const bell = this.#bellOf(partition);
    const heard = this.#heard.get(partition);
    const { last } = this.#store.stream(bell);
    if (heard === undefined) {
      this.#heard.set(partition, last);
      this.#onRing({ partition, actors: [], lookAtAll: true });
      return;
    }
    const rings = this.#store.after(bell, heard, Infinity);
    const first = rings[0];
    if (first === undefined) return;
    this.#heard.set(partition, last);
    const actors = new Set(rings.flatMap(({ body }) => body.split(" ") as ActorId[]));
    this.#onRing({ partition, actors: [...actors], lookAtAll: first.id !== heard + 1 });
  }

  close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#heard.clear();
    return Promise.resolve();
  }
}

export class MemoryFeed implements Subscription {
  readonly #store: MemoryStore;
  readonly #key: string;
  readonly #reader: FeedReader;
  readonly #stop: () => void;
  #position: number;
  #scheduled = false;
  #closed = false;

  constructor(store: MemoryStore, key: string, reader: FeedReader) {
    this.#store = store;
    this.#key = key;
    this.#reader = reader;
    if (!store.exists(key)) store.trim(key, store.append(key, "") + 1);
    this.#position = store.stream(key).last;
    this.#stop = store.onGrowth((grown) => {
      if (grown === key) this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      if (!this.#closed) this.#read();
    });
  }

  #read(): void {
    const { last } = this.#store.stream(this.#key);
    const messages = this.#store.after(this.#key, this.#position, Infinity);
    const first = messages[0];
    if (last < this.#position || (first !== undefined && first.id !== this.#position + 1))
      this.#reader.onMissed();
    this.#position = last;
    if (messages.length > 0) this.#reader.onBodies(messages.map(({ body }) => body));
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    return Promise.resolve();
  }
}
