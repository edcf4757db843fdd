/** Keeps the tables in step with the logs of all actors: streams in, rows out, each entry exactly once. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ActorId } from "../../actors/actor.js";
import type { Logger } from "../../stream/log/logger.js";
import type { Entry } from "../../stream/log/ports.js";
import { isUnavailable } from "../database.js";
import { ProjectionBatch, ProjectionGap } from "./batch.js";
import { EntryQueue } from "./queue.js";
import { ProjectionSession } from "./session.js";

/** What the projector needs of the log. */
export interface Journal {
  /**
   * Gives the entries of every actor, each actor's in order after the seq that `afterSeq` has for it. Waits for the
   * promise that `onEntries` returns before it gives more. `onGap` names an actor whose next entries are gone.
   */
  followAll(
    afterSeq: ReadonlyMap<ActorId, number>,
    onEntries: (entries: readonly Entry[]) => Promise<void>,
    onGap: (actor: ActorId) => void,
  ): { stop(): Promise<void> };
  /** The last entry of each of these actors' logs, 0 for none. */
  heads(actors: readonly ActorId[]): Promise<ReadonlyMap<ActorId, number>>;
  /** Tells the log how far the tables are, so that it may trim. */
  markProjected(seqs: ReadonlyMap<ActorId, number>): Promise<void>;
}

export interface ProjectorOptions {
  readonly databaseUrl: string;
  readonly journal: Journal;
  /** Tells caches that a market's definition, status or grade has changed. */
  readonly marketChanged: (marketId: string) => Promise<void>;
  readonly log: Logger;
}

const STAND_BY_MS = 250;
const KEEP_ALIVE_MS = 2_000;
const MARK_MS = 100;
/** From one batch to the next, at least: a transaction costs about as much for one order as for twenty. */
const BATCH_MS = 50;
const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;
/** How far back changes are told again by a projector that takes over. */
const RETELL_MS = 60_000;

export class Projector {
  readonly #options: ProjectorOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #active = false;

  constructor(options: ProjectorOptions) {
    this.#options = options;
  }

  /** Whether this projector writes; else it stands by while another one does, or Postgres cannot be reached. */
  get active(): boolean {
    return this.#active;
  }

  /**
   * Runs until `stop`. While Postgres cannot be reached it tries again with back-off. Rejects on what trying again
   * cannot mend: a gap in a log, or an entry that does not fit the tables.
   */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Finishes the transaction under way and lets go of the lock. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running?.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    let pauseMs = RETRY_MIN_MS;
    while (!this.#stopping.signal.aborted) {
      let session: ProjectionSession | undefined;
      try {
        session = await ProjectionSession.open(this.#options.databaseUrl);
        pauseMs = RETRY_MIN_MS;
        if (await this.#standBy(session)) await this.#project(session);
      } catch (error) {
        if (!isUnavailable(error) && session?.broken !== true) throw error;
        log.warn({ err: error, pauseMs }, "Postgres cannot be reached, trying again");
        await this.#pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, RETRY_MAX_MS);
      } finally {
        this.#active = false;
        await session?.close();
      }
    }
  }

  /** Waits for the lock; false when told to stop first. */
  async #standBy(session: ProjectionSession): Promise<boolean> {
    while (!this.#stopping.signal.aborted) {
      if (await session.tryLock()) return true;
      await this.#pause(STAND_BY_MS);
    }
    return false;
  }

  async #project(session: ProjectionSession): Promise<void> {
    const { journal, log } = this.#options;
    const cursors = await session.cursors();
    if (!(await this.#checkHeads(session, cursors))) return;
    for (const marketId of await session.marketsChangedSince(Date.now() - RETELL_MS)) this.#tell(marketId);
    const queue = new EntryQueue();
    const marks = new Marks(journal, log, cursors);
    const feed = journal.followAll(
      new Map(cursors),
      (entries) => queue.put(entries),
      (actor) => queue.fail(new ProjectionGap(`${actor}: entries after ${cursors.get(actor) ?? 0} are gone`)),
    );
    const stopped = (): void => queue.close();
    this.#stopping.signal.addEventListener("abort", stopped);
    if (this.#stopping.signal.aborted) stopped();
    this.#active = true;
    log.info({ actors: cursors.size }, "projecting");
    try {
      for (;;) {
        const entries = await queue.take(KEEP_ALIVE_MS);
        if (entries === undefined) return;
        const began = performance.now();
        if (entries.length === 0) await session.keepAlive();
        else await this.#write(session, entries, cursors, marks);
        await this.#pause(Math.max(0, BATCH_MS - (performance.now() - began)));
      }
    } finally {
      this.#stopping.signal.removeEventListener("abort", stopped);
      queue.close();
      await feed.stop();
      await marks.close();
    }
  }

  /**
   * A log that ends before its cursor has lost entries that are in the tables: what it says from now on would be
   * taken for repeats. False when told to stop before the log answered.
   */
  async #checkHeads(session: ProjectionSession, cursors: ReadonlyMap<ActorId, number>): Promise<boolean> {
    while (!this.#stopping.signal.aborted) {
      let heads: ReadonlyMap<ActorId, number>;
      try {
        heads = await this.#options.journal.heads([...cursors.keys()]);
      } catch (error) {
        this.#options.log.warn({ err: error }, "the log does not answer, trying again");
        await this.#pause(STAND_BY_MS);
        await session.keepAlive();
        continue;
      }
      for (const [actor, seq] of cursors) {
        const head = heads.get(actor) ?? 0;
        if (head < seq)
          throw new ProjectionGap(`${actor}: the tables have entry ${seq}, its log ends at ${head}`);
      }
      return true;
    }
    return false;
  }

  async #write(
    session: ProjectionSession,
    entries: readonly Entry[],
    cursors: Map<ActorId, number>,
    marks: Marks,
  ): Promise<void> {
    const batch = new ProjectionBatch(cursors);
    for (const entry of entries) batch.take(entry);
    if (batch.cursors.size === 0) return;
    await session.write(batch);
    for (const [actor, seq] of batch.cursors) cursors.set(actor, seq);
    marks.add(batch.cursors);
    for (const marketId of batch.changedMarkets) this.#tell(marketId);
  }

  /** A change that is not told costs a cache some seconds of age, so it must not hold up the projection. */
  #tell(marketId: string): void {
    this.#options.marketChanged(marketId).catch((error: unknown) => {
      this.#options.log.warn({ err: error, marketId }, "caches were not told of a market's change");
    });
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}

/** Tells the log how far the tables are: not at each commit but some times a second, the latest of each actor. */
class Marks {
  readonly #journal: Journal;
  readonly #log: Logger;
  #pending: Map<ActorId, number>;
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(journal: Journal, log: Logger, first: ReadonlyMap<ActorId, number>) {
    this.#journal = journal;
    this.#log = log;
    this.#pending = new Map(first);
    this.#send();
  }

  add(seqs: ReadonlyMap<ActorId, number>): void {
    for (const [actor, seq] of seqs) this.#pending.set(actor, seq);
    this.#send();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
  }

  #send(): void {
    this.#sending ??= this.#flush().finally(() => {
      this.#sending = undefined;
    });
  }

  async #flush(): Promise<void> {
    while (this.#pending.size > 0) {
      const marks = this.#pending;
      this.#pending = new Map();
      try {
        await this.#journal.markProjected(marks);
      } catch (error) {
        // The log only trims later; the marks go out with the next ones.
        this.#log.warn({ err: error }, "the log was not told how far the tables are");
        for (const [actor, seq] of marks) if (!this.#pending.has(actor)) this.#pending.set(actor, seq);
        if (this.#closed) return;
      }
      if (!this.#closed) await sleep(MARK_MS);
    }
  }
}
