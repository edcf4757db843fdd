/**
 * Subscriptions to Redis channels, on one connection. A listener is called whenever its subscription begins: the first
 * time, and after each loss of the connection, because Redis keeps no message for a client that is away.
 */

import type { Redis } from "ioredis";
import { readAddress, type RedisAddress } from "./address.js";
import { backOff, connectServer, SUBSCRIBER_OPTIONS } from "./connection.js";
import type { FeedReader, Subscription } from "../log/log.js";
import type { Logger } from "../log/logger.js";

/** Interval of pings. A connection that answers none for about twice this time is dead. */
const PING_MS = 1_000;

export interface Channel {
  readonly name: string;
  /** True to subscribe by a pattern that only this name matches. Redis does not count such a subscriber of a channel. */
  readonly byPattern?: boolean;
}

export interface ChannelListener {
  /** Called when the subscription begins. Messages before that may have been missed. */
  onSubscribed(): void;
  onMessage(body: string): void;
}

interface AddedChannel {
  readonly name: string;
  readonly byPattern: boolean;
  /** Listeners whose subscriptions begin. */
  readonly listeners: Iterable<ChannelListener>;
}

interface SubscribedChannel extends AddedChannel {
  readonly listeners: Set<ChannelListener>;
}

export class Subscriber {
  readonly #addresses: readonly Exclude<RedisAddress, { kind: "cluster" }>[];
  readonly #logger: Logger;
  readonly #channels = new Map<string, SubscribedChannel>();
  /** On a cluster, the connection to any one node: every node publishes every message. */
  #redis: Redis | undefined;
  /** Channels to subscribe to at the end of this turn of the event loop. */
  #added: AddedChannel[] = [];
  /** True while the connection is up. All channels are subscribed then, except those that are just being added. */
  #isReady = false;
  #attempts = 0;
  #pinging: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(url: string, logger: Logger) {
    const address = readAddress(url);
    this.#addresses =
      address.kind === "cluster" ? address.nodes.map((node) => ({ kind: "server", url: node })) : [address];
    this.#logger = logger;
  }

  /** Subscribes to a channel until the returned function is called. */
  listen({ name, byPattern = false }: Channel, listener: ChannelListener): () => void {
    const channel = this.#channels.get(name) ?? { name, byPattern, listeners: new Set() };
    this.#channels.set(name, channel);
    channel.listeners.add(listener);
    if (this.#redis === undefined) this.#connect();
    else if (this.#isReady) this.#subscribeLater(channel, listener);
    return () => {
      channel.listeners.delete(listener);
      if (channel.listeners.size > 0 || this.#channels.get(name) !== channel) return;
      this.#channels.delete(name);
      if (!this.#isReady) return;
      const ended = byPattern ? this.#redis?.punsubscribe(patternOf(name)) : this.#redis?.unsubscribe(name);
      ended?.catch(() => undefined);
    };
  }

  /** Subscribes to the channels that are added in one turn of the event loop at once. */
  #subscribeLater(channel: SubscribedChannel, listener: ChannelListener): void {
    this.#added.push({ ...channel, listeners: [listener] });
    if (this.#added.length > 1) return;
    queueMicrotask(() => {
      const added = this.#added.filter(({ name }) => this.#channels.has(name));
      this.#added = [];
      if (this.#redis !== undefined && this.#isReady) void this.#subscribeAll(this.#redis, added);
    });
  }

  /** Subscribes to a feed; resolves when the subscription begins. */
  subscribe(channel: string, reader: FeedReader): Promise<Subscription> {
    return new Promise((resolve) => {
      let isFirst = true;
      const stop = this.listen(
        { name: channel },
        {
          onSubscribed: () => {
            if (!isFirst) reader.onMissed();
            isFirst = false;
            resolve({
              close: () => {
                stop();
                return Promise.resolve();
              },
            });
          },
          onMessage: (body) => reader.onBody(body),
        },
      );
    });
  }

  #connect(): void {
    const address = this.#addresses[this.#attempts % this.#addresses.length];
    if (address === undefined) return;
    const redis = connectServer(address, SUBSCRIBER_OPTIONS);
    this.#redis = redis;
    redis.on("error", () => undefined);
    redis.on("message", (channel: string, body: string) => this.#dispatch(channel, body));
    redis.on("pmessage", (_pattern: string, channel: string, body: string) => this.#dispatch(channel, body));
    redis.on("ready", () => {
      this.#isReady = true;
      void this.#subscribeAll(redis, [...this.#channels.values()]);
      this.#pinging = setInterval(() => {
        redis.ping().catch(() => redis.disconnect());
      }, PING_MS);
    });
    redis.on("close", () => {
      clearInterval(this.#pinging);
      this.#isReady = false;
      if (this.#closed) return;
      this.#attempts += 1;
      setTimeout(() => {
        if (!this.#closed) this.#connect();
      }, backOff(this.#attempts));
    });
  }

  /** Calls the listeners of a channel. The error of one is logged, so that it does not stop the others. */
  #dispatch(channel: string, body: string): void {
    for (const listener of this.#channels.get(channel)?.listeners ?? []) {
      try {
        listener.onMessage(body);
      } catch (error) {
        this.#logger.error({ err: error, channel }, "a listener of a channel failed");
      }
    }
  }

  async #subscribeAll(redis: Redis, added: readonly AddedChannel[]): Promise<void> {
    const names = added.filter(({ byPattern }) => !byPattern).map(({ name }) => name);
    const patterns = added.filter(({ byPattern }) => byPattern).map(({ name }) => patternOf(name));
    try {
      await Promise.all([
        names.length > 0 ? redis.subscribe(...names) : undefined,
        patterns.length > 0 ? redis.psubscribe(...patterns) : undefined,
      ]);
    } catch (error) {
      if (this.#closed || this.#redis !== redis) return;
      this.#logger.warn({ err: error }, "cannot subscribe; trying again");
      redis.disconnect();
      return;
    }
    this.#attempts = 0;
    for (const { name, listeners } of added) {
      for (const listener of listeners)
        if (this.#channels.get(name)?.listeners.has(listener) === true) listener.onSubscribed();
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#pinging);
    this.#redis?.disconnect();
  }
}

/** Returns the pattern that only this text matches. */
function patternOf(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}
