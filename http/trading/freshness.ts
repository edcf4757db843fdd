/** Reads of one's own writes from Postgres: they wait for the projector to write an actor's last commit. */

import type { ActorId } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { waitProjected } from "../../db/queries/projected.js";
import type { Tail } from "../../stream/log/ports.js";

/** Time that a read waits for the projector, in ms. */
const WAIT_MS = 1_000;

/** Waits for the projector on behalf of reads. */
export class Freshness {
  constructor(
    private readonly db: Database,
    private readonly tail: Pick<Tail, "head">,
  ) {}

  /** Waits at most a second for the tables to hold the actor's present commits; returns whether they do. */
  async reach(actor: ActorId): Promise<boolean> {
    return waitProjected(this.db, actor, await this.tail.head(actor), WAIT_MS);
  }
}
