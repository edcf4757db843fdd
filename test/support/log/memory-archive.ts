import type { ActorId } from "../../../actors/actor.js";
import type { StoredActor } from "../../../stream/log/log.js";
import type { Archive } from "../../../stream/runtime/removal/removal.js";

/** Archive in memory. */
export class MemoryArchive implements Archive {
  readonly kept = new Map<string, StoredActor>();
  readonly marks: (string | undefined)[] = [];
  readonly #removed = new Set<ActorId>();

  keep(actor: ActorId, stored: StoredActor): Promise<void> {
    this.kept.set(`${actor} ${stored.snapshot.hash}`, stored);
    return Promise.resolve();
  }

  read(actor: ActorId, hash: string): Promise<StoredActor | undefined> {
    return Promise.resolve(this.kept.get(`${actor} ${hash}`));
  }

  mark(actor: ActorId, removed: string | undefined): Promise<void> {
    this.marks.push(removed);
    if (removed === undefined) this.#removed.delete(actor);
    else this.#removed.add(actor);
    return Promise.resolve();
  }

  removedOf(actors: readonly ActorId[]): Promise<readonly ActorId[]> {
    return Promise.resolve(actors.filter((actor) => this.#removed.has(actor)));
  }
}
