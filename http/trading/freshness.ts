/**
 * Reads from Postgres that are never behind: they wait for the projector to write what an actor has committed, and to
 * remove what its log has lost. The waits of all requests share one query of Postgres at a time, and those of an actor
 * one query of the log.
 */

import { type ActorId, marketActor } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { findMarket, type MarketRecord } from "../../db/queries/catalog/markets.js";
import { contains, projectedPositions, type ProjectedPosition } from "../../db/queries/projected.js";
import { NOWHERE, type Position } from "../../stream/log/lineage.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { LogTail } from "../../stream/log/tail.js";
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
  /** Position of the log that the tables must have. */
  readonly head: Position;
  /** Engine time up to which the tables must have the entries, if they need not have them up to `head`. */
  readonly beforeMs: number | undefined;
  readonly untilMs: number;
  readonly end: (isReached: boolean) => void;
  readonly fail: (error: unknown) => void;
}

const NO_TABLES: ProjectedPosition = { ...NOWHERE, entryTs: null };

/** Waits for the projector on behalf of reads. */
export class Freshness {
  readonly #waits = new Set<Wait>();
  readonly #heads = new SharedRuns<Position>();
  #isPolling = false;

  constructor(
    private readonly db: Database,
    private readonly tail: Pick<LogTail, "position">,
  ) {}

  /**
   * Waits for the tables to hold the present commits of an actor, and no others.
   * @throws Unavailable when they do not after a second; a read would then miss what exists, or find what does not.
   */
  async reach(actor: ActorId): Promise<void> {
    if (!(await this.hasReached(actor)))
      throw new Unavailable("the database is behind the exchange; try again");
  }

  /**
   * Waits at most `waitMs` (default a second) for the tables to hold the present commits of an actor, or only those before
   * a time (Unix ms of the engine); returns whether they do.
   */
  async hasReached(actor: ActorId, beforeMs?: number, waitMs = WAIT_MS): Promise<boolean> {
    const head = await this.#head(actor);
    const untilMs = performance.now() + waitMs;
    const reached = new Promise<boolean>((end, fail) =>
      this.#wait({ actor, head, beforeMs, untilMs, end, fail }),
    );
    // A query of a database that has gone silent fails seconds later.
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((end) => (timer = setTimeout(end, waitMs, false)));
    return Promise.race([reached, late]).finally(() => clearTimeout(timer));
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

  #head(actor: ActorId): Promise<Position> {
    return this.#heads.run(actor, () => this.tail.position(actor));
  }

  #wait(wait: Wait): void {
    this.#waits.add(wait);
    if (!this.#isPolling) void this.#poll();
  }

  /** Ends the waits until there is none. Never rejects: a failure of the query ends all waits with it. */
  async #poll(): Promise<void> {
    this.#isPolling = true;
    while (this.#waits.size > 0) {
      const asked = [...this.#waits];
      try {
        const projected = await projectedPositions(this.db, [...new Set(asked.map(({ actor }) => actor))]);
        for (const wait of asked) this.#check(wait, projected.get(wait.actor) ?? NO_TABLES);
      } catch (error) {
        for (const wait of asked) this.#waits.delete(wait);
        for (const { fail } of asked) fail(error);
      }
      if (this.#waits.size > 0) await pause();
    }
    this.#isPolling = false;
  }

  #check(wait: Wait, tables: ProjectedPosition): void {
    if (!contains(wait.head, tables)) {
      this.#waits.delete(wait);
      void this.#compareAgain(wait, tables);
      return;
    }
    const isReached = hasReached(tables, wait);
    if (!isReached && performance.now() < wait.untilMs) return;
    this.#waits.delete(wait);
    wait.end(isReached);
  }

  /**
   * Compares tables that have entries beyond the head of a wait with the log as it is now: it has gone on, or it has lost
   * these entries, and the projector has yet to remove their rows. Never rejects.
   */
  async #compareAgain(wait: Wait, tables: ProjectedPosition): Promise<void> {
    try {
      const head = await this.#head(wait.actor);
      if (contains(head, tables) && hasReached(tables, wait)) {
        wait.end(true);
        return;
      }
      await pause();
      if (performance.now() < wait.untilMs) this.#wait({ ...wait, head });
      else wait.end(false);
    } catch (error) {
      wait.fail(error);
    }
  }
}

function hasReached(tables: ProjectedPosition, { head, beforeMs = Infinity }: Wait): boolean {
  return contains(tables, head) || (tables.entryTs !== null && tables.entryTs >= beforeMs);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, POLL_MS));
}
