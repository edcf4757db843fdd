/**
 * Notifications of the partitions that a process watches. Each partition has a channel, whose notifications are numbered
 * without a gap. A listener that finds a gap in the numbers, or is behind the counter in the log, asks its owner to scan.
 */

import type { Clock } from "../log/clock.js";
import type { Listener, Notification } from "../log/log.js";
import { parseNotification } from "../log/notifications.js";
import type { Channel, ChannelListener } from "./subscriber.js";

/** Interval of comparing the received numbers with the counters in the log. */
const CHECK_MS = 1_000;

export interface ListenerPorts {
  readonly clock: Pick<Clock, "after">;
  /** Number of the database. Redis publishes the notifications of all databases to every subscriber. */
  readonly database: number;
  /** Subscribes to a channel until the returned function is called. */
  readonly subscribe: (channel: Channel, listener: ChannelListener) => () => void;
  /** Returns the channels on which the notifications of a partition are published, by this build and by earlier ones. */
  readonly channelsOf: (partition: string) => readonly Channel[];
  /** Reads the number of notifications that were published on each channel, `undefined` where it cannot be read. */
  readonly countsOf: (channels: readonly string[]) => Promise<readonly (number | undefined)[]>;
  readonly onNotification: (notification: Notification) => void;
  /** Called when the listener is closed. */
  readonly onClosed: () => void;
}

/** A channel with watched partitions. */
interface WatchedChannel {
  readonly name: string;
  readonly stop: () => void;
  partitions: ReadonlySet<string>;
  /** True once the channel is subscribed. */
  isSubscribed: boolean;
  /** True once the number of the next notification is known. */
  isCounting: boolean;
  /** Number of the last notification, 0 before the first. */
  last: number;
  /** The counter in the log at the last check, or `undefined` when that check failed. */
  checked: number | undefined;
}

export class NotificationListener implements Listener {
  readonly #ports: ListenerPorts;
  readonly #channels = new Map<string, WatchedChannel>();
  /** Channels whose subscriptions have begun in this turn of the event loop. */
  #begun: WatchedChannel[] = [];
  #cancelCheck: () => void = () => undefined;
  #closed = false;

  constructor(ports: ListenerPorts) {
    this.#ports = ports;
    this.#checkLater();
  }

  #checkLater(): void {
    if (this.#closed) return;
    this.#cancelCheck = this.#ports.clock.after(CHECK_MS, () => {
      void this.#check().finally(() => this.#checkLater());
    });
  }

  watch(partitions: readonly string[]): void {
    const wanted = new Map<string, { readonly channel: Channel; readonly partitions: Set<string> }>();
    for (const partition of partitions) {
      for (const channel of this.#ports.channelsOf(partition)) {
        const known = wanted.get(channel.name) ?? { channel, partitions: new Set() };
        known.partitions.add(partition);
        wanted.set(channel.name, known);
      }
    }
    for (const [name, { stop }] of this.#channels) {
      if (wanted.has(name)) continue;
      stop();
      this.#channels.delete(name);
    }
    for (const [name, { channel, partitions: watched }] of wanted) {
      const known = this.#channels.get(name);
      if (known === undefined) this.#subscribe(channel, watched);
      else known.partitions = watched;
    }
  }

  #subscribe(channel: Channel, partitions: ReadonlySet<string>): void {
    const stop = this.#ports.subscribe(channel, {
      onSubscribed: () => this.#begin(watched),
      onMessage: (text) => this.#received(watched, text),
    });
    const watched: WatchedChannel = {
      name: channel.name,
      stop,
      partitions,
      isSubscribed: false,
      isCounting: false,
      last: 0,
      checked: undefined,
    };
    this.#channels.set(channel.name, watched);
  }

  /** Begins to count the notifications of a channel. The channels that begin in one turn share a read of the counters. */
  #begin(watched: WatchedChannel): void {
    watched.isSubscribed = true;
    watched.isCounting = false;
    watched.last = 0;
    watched.checked = undefined;
    this.#begun.push(watched);
    if (this.#begun.length > 1) return;
    queueMicrotask(() => {
      const begun = this.#begun;
      this.#begun = [];
      void this.#startCounting(begun);
    });
  }

  /**
   * Reads the numbers of the last notifications, and then asks to scan the partitions of the channels. A partition is
   * scanned when all of its channels are counted, so that the scan misses nothing.
   */
  async #startCounting(begun: readonly WatchedChannel[]): Promise<void> {
    const channels = begun.filter((watched) => this.#channels.get(watched.name) === watched);
    if (channels.length === 0) return;
    const counts = await this.#countsOf(channels);
    for (const [index, watched] of channels.entries()) {
      const count = counts[index];
      // The next check tries again.
      if (count === undefined) continue;
      watched.last = Math.max(watched.last, count);
      watched.isCounting = true;
    }
    const partitions = new Set(channels.flatMap((watched) => [...watched.partitions]));
    this.#scanAll([...partitions].filter((partition) => this.#isCounted(partition)));
  }

  #isCounted(partition: string): boolean {
    const channels = this.#ports.channelsOf(partition);
    return channels.every(({ name }) => this.#channels.get(name)?.isCounting === true);
  }

  /** Returns the counters of channels, `undefined` where they cannot be read. */
  async #countsOf(channels: readonly WatchedChannel[]): Promise<readonly (number | undefined)[]> {
    try {
      return await this.#ports.countsOf(channels.map(({ name }) => name));
    } catch {
      return [];
    }
  }

  #received(watched: WatchedChannel, text: string): void {
    const parsed = parseNotification(text, watched.partitions, this.#ports.database);
    if (parsed === undefined) return;
    const { number, notifications } = parsed;
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
    const channels = [...this.#channels.values()];
    await this.#startCounting(channels.filter(({ isSubscribed, isCounting }) => isSubscribed && !isCounting));
    const counting = channels.filter(({ isCounting }) => isCounting);
    for (const watched of counting) {
      const before = watched.checked;
      watched.checked = undefined;
      if (before === undefined || watched.last >= before) continue;
      watched.last = before;
      this.#scanAll(watched.partitions);
    }
    if (counting.length === 0) return;
    const lasts = counting.map(({ last }) => last);
    const counts = await this.#countsOf(counting);
    for (const [index, watched] of counting.entries()) {
      const count = counts[index];
      watched.checked = count;
      if (count === undefined || count >= (lasts[index] ?? 0)) continue;
      // The log went back. The next notifications repeat numbers, so a lost one would leave no gap.
      watched.last = count;
      this.#scanAll(watched.partitions);
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#cancelCheck();
    for (const { stop } of this.#channels.values()) stop();
    this.#channels.clear();
    this.#ports.onClosed();
    return Promise.resolve();
  }
}
