/** Listening to bells on Redis. */

import { parseNotification } from "../log/notifications.js";
import type { Listener, Notification } from "../log/log.js";
import type { Subscriber } from "./subscriber.js";

/** How often is looked whether rings were lost on the way, ms. */
const CHECK_MS = 1_000;

export interface RedisListenerPorts {
  readonly subscriber: Subscriber;
  /** The bell that a partition rings. */
  readonly channelOf: (partition: string) => string;
  /** How often a bell has rung. */
  readonly countOf: (channel: string) => Promise<number>;
  readonly onNotification: (notification: Notification) => void;
}

/** A bell that is being heard. */
interface WatchedChannel {
  readonly stop: () => void;
  partitions: ReadonlySet<string>;
  /** Whether the channel is heard, */
  isSubscribed: boolean;
  /** and it is known which ring comes next. */
  isCounting: boolean;
  /** The last ring, 0 before the first. */
  last: number;
  /** How often it had rung at the last check; undefined while that is not known. */
  checked: number | undefined;
}

export class RedisListener implements Listener {
  readonly #ports: RedisListenerPorts;
  readonly #channels = new Map<string, WatchedChannel>();
  #checking: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(ports: RedisListenerPorts) {
    this.#ports = ports;
    this.#checkLater();
  }

  #checkLater(): void {
    if (this.#closed) return;
    this.#checking = setTimeout(() => void this.#check().finally(() => this.#checkLater()), CHECK_MS);
  }

  watch(partitions: readonly string[]): void {
    const byBell = new Map<string, Set<string>>();
    for (const partition of partitions) {
      const channel = this.#ports.channelOf(partition);
      byBell.set(channel, (byBell.get(channel) ?? new Set()).add(partition));
    }
    for (const [channel, { stop }] of this.#channels) {
      if (byBell.has(channel)) continue;
      stop();
      this.#channels.delete(channel);
    }
    for (const [channel, watched] of byBell) {
      const heard = this.#channels.get(channel);
      if (heard === undefined) {
        this.#subscribe(channel, watched);
        continue;
      }
      const fresh = [...watched].filter((partition) => !heard.partitions.has(partition));
      heard.partitions = watched;
      if (heard.isCounting) this.#scanAll(fresh);
    }
  }

  #subscribe(channel: string, watched: ReadonlySet<string>): void {
    const stop = this.#ports.subscriber.listen(channel, {
      onSubscribed: () => void this.#startCounting(channel, heard),
      onMessage: (text) => this.#received(heard, text),
    });
    const heard: WatchedChannel = {
      stop,
      partitions: watched,
      isSubscribed: false,
      isCounting: false,
      last: 0,
      checked: undefined,
    };
    this.#channels.set(channel, heard);
  }

  /** Looks at everything once it is known which ring comes next. */
  async #startCounting(channel: string, heard: WatchedChannel): Promise<void> {
    heard.isSubscribed = true;
    heard.isCounting = false;
    heard.last = 0;
    heard.checked = undefined;
    try {
      const number = await this.#ports.countOf(channel);
      heard.last = Math.max(heard.last, number);
      heard.isCounting = true;
      this.#scanAll(heard.partitions);
    } catch {
      // The next check begins again.
    }
  }

  #received(heard: WatchedChannel, text: string): void {
    const { number, notifications } = parseNotification(text, heard.partitions);
    const isNext = !heard.isCounting || number === heard.last + 1;
    heard.last = number;
    for (const notification of notifications) this.#ports.onNotification(notification);
    if (!isNext) this.#scanAll(heard.partitions);
  }

  #scanAll(partitions: Iterable<string>): void {
    for (const partition of partitions) this.#ports.onNotification({ partition, notices: [], scanAll: true });
  }

  /** A last ring that was lost is missed by nobody but who counts. */
  async #check(): Promise<void> {
    for (const [bell, heard] of this.#channels) {
      if (!heard.isCounting) {
        if (heard.isSubscribed) await this.#startCounting(bell, heard);
        continue;
      }
      const before = heard.checked;
      if (before !== undefined && heard.last < before) {
        heard.last = before;
        this.#scanAll(heard.partitions);
      }
      heard.checked = undefined;
      try {
        heard.checked = await this.#ports.countOf(bell);
      } catch {
        // The connection was lost; the hearing may begin anew.
      }
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#checking);
    for (const { stop } of this.#channels.values()) stop();
    this.#channels.clear();
    return Promise.resolve();
  }
}
