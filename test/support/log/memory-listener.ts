/** Listening to bells and feeds of a `MemoryStore`: told in a microtask after the operation that told them. */

import { parseRing } from "../../../stream/log/notifications.js";
import type { FeedReader, Listener, Ring, Subscription } from "../../../stream/log/log.js";
import type { MemoryStore } from "./memory-store.js";

interface Ports {
  readonly store: MemoryStore;
  readonly onLost: (listener: () => void) => () => void;
}

export interface MemoryListenerPorts extends Ports {
  /** The key of the bell that a partition rings. */
  readonly bellOf: (partition: string) => string;
  readonly onRing: (ring: Ring) => void;
}

export class MemoryListener implements Listener {
  readonly #ports: MemoryListenerPorts;
  readonly #stops: readonly (() => void)[];
  #watched: ReadonlySet<string> = new Set();
  #bells: ReadonlySet<string> = new Set();

  constructor(ports: MemoryListenerPorts) {
    this.#ports = ports;
    const stopHearing = ports.store.onTold((bell, text) => {
      if (this.#bells.has(bell)) queueMicrotask(() => this.#rang(text));
    });
    const stopLost = ports.onLost(() => this.#lookAtAll(this.#watched));
    this.#stops = [stopHearing, stopLost];
  }

  watch(partitions: readonly string[]): void {
    const fresh = partitions.filter((partition) => !this.#watched.has(partition));
    this.#watched = new Set(partitions);
    this.#bells = new Set(partitions.map(this.#ports.bellOf));
    this.#lookAtAll(fresh);
  }

  #lookAtAll(partitions: Iterable<string>): void {
    for (const partition of partitions) {
      queueMicrotask(() => {
        if (this.#watched.has(partition)) this.#ports.onRing({ partition, rung: [], lookAtAll: true });
      });
    }
  }

  #rang(text: string): void {
    for (const ring of parseRing(text, this.#watched).rings) this.#ports.onRing(ring);
  }

  close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#watched = new Set();
    this.#bells = new Set();
    return Promise.resolve();
  }
}

export class MemoryFeed implements Subscription {
  readonly #stops: readonly (() => void)[];
  #closed = false;

  constructor({ store, onLost }: Ports, feed: string, reader: FeedReader) {
    const later = (tell: () => void): void => {
      queueMicrotask(() => {
        if (!this.#closed) tell();
      });
    };
    const stopHearing = store.onTold((channel, body) => {
      if (channel === feed) later(() => reader.onBody(body));
    });
    this.#stops = [stopHearing, onLost(() => later(() => reader.onMissed()))];
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    return Promise.resolve();
  }
}
