/** Listening to bells and feeds of a `MemoryStore`: told in a microtask after the operation that told them. */

import { parseNotification } from "../../../stream/log/notifications.js";
import type { FeedReader, Listener, Notification, Subscription } from "../../../stream/log/log.js";
import type { MemoryStore } from "./memory-store.js";

interface Ports {
  readonly store: MemoryStore;
  readonly onLost: (listener: () => void) => () => void;
}

export interface MemoryListenerPorts extends Ports {
  /** The key of the bell that a partition rings. */
  readonly channelOf: (partition: string) => string;
  readonly onNotification: (notification: Notification) => void;
}

export class MemoryListener implements Listener {
  readonly #ports: MemoryListenerPorts;
  readonly #stops: readonly (() => void)[];
  #watched: ReadonlySet<string> = new Set();
  #channels: ReadonlySet<string> = new Set();

  constructor(ports: MemoryListenerPorts) {
    this.#ports = ports;
    const stopHearing = ports.store.onPublished((channel, text) => {
      if (this.#channels.has(channel)) queueMicrotask(() => this.#received(text));
    });
    const stopLost = ports.onLost(() => this.#scanAll(this.#watched));
    this.#stops = [stopHearing, stopLost];
  }

  watch(partitions: readonly string[]): void {
    const fresh = partitions.filter((partition) => !this.#watched.has(partition));
    this.#watched = new Set(partitions);
    this.#channels = new Set(partitions.map(this.#ports.channelOf));
    this.#scanAll(fresh);
  }

  #scanAll(partitions: Iterable<string>): void {
    for (const partition of partitions) {
      queueMicrotask(() => {
        if (this.#watched.has(partition))
          this.#ports.onNotification({ partition, notices: [], scanAll: true });
      });
    }
  }

  #received(text: string): void {
    for (const notification of parseNotification(text, this.#watched).notifications)
      this.#ports.onNotification(notification);
  }

  close(): Promise<void> {
    for (const stop of this.#stops) stop();
    this.#watched = new Set();
    this.#channels = new Set();
    return Promise.resolve();
  }
}

export class MemoryFeed implements Subscription {
  readonly #stops: readonly (() => void)[];
  #closed = false;

  constructor({ store, onLost }: Ports, feed: string, reader: FeedReader) {
    const later = (publish: () => void): void => {
      queueMicrotask(() => {
        if (!this.#closed) publish();
      });
    };
    const stopHearing = store.onPublished((channel, body) => {
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
