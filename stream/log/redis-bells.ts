/** Listening to bells and feeds on Redis: who reads from where, what was missed, and how it starts over. */

import type { ActorId } from "../../actors/actor.js";
import type { Connection } from "./connection.js";
import type { Keys } from "./keys.js";
import type { BellKind, FeedReader, Listener, Ring, Subscription } from "./log.js";
import { cursorAt, positionOf } from "./log.js";
import type { Logger } from "./logger.js";
import { BlockingReader, type StreamMessage } from "./redis-reader.js";
import type { RunScript } from "./scripts.js";

const RETRY_MS = 50;
/** A feed that nobody kept alive for so long is gone. */
export const FEED_TTL_MS = 60_000;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export interface Wiring {
  readonly url: string;
  readonly keys: Keys;
  readonly commands: Connection;
  readonly logger: Logger;
}

/** Hears some partitions over one connection. */
class BellReader {
  readonly #kind: BellKind;
  readonly #wiring: Wiring;
  readonly #onRing: (ring: Ring) => void;
  readonly #reader: BlockingReader;
  readonly #loop: Promise<void>;
  #watched: readonly string[] = [];
  /** The last ring heard, by partition. Emptied when the connection is lost: then all is looked at anew. */
  #heard = new Map<string, number>();
  #changed: () => void = () => undefined;

  constructor(kind: BellKind, wiring: Wiring, onRing: (ring: Ring) => void) {
    this.#kind = kind;
    this.#wiring = wiring;
    this.#onRing = onRing;
    this.#reader = new BlockingReader(wiring.url, wiring.commands, () => {
      this.#heard = new Map();
    });
    this.#loop = this.#run();
  }

  watch(partitions: readonly string[]): void {
    const added = partitions.some((partition) => !this.#watched.includes(partition));
    this.#watched = [...partitions];
    for (const partition of this.#heard.keys())
      if (!partitions.includes(partition)) this.#heard.delete(partition);
    this.#changed();
    if (added) void this.#reader.interrupt();
  }

  async #run(): Promise<void> {
    while (!this.#reader.isClosed()) {
      if (this.#watched.length === 0) {
        await new Promise<void>((resolve) => {
          this.#changed = resolve;
        });
        continue;
      }
      try {
        await this.#greet();
        await this.#hear();
      } catch (error) {
        this.#heard = new Map();
        if (this.#reader.isClosed()) return;
        this.#wiring.logger.warn({ err: error, bell: this.#kind }, "cannot hear the bells, trying again");
        await pause(RETRY_MS);
      }
    }
  }

  /** Begins to hear the partitions that are new: from now on, and with a look at what there is. */
  async #greet(): Promise<void> {
    const fresh = this.#watched.filter((partition) => !this.#heard.has(partition));
    if (fresh.length === 0) return;
    const heard = this.#heard;
    const ids = await this.#reader.lastIds(
      fresh.map((partition) => this.#wiring.keys.bell(partition, this.#kind)),
    );
    if (heard !== this.#heard) return;
    for (const [index, partition] of fresh.entries()) {
      heard.set(partition, positionOf(ids[index] ?? "0-0"));
      this.#onRing({ partition, actors: [], lookAtAll: true });
    }
  }

  async #hear(): Promise<void> {
    const heard = this.#heard;
    const byKey = new Map(
      [...heard.keys()].map((partition) => [this.#wiring.keys.bell(partition, this.#kind), partition]),
    );
    if (byKey.size === 0) return;
    const streams = [...byKey].map(([key, partition]) => ({
      key,
      after: cursorAt(heard.get(partition) ?? 0),
    }));
    const rings = await this.#reader.read(streams);
    if (heard !== this.#heard) return;
    for (const [key, messages] of rings) {
      const partition = byKey.get(key);
      if (partition === undefined || !heard.has(partition)) continue;
      this.#onRing(this.#ringOf(partition, messages, heard.get(partition) ?? 0));
      const last = messages.at(-1);
      if (last !== undefined) heard.set(partition, positionOf(last[0]));
    }
  }

  #ringOf(partition: string, messages: readonly StreamMessage[], heard: number): Ring {
    const actors = new Set<ActorId>();
    for (const [, fields] of messages) {
      for (const actor of (fields[1] ?? "").split(" ")) actors.add(actor as ActorId);
    }
    const first = messages[0];
    return {
      partition,
      actors: [...actors],
      lookAtAll: first !== undefined && positionOf(first[0]) !== heard + 1,
    };
  }

  async close(): Promise<void> {
    this.#reader.close();
    this.#changed();
    await this.#loop;
  }
}

/** On a single server one connection hears all partitions; on a cluster each partition needs its own. */
export class RedisListener implements Listener {
  readonly #kind: BellKind;
  readonly #wiring: Wiring;
  readonly #onRing: (ring: Ring) => void;
  readonly #perPartition: boolean;
  readonly #readers = new Map<string, BellReader>();

  constructor(kind: BellKind, wiring: Wiring, onRing: (ring: Ring) => void) {
    this.#kind = kind;
    this.#wiring = wiring;
    this.#onRing = onRing;
    this.#perPartition = wiring.url.includes(",");
  }

  watch(partitions: readonly string[]): void {
    if (!this.#perPartition) {
      this.#readerOf("all").watch(partitions);
      return;
    }
    for (const [partition, reader] of this.#readers) if (!partitions.includes(partition)) reader.watch([]);
    for (const partition of partitions) this.#readerOf(partition).watch([partition]);
  }

  #readerOf(group: string): BellReader {
    let reader = this.#readers.get(group);
    if (reader === undefined) {
      reader = new BellReader(this.#kind, this.#wiring, this.#onRing);
      this.#readers.set(group, reader);
    }
    return reader;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#readers.values()].map((reader) => reader.close()));
  }
}

export class RedisSubscription implements Subscription {
  readonly #key: string;
  readonly #wiring: Wiring;
  readonly #run: RunScript;
  readonly #feed: FeedReader;
  readonly #reader: BlockingReader;
  #position = 0;
  /** Whether the position has to be checked against the feed before it is read on. */
  #check = true;
  #keepAlive: NodeJS.Timeout | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(name: string, wiring: Wiring, run: RunScript, feed: FeedReader) {
    this.#key = wiring.keys.feed(name);
    this.#wiring = wiring;
    this.#run = run;
    this.#feed = feed;
    this.#reader = new BlockingReader(wiring.url, wiring.commands, () => {
      this.#check = true;
    });
  }

  async open(): Promise<void> {
    const [, last] = (await this.#run("feed", [this.#key], [FEED_TTL_MS])) as [number, string];
    this.#position = positionOf(last);
    this.#check = false;
    this.#loop = this.#follow();
    this.#keepAlive = setInterval(() => {
      this.#check = true;
    }, FEED_TTL_MS / 4);
  }

  async #follow(): Promise<void> {
    while (!this.#reader.isClosed()) {
      try {
        if (this.#check) await this.#catchUp();
        const messages = (await this.#reader.read([{ key: this.#key, after: cursorAt(this.#position) }])).get(
          this.#key,
        );
        const first = messages?.[0];
        const last = messages?.at(-1);
        if (messages === undefined || first === undefined || last === undefined) continue;
        const missed = positionOf(first[0]) !== this.#position + 1;
        this.#position = positionOf(last[0]);
        if (missed) this.#feed.onMissed();
        this.#feed.onBodies(messages.map(([, fields]) => fields[1] ?? ""));
      } catch (error) {
        if (this.#reader.isClosed()) return;
        this.#wiring.logger.warn({ err: error, feed: this.#key }, "cannot hear a feed, trying again");
        await pause(RETRY_MS);
      }
    }
  }

  /** A feed that had to be made anew, or that is behind its reader, has lost messages. */
  async #catchUp(): Promise<void> {
    const [made, last] = (await this.#run("feed", [this.#key], [FEED_TTL_MS])) as [number, string];
    this.#check = false;
    if (made === 0 && positionOf(last) >= this.#position) return;
    this.#position = positionOf(last);
    this.#feed.onMissed();
  }

  async close(): Promise<void> {
    clearInterval(this.#keepAlive);
    this.#reader.close();
    await this.#loop;
  }
}
