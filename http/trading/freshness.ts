/** Reading one's own writes from Postgres: wait until the projector has an actor's last commit. */

import type { ActorId } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { waitProjected } from "../../db/queries/projected.js";
import type { Tail } from "../../stream/log/ports.js";

/** How long a read waits; after that it answers with what is there. */
const WAIT_MS = 1_000;

export class Freshness {
  constructor(
    private readonly db: Database,
    private readonly tail: Pick<Tail, "head">,
  ) {}

  /** Waits, at most a second, until the tables hold everything that the actor has committed by now. */
  async reach(actor: ActorId): Promise<boolean> {
    return waitProjected(this.db, actor, await this.tail.head(actor), WAIT_MS);
  }
}
