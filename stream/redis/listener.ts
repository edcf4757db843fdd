/**
 * Notifications of a Redis log. The notifications of a commit group are published on one channel and numbered without a
 * gap. A listener that finds a gap in the numbers, or is behind the counter in Redis, asks its owner to scan.
 */

import type { Listener, Notification } from "../log/log.js";
import { parseNotification } from "../log/notifications.js";
import type { Subscriber } from "./subscriber.js";

/** Interval of comparing the received numbers with the counter in Redis. */
const CHECK_MS = 1_000;

export interface RedisListenerPorts {
  readonly subscriber: Subscriber;
  /** Returns the channel of a partition, which is also the key of its counter. */
  readonly channelOf: (partition: string) => string;
  /** Reads the number of notifications that were published on a channel. */
  readonly countOf: (channel: string) => Promise<number>;
  readonly onNotification: (notification: Notification) => void;
}

/** A channel with watched partitions. */
interface WatchedChannel {
  readonly stop: () => void;
  partitions: ReadonlySet<string>;
  /** True once the channel is subscribed. */
  isSubscribed: boolean;
  /** True once the number of the next notification is known. */
  isCounting: boolean;
  /** Number of the last notification, 0 before the first. */
  last: number;
  /** The counter in Redis at the last check, or `undefined` when that check failed. */
  checked: number | undefined;
}

export class RedisListener implements Listener {
  readonly #ports: RedisListenerPorts;
  readonly #channels = new Map<string, WatchedChannel>();
  #checkTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(ports: RedisListenerPorts) {
    this.#ports = ports;
    this.#checkLater();
  }

  #checkLater(): void {
    if (this.#closed) return;
    this.#checkTimer = setTimeout(() => void this.#check().finally(() => this.#checkLater()), CHECK_MS);
  }

  watch(partitions: readonly string[]): void {
    const byChannel = new Map<string, Set<string>>();
    for (const partition of partitions) {
      const channel = this.#ports.channelOf(partition);
      byChannel.set(channel, (byChannel.get(channel) ?? new Set()).add(partition));
    }
    for (const [channel, { stop }] of this.#channels) {
      if (byChannel.has(channel)) continue;
      stop();
      this.#channels.delete(channel);
    }
    for (const [channel, wanted] of byChannel) {
      const known = this.#channels.get(channel);
      if (known === undefined) {
        this.#subscribe(channel, wanted);
        continue;
      }
      const added = [...wanted].filter((partition) => !known.partitions.has(partition));
      known.partitions = wanted;
      if (known.isCounting) this.#scanAll(added);
    }
  }

  #subscribe(channel: string, partitions: ReadonlySet<string>): void {
    const stop = this.#ports.subscriber.listen(channel, {
      onSubscribed: () => void this.#startCounting(channel, watched),
      onMessage: (text) => this.#received(watched, text),
    });
    const watched: WatchedChannel = {
      stop,
      partitions,
      isSubscribed: false,
      isCounting: false,
      last: 0,
      checked: undefined,
    };
    this.#channels.set(channel, watched);
  }

  /** Reads the number of the last notification, and then asks to scan all partitions of the channel. */
  async #startCounting(channel: string, watched: WatchedChannel): Promise<void> {
    watched.isSubscribed = true;
    watched.isCounting = false;
    watched.last = 0;
    watched.checked = undefined;
    try {
      const count = await this.#ports.countOf(channel);
      watched.last = Math.max(watched.last, count);
      watched.isCounting = true;
      this.#scanAll(watched.partitions);
    } catch {
      // The next check tries again.
    }
  }

  #received(watched: WatchedChannel, text: string): void {
    const { number, notifications } = parseNotification(text, watched.partitions);
    const isNext = !watched.isCounting || number === watched.last + 1;
    watched.last = number;
    for (const notification of notifications) this.#ports.onNotification(notification);
    if (!isNext) this.#scanAll(watched.partitions);
  }

  #scanAll(partitions: Iterable<string>): void {
    for (const partition of partitions) this.#ports.onNotification({ partition, notices: [], scanAll: true });
  }

  /**
   * Finds lost notifications that no later notification has revealed: the last received number is below the counter
   * that the previous check read.
   */
  async #check(): Promise<void> {
    for (const [channel, watched] of this.#channels) {
      if (!watched.isCounting) {
        if (watched.isSubscribed) await this.#startCounting(channel, watched);
        continue;
      }
      const before = watched.checked;
      if (before !== undefined && watched.last < before) {
        watched.last = before;
        this.#scanAll(watched.partitions);
      }
      watched.checked = undefined;
      try {
        watched.checked = await this.#ports.countOf(channel);
      } catch {
        // The connection was lost. The next check has no count to compare with, and reads the counter again.
      }
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#checkTimer);
    for (const { stop } of this.#channels.values()) stop();
    this.#channels.clear();
    return Promise.resolve();
  }
}
