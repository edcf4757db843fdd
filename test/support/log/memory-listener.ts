/**
 * Channels and feeds of a `MemoryStore`. A subscriber receives a message in a microtask after the operation that
 * published it.
 */

import type { FeedReader, Subscription } from "../../../stream/log/log.js";
import type { ChannelListener } from "../../../stream/redis/subscriber.js";
import type { MemoryStore } from "./memory-store.js";

interface Ports {
  readonly store: MemoryStore;
  readonly onLost: (listener: () => void) => () => void;
}

export interface MemoryChannelPorts extends Ports {
  /** Carries a subscription to the store. */
  readonly subscribe: (begin: () => void) => Promise<void>;
  /** Returns true for a message that is lost on its way. */
  readonly loses: () => boolean;
}

/** A subscription to a channel. It ends with the connection, and begins again on the next one. */
export class MemoryChannel {
  readonly #ports: MemoryChannelPorts;
  readonly #name: string;
  readonly #listener: ChannelListener;
  readonly #stopLost: () => void;
  #stopReceiving: () => void = () => undefined;
  #closed = false;

  constructor(ports: MemoryChannelPorts, name: string, listener: ChannelListener) {
    this.#ports = ports;
    this.#name = name;
    this.#listener = listener;
    this.#stopLost = ports.onLost(() => this.#subscribe());
    this.#subscribe();
  }

  #subscribe(): void {
    this.#stopReceiving();
    this.#ports
      .subscribe(() => this.#begin())
      .then(
        () => {
          if (!this.#closed) this.#listener.onSubscribed();
        },
        () => {
          if (!this.#closed) this.#subscribe();
        },
      );
  }

  #begin(): void {
    this.#stopReceiving();
    if (this.#closed) return;
    this.#stopReceiving = this.#ports.store.onPublished((channel, text) => {
      if (channel !== this.#name || this.#ports.loses()) return;
      queueMicrotask(() => {
        if (!this.#closed) this.#listener.onMessage(text);
      });
    });
  }

  close(): void {
    this.#closed = true;
    this.#stopLost();
    this.#stopReceiving();
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
