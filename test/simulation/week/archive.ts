/** The last snapshots of removed markets, compressed, and the marks of their removal in the read model. */

import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { ActorId } from "../../../actors/actor.js";
import type { StoredActor } from "../../../stream/log/log.js";
import type { Archive } from "../../../stream/runtime/removal/removal.js";
import type { ReadModel } from "./read-model.js";

export class CompressedArchive implements Archive {
  readonly #kept = new Map<string, Buffer>();
  readonly #readModel: ReadModel;
  readonly #now: () => number;
  /** Bytes of all snapshots before their compression. */
  bytes = 0;

  constructor(readModel: ReadModel, now: () => number) {
    this.#readModel = readModel;
    this.#now = now;
  }

  /** Number of snapshots. */
  get size(): number {
    return this.#kept.size;
  }

  keep(actor: ActorId, stored: StoredActor): Promise<void> {
    const key = `${actor} ${stored.snapshot.hash}`;
    if (this.#kept.has(key)) return Promise.resolve();
    const text = JSON.stringify(stored);
    this.bytes += text.length;
    this.#kept.set(key, deflateRawSync(text, { level: 1 }));
    return Promise.resolve();
  }

  read(actor: ActorId, hash: string): Promise<StoredActor | undefined> {
    const kept = this.#kept.get(`${actor} ${hash}`);
    const stored =
      kept === undefined ? undefined : (JSON.parse(inflateRawSync(kept).toString()) as StoredActor);
    return Promise.resolve(stored);
  }

  mark(actor: ActorId, removed: string | undefined): Promise<void> {
    this.#readModel.mark(actor.slice("market:".length), removed, this.#now());
    return Promise.resolve();
  }

  removedOf(actors: readonly ActorId[]): Promise<readonly ActorId[]> {
    const isRemoved = (actor: ActorId): boolean => this.#readModel.isRemoved(actor.slice("market:".length));
    return Promise.resolve(actors.filter(isRemoved));
  }
}
