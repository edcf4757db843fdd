/**
 * Notifications and feeds of a `MemoryStore`. A subscriber receives a message in a microtask after the operation that
 * published it.
 */

import { parseNotification } from "../../../stream/log/notifications.js";
import type { FeedReader, Listener, Notification, Subscription } from "../../../stream/log/log.js";
import type { MemoryStore } from "./memory-store.js";

interface Ports {
  readonly store: MemoryStore;
  readonly onLost: (listener: () => void) => () => void;
}

export interface MemoryListenerPorts extends Ports {
  /** Returns the channel of the notifications of a partition. */
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
    const stopReceiving = ports.store.onPublished((channel, text) => {
      if (this.#channels.has(channel)) queueMicrotask(() => this.#received(text));
    });
    const stopLost = ports.onLost(() => this.#scanAll(this.#watched));
    this.#stops = [stopReceiving, stopLost];
  }

  watch(partitions: readonly string[]): void {
    const added = partitions.filter((partition) => !this.#watched.has(partition));
    this.#watched = new Set(partitions);
    this.#channels = new Set(partitions.map(this.#ports.channelOf));
    this.#scanAll(added);
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
    const later = (call: () => void): void => {
      queueMicrotask(() => {
        if (!this.#closed) call();
      });
    };
    const stopReceiving = store.onPublished((channel, body) => {
      if (channel === feed) later(() => reader.onBody(body));
    });
    this.#stops = [stopReceiving, onLost(() => later(() => reader.onMissed()))];
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    return Promise.resolve();
  }
}
