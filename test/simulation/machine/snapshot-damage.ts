/** Damages the latest snapshots of actors, so that their previous ones are used. */

import { type ActorId, partitionOf } from "../../../actors/actor.js";
import type { MemoryStore } from "../../support/log/memory-store.js";
import { KEYS } from "../journal.js";
import type { Random } from "./random.js";

/** A damaged part of a latest snapshot, with the body of this snapshot. */
interface DamagedPart {
  readonly actor: ActorId;
  readonly body: string;
  readonly restore: () => void;
}

export class SnapshotDamage {
  readonly #store: MemoryStore;
  readonly #random: Random;
  readonly #damaged = new Set<ActorId>();
  #parts: DamagedPart[] = [];

  constructor(store: MemoryStore, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  /**
   * Damages the latest snapshot of an actor: its body, or a part that the previous snapshot does not name. A hash must
   * reveal the damage. Returns false for an actor without a previous snapshot, and for one that was damaged before.
   */
  damage(actor: ActorId): boolean {
    const body = this.#read(actor, "latest", "body");
    if (this.#damaged.has(actor) || body === undefined) return false;
    if (this.#store.get(KEYS.head(partitionOf(actor), actor), "previous") === undefined) return false;
    this.#damaged.add(actor);
    const others = new Set((this.#read(actor, "previous", "parts") ?? "").split(" "));
    const own = (this.#read(actor, "latest", "parts") ?? "")
      .split(" ")
      .filter((hash) => hash !== "" && !others.has(hash));
    if (own.length === 0 || this.#random.chance(0.3)) {
      this.#store.set(KEYS.snapshot(partitionOf(actor), actor, "latest"), "body", `${body} `);
      return true;
    }
    const part = this.#random.pick(own);
    const parts = KEYS.parts(partitionOf(actor), actor);
    const whole = this.#store.get(parts, part);
    this.#store.set(parts, part, this.#random.chance(0.5) ? undefined : "[]");
    this.#parts.push({ actor, body, restore: () => this.#store.set(parts, part, whole) });
    return true;
  }

  /**
   * Makes a damaged part whole when the next snapshot of its actor is written. The two snapshots may share the part, and
   * then none would be left to recover from. That snapshot may be the same one, whose request has come twice.
   */
  snapshotWritten(): void {
    this.#parts = this.#parts.filter(({ actor, body, restore }) => {
      const isPrevious = this.#read(actor, "previous", "body") === body;
      if (this.#read(actor, "latest", "body") === body && !isPrevious) return true;
      restore();
      return false;
    });
  }

  #read(actor: ActorId, which: "latest" | "previous", field: string): string | undefined {
    return this.#store.get(KEYS.snapshot(partitionOf(actor), actor, which), field);
  }
}
