/**
 * Hearing channels: one connection for all of them. Who hears a channel is told whenever the hearing begins, at first
 * and each time after the connection was lost, because nothing is kept for those who do not hear.
 */

import { Redis } from "ioredis";
import { backOff, SUBSCRIBER_OPTIONS } from "./connection.js";
import type { FeedReader, Subscription } from "../log/log.js";
import type { Logger } from "../log/logger.js";

/** A connection that does not answer for about twice as long is dead. */
const PING_MS = 1_000;

/** `begun`: it is heard from now on, and whatever was said before may have been missed. */
export interface ChannelListener {
  onSubscribed(): void;
  onMessage(body: string): void;
}

export class Subscriber {
  readonly #urls: readonly string[];
  readonly #logger: Logger;
  readonly #channels = new Map<string, Set<ChannelListener>>();
  /** On a cluster every node tells everything, so any of them will do. */
  #redis: Redis | undefined;
  /** Whether the connection is up and all channels but the newest are subscribed. */
  #isReady = false;
  #attempts = 0;
  #pinging: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(url: string, logger: Logger) {
    this.#urls = url.split(",");
    this.#logger = logger;
  }

  /** Hears a channel until the returned function is called. */
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

  /** Hears a feed. Resolves once it does. */
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

  /** A hearer that throws must not keep the others from being told. */
  #dispatch(channel: string, body: string): void {
    for (const listener of this.#channels.get(channel) ?? []) {
      try {
        listener.onMessage(body);
      } catch (error) {
        this.#logger.error({ err: error, channel }, "what was heard could not be taken");
      }
    }
  }

  async #subscribeAll(
    redis: Redis,
    begun: readonly (readonly [string, Iterable<ChannelListener>])[],
  ): Promise<void> {
    if (begun.length === 0) return;
    try {
      await redis.subscribe(...begun.map(([channel]) => channel));
    } catch (error) {
      if (this.#closed || this.#redis !== redis) return;
      this.#logger.warn({ err: error }, "cannot hear the log, trying again");
      redis.disconnect();
      return;
    }
    this.#attempts = 0;
    for (const [channel, listeners] of begun) {
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
