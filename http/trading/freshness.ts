/**
 * Reads from Postgres that are never behind: they wait for the projector to write what an actor has committed. The
 * waits of all requests share one query of Postgres at a time, and those of an actor one query of the log.
 */

import { type ActorId, marketActor } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { findMarket, type MarketRecord } from "../../db/queries/catalog/markets.js";
import { projectedPositions, type ProjectedPosition } from "../../db/queries/projected.js";
import { type Tail, Unavailable } from "../../stream/log/ports.js";
import { SharedRuns } from "./shared-runs.js";

/** Time that a read waits for the projector, in ms. */
const WAIT_MS = 1_000;
/** Interval at which the waits read the cursors of the projector, which commits many times a second, in ms. */
const POLL_MS = 5;

/** The tables from which a gateway reads lists: those of the primary, or of a replica, which may be further behind. */
export interface ReadModel {
  readonly db: Database;
  /** Waits for these tables. */
  readonly freshness: Freshness;
}

interface Wait {
  readonly actor: ActorId;
  readonly seq: number;
  /** Engine time up to which the tables must have the entries, if they need not have them up to `seq`. */
  readonly beforeMs: number | undefined;
  readonly untilMs: number;
  readonly end: (isReached: boolean) => void;
  readonly fail: (error: unknown) => void;
}

/** Waits for the projector on behalf of reads. */
export class Freshness {
  readonly #waits = new Set<Wait>();
  readonly #heads = new SharedRuns<number>();
  #isPolling = false;

  constructor(
    private readonly db: Database,
    private readonly tail: Pick<Tail, "head">,
  ) {}

  /**
   * Waits for the tables to hold the present commits of an actor.
   * @throws Unavailable when they do not after a second; a read would then miss what exists.
   */
  async reach(actor: ActorId): Promise<void> {
    if (!(await this.hasReached(actor)))
      throw new Unavailable("the database is behind the exchange; try again");
  }

  /**
   * Waits at most a second for the tables to hold the present commits of an actor, or only its commits before a time
   * (Unix ms of the engine); returns whether they do.
   */
  async hasReached(actor: ActorId, beforeMs?: number): Promise<boolean> {
    const seq = await this.#heads.run(actor, () => this.tail.head(actor));
    if (seq === 0) return true;
    return new Promise((end, fail) => {
      this.#waits.add({ actor, seq, beforeMs, untilMs: performance.now() + WAIT_MS, end, fail });
      if (!this.#isPolling) void this.#poll();
    });
  }

  /**
   * Returns a market of the tables. A market that they lack is new, or there is none: then they have to hold what its
   * actor has committed. Throws `Unavailable`.
   */
  async market(marketId: string): Promise<MarketRecord | undefined> {
    const found = await findMarket(this.db, marketId);
    if (found !== undefined) return found;
    await this.reach(marketActor(marketId));
    return findMarket(this.db, marketId);
  }

  /** Ends the waits until there is none. Never rejects: a failure of the query ends all waits with it. */
  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#waits.size > 0) {
      const asked = [...this.#waits];
      try {
        const projected = await projectedPositions(this.db, [...new Set(asked.map(({ actor }) => actor))]);
        for (const wait of asked) this.#check(wait, projected.get(wait.actor));
      } catch (error) {
        for (const wait of asked) this.#waits.delete(wait);
        for (const { fail } of asked) fail(error);
      }
      if (this.#waits.size > 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    this.#isPolling = false;
  }

  #check(wait: Wait, projected: ProjectedPosition | undefined): void {
    const { seq = 0, entryTs = null } = projected ?? {};
    const isReached = seq >= wait.seq || (entryTs !== null && entryTs >= (wait.beforeMs ?? Infinity));
    if (!isReached && performance.now() < wait.untilMs) return;
    this.#waits.delete(wait);
    wait.end(isReached);
  }
}
