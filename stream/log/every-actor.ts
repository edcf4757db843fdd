/** Feeds a read model with the entries of every actor, in batches across actors, each in the order of its actor. */

import { type ActorId, PARTITIONS } from "../../actors/actor.js";
import { type Clock, sleep } from "./clock.js";
import type { EntryRead, Listener, Log, Ring } from "./log.js";
import type { Logger } from "./logger.js";
import { parseEntry } from "./packing.js";
import type { Entry } from "./types.js";

export interface EveryActorOptions {
  /** The last seq that the read model has of each actor; those it does not name begin at 0. */
  readonly cursors: ReadonlyMap<ActorId, number>;
  /**
   * Takes the next entries. The next call comes when its promise has resolved; when it rejects, the same entries come
   * again after a moment.
   */
  readonly onEntries: (entries: readonly Entry[]) => Promise<void>;
  /** Entries after the cursor of this actor have been trimmed away: it is not followed any more. */
  readonly onGap: (actor: ActorId, afterSeq: number) => void;
  /** Which partitions (default all). */
  readonly partitions?: readonly string[] | undefined;
  /** How many entries one call may bring, roughly (default 4,000). */
  readonly batchEntries?: number | undefined;
}

interface Ports {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MIN_PAGE = 10;
const MAX_PAGE = 500;
const RETRY_MS = 250;

export class EveryActor {
  readonly #ports: Ports;
  readonly #options: EveryActorOptions;
  readonly #cursors: Map<ActorId, number>;
  readonly #lost = new Set<ActorId>();
  readonly #dirty = new Map<string, Set<ActorId>>();
  readonly #lookAtAll = new Set<string>();
  readonly #listener: Listener;
  readonly #loop: Promise<void>;
  #wake: () => void = () => undefined;
  #stopped = false;

  constructor(ports: Ports, options: EveryActorOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#cursors = new Map(options.cursors);
    this.#listener = ports.log.listen("deltas", (ring) => this.#onRing(ring));
    this.#listener.watch(options.partitions ?? PARTITIONS);
    this.#loop = this.#run();
  }

  #onRing({ partition, actors, lookAtAll }: Ring): void {
    if (lookAtAll) this.#lookAtAll.add(partition);
    for (const actor of actors) this.#markDirty(partition, actor);
    this.#wake();
  }

  #markDirty(partition: string, actor: ActorId): void {
    if (this.#lost.has(actor)) return;
    const dirty = this.#dirty.get(partition);
    if (dirty === undefined) this.#dirty.set(partition, new Set([actor]));
    else dirty.add(actor);
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      if (this.#dirty.size === 0 && this.#lookAtAll.size === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      try {
        await this.#look();
        const entries = await this.#read();
        if (entries.length > 0) await this.#hand(entries);
      } catch (error) {
        this.#ports.logger.warn({ err: error }, "cannot read the deltas of all actors, trying again");
        await sleep(this.#ports.clock, RETRY_MS);
      }
    }
  }

  async #look(): Promise<void> {
    for (const partition of [...this.#lookAtAll]) {
      const sightings = await this.#ports.log.look(partition);
      this.#lookAtAll.delete(partition);
      for (const { actor, head } of sightings) {
        if (head.seq > (this.#cursors.get(actor) ?? 0)) this.#markDirty(partition, actor);
      }
    }
  }

  async #read(): Promise<readonly Entry[]> {
    const { batchEntries = 4_000 } = this.#options;
    const waiting = [...this.#dirty.values()].reduce((sum, actors) => sum + actors.size, 0);
    const page = Math.min(MAX_PAGE, Math.max(MIN_PAGE, Math.floor(batchEntries / Math.max(1, waiting))));
    const entries: Entry[] = [];
    for (const [partition, actors] of [...this.#dirty]) {
      if (entries.length >= batchEntries) break;
      const reads = [...actors].map((actor) => ({ actor, afterSeq: this.#cursors.get(actor) ?? 0 }));
      this.#dirty.delete(partition);
      try {
        entries.push(...(await this.#readPartition(partition, reads, page)));
      } catch (error) {
        for (const actor of actors) this.#markDirty(partition, actor);
        // What has been read from other partitions must be handed over: nothing else remembers it.
        if (entries.length === 0) throw error;
        break;
      }
    }
    return entries;
  }

  async #readPartition(
    partition: string,
    reads: readonly EntryRead[],
    page: number,
  ): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    for (const found of await this.#ports.log.readEntries(partition, reads, page)) {
      if (found.gap) {
        this.#lost.add(found.actor);
        this.#options.onGap(found.actor, this.#cursors.get(found.actor) ?? 0);
        continue;
      }
      // What the log gives is an entry of that actor, whatever its deltas are.
      for (const stored of found.entries) entries.push(parseEntry(found.actor, stored) as unknown as Entry);
      if (found.entries.length === page) this.#markDirty(partition, found.actor);
    }
    return entries;
  }

  /** Hands a batch over until it is taken. */
  async #hand(entries: readonly Entry[]): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#options.onEntries(entries);
        for (const { actor, seq } of entries) this.#cursors.set(actor, seq);
        return;
      } catch (error) {
        this.#ports.logger.warn(
          { err: error, entries: entries.length },
          "the read model did not take a batch, trying again",
        );
        await sleep(this.#ports.clock, RETRY_MS);
      }
    }
  }

  /** Stops after the batch under way. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#listener.close();
    this.#wake();
    await this.#loop;
  }
}
