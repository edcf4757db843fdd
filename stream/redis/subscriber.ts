/**
 * Subscriptions to Redis channels, on one connection. A listener is called whenever its subscription begins: the first
 * time, and after each loss of the connection, because Redis keeps no message for a client that is away.
 */

import { Redis } from "ioredis";
import { backOff, SUBSCRIBER_OPTIONS } from "./connection.js";
import type { FeedReader, Subscription } from "../log/log.js";
import type { Logger } from "../log/logger.js";

/** Interval of pings. A connection that answers none for about twice this time is dead. */
const PING_MS = 1_000;

export interface ChannelListener {
  /** Called when the subscription begins. Messages before that may have been missed. */
  onSubscribed(): void;
  onMessage(body: string): void;
}

export class Subscriber {
  readonly #urls: readonly string[];
  readonly #logger: Logger;
  readonly #channels = new Map<string, Set<ChannelListener>>();
  /** On a cluster, the connection to any one node: every node publishes every message. */
  #redis: Redis | undefined;
  /** True while the connection is up. All channels are subscribed then, except those that are just being added. */
  #isReady = false;
  #attempts = 0;
  #pinging: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(url: string, logger: Logger) {
    this.#urls = url.split(",");
    this.#logger = logger;
  }

  /** Subscribes to a channel until the returned function is called. */
  listen(channel: string, listener: ChannelListener): () => void {
    const listeners = this.#channels.get(channel) ?? new Set();
    this.#channels.set(channel, listeners.add(listener));
    if (this.#redis === undefined) this.#connect();
    else if (this.#isReady) void this.#subscribeAll(this.#redis, [[channel, [listener]]]);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0 || this.#channels.get(channel) !== listeners) return;
      this.#channels.delete(channel);
      if (this.#isReady) this.#redis?.unsubscribe(channel).catch(() => undefined);
    };
  }

  /** Subscribes to a feed; resolves when the subscription begins. */
  subscribe(channel: string, reader: FeedReader): Promise<Subscription> {
    return new Promise((resolve) => {
      let isFirst = true;
      const stop = this.listen(channel, {
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
      });
    });
  }

  #connect(): void {
    const url = this.#urls[this.#attempts % this.#urls.length] ?? "";
    const redis = new Redis(url, SUBSCRIBER_OPTIONS);
    this.#redis = redis;
    redis.on("error", () => undefined);
    redis.on("message", (channel: string, body: string) => this.#dispatch(channel, body));
    redis.on("ready", () => {
      this.#isReady = true;
      void this.#subscribeAll(redis, [...this.#channels]);
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
    for (const listener of this.#channels.get(channel) ?? []) {
      try {
        listener.onMessage(body);
      } catch (error) {
        this.#logger.error({ err: error, channel }, "a listener of a channel failed");
      }
    }
  }

  async #subscribeAll(
    redis: Redis,
    added: readonly (readonly [string, Iterable<ChannelListener>])[],
  ): Promise<void> {
    if (added.length === 0) return;
    try {
      await redis.subscribe(...added.map(([channel]) => channel));
    } catch (error) {
      if (this.#closed || this.#redis !== redis) return;
      this.#logger.warn({ err: error }, "cannot subscribe; trying again");
      redis.disconnect();
      return;
    }
    this.#attempts = 0;
    for (const [channel, listeners] of added) {
      for (const listener of listeners)
        if (this.#channels.get(channel)?.has(listener) === true) listener.onSubscribed();
    }
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#pinging);
    this.#redis?.disconnect();
  }
}
