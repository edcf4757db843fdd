/** Keeps the tables in step with the logs of all actors: streams in, rows out, each entry exactly once. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ActorId } from "../../actors/actor.js";
import { type Clock, systemClock } from "../../stream/log/clock.js";
import type { Logger } from "../../stream/log/logger.js";
import { commonSeq, NOWHERE, type Position } from "../../stream/log/lineage.js";
import type { Entry } from "../../stream/log/ports.js";
import { isUnavailable } from "../database.js";
import { ProjectionBatch, ProjectionGap } from "./batch.js";
import { type Cursor, type Cursors, NO_ROWS } from "./cursor.js";
import type { Journal } from "./journal.js";
import { ProjectionLag } from "./lag.js";
import { ProgressMarks } from "./marks.js";
import { EntryQueue } from "./queue.js";
import { ProjectionSession } from "./session.js";
import { isInGroups, partitionsOf } from "./shares.js";

export interface ProjectorOptions {
  readonly databaseUrl: string;
  readonly journal: Journal;
  /** Invalidates caches of a market whose definition, status or grade has changed. */
  readonly marketChanged: (marketId: string) => Promise<void>;
  readonly logger: Logger;
  /** Engine time (default the clock of the host). */
  readonly time?: Pick<Clock, "now" | "monotonic"> | undefined;
  /** Time in ms of projecting after which the tables are bound to the log (default 10,000). */
  readonly bindAfterMs?: number | undefined;
}

/**
 * Time in ms after which the id of a log is on its disk and its replicas. A log that goes back later, by a power loss or a
 * fail-over, still has the id to which the tables are bound.
 */
const BIND_AFTER_MS = 10_000;
const STAND_BY_MS = 250;
/** Longest wait for entries, and shortest interval at which a projector counts the others to take its share. */
const DEAL_MS = 250;
/** Shortest interval between batches: a transaction costs about as much for one order as for twenty. */
const BATCH_MS = 50;
/** Pauses before an attempt to reach Postgres again. */
const RECONNECT_MS = { min: 50, max: 2_000 };
/** Pauses before another attempt to project an entry that failed. */
const FAILURE_MS = { min: 1_000, max: 60_000 };
/** Interval at which a projector forgets the cursors of markets that were removed since. */
const FORGET_MS = 600_000;
/** Maximum age of the market changes that a projector publishes again when it takes over. */
const REPUBLISH_MS = 60_000;

/** Writes its share of the read model; of several projectors, each writes a part of the actors. */
export class Projector {
  readonly #options: ProjectorOptions;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #active = false;
  #projectedEntries = 0;
  readonly #time: Pick<Clock, "now" | "monotonic">;
  readonly #lag: ProjectionLag;
  #reconciliations = 0;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#time = options.time ?? systemClock;
    this.#lag = new ProjectionLag(this.#time);
  }

  /** True while this projector writes; false while others own all actors, and after a failure. */
  get active(): boolean {
    return this.#active;
  }

  /** Number of entries written since the start. */
  get projectedEntries(): number {
    return this.#projectedEntries;
  }

  /** Returns the longest time in ms from the decision of an actor to its rows, since the last call. */
  takeLagMs(): number {
    return this.#lag.takeMs();
  }

  /** Age in ms of the oldest decision whose rows are being written, 0 at rest. */
  get lagMs(): number {
    return this.#lag.writingMs();
  }

  /** Number of actors whose tables were repaired because their log had lost entries, since the start. */
  get reconciliations(): number {
    return this.#reconciliations;
  }

  /**
   * Runs until `stop`. Tries again, with back-off and in a new session, after any error: an unreachable Postgres, a gap
   * in a log, or an entry that cannot be projected. The cursors stay before that entry, and the groups of actors are free
   * during the pause, so that a projector of a newer build can take over.
   */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  /** Finishes the transaction in progress and releases the groups of actors. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { logger } = this.#options;
    let reconnectMs = RECONNECT_MS.min;
    let failureMs = FAILURE_MS.min;
    let reported: string | undefined;
    while (!this.#stopping.signal.aborted) {
      const began = performance.now();
      let session: ProjectionSession | undefined;
      let pauseMs = 0;
      try {
        session = await ProjectionSession.open(this.#options.databaseUrl);
        reconnectMs = RECONNECT_MS.min;
        // A projector of another log must not take groups from those of this one.
        await this.#requireLog(session);
        while (await this.#standBy(session)) await this.#project(session);
      } catch (error) {
        if (isUnavailable(error) || session?.broken === true) {
          pauseMs = reconnectMs;
          reconnectMs = Math.min(reconnectMs * 2, RECONNECT_MS.max);
          logger.warn({ err: error, pauseMs }, "cannot reach Postgres; trying again");
        } else {
          // A failure after a long run is a new one, even when it has the same message.
          const isRepeat = String(error) === reported && performance.now() - began < FAILURE_MS.max;
          failureMs = isRepeat ? Math.min(failureMs * 2, FAILURE_MS.max) : FAILURE_MS.min;
          pauseMs = failureMs;
          reported = String(error);
          if (!isRepeat) logger.error({ err: error }, "the projector stopped; it tries again with back-off");
        }
      } finally {
        this.#active = false;
        await session?.close();
      }
      await this.#pause(pauseMs);
    }
  }

  /** Waits for groups of actors. Returns false if `stop` comes first. */
  async #standBy(session: ProjectionSession): Promise<boolean> {
    this.#active = false;
    this.#lag.forget();
    while (!this.#stopping.signal.aborted) {
      await session.deal();
      if (session.groups.size > 0) return true;
      await this.#pause(STAND_BY_MS);
    }
    return false;
  }

  /** Projects the actors of the session's groups, until projectors come or go, or `stop` comes. */
  async #project(session: ProjectionSession): Promise<void> {
    const { journal, logger, bindAfterMs = BIND_AFTER_MS } = this.#options;
    const partitions = partitionsOf(session.groups);
    const live = await this.#untilLogAnswers(session, () => journal.actors(partitions));
    if (live === undefined) return;
    const cursors = new Map(
      [...(await session.cursors(live))].filter(([actor]) => isInGroups(session.groups, actor)),
    );
    const heads = await this.#untilLogAnswers(session, () => journal.heads([...cursors.keys()]));
    if (heads === undefined) return;
    // Rows that another log does not have, or one that was emptied meanwhile, are not lost.
    const log = await this.#requireLog(session);
    if (log === undefined) return;
    await this.#reconcile(session, cursors, heads);
    const changed = await session.marketsChangedSince(this.#time.now() - REPUBLISH_MS);
    for (const marketId of changed) this.#publishChange(marketId);
    const queue = new EntryQueue();
    // Most last entries have their mark: the log must not hear of all of them again.
    const unmarked = [...cursors].filter(([actor, { seq }]) => seq > (heads.get(actor)?.projected ?? 0));
    const marks = new ProgressMarks(journal, logger, new Map(unmarked));
    const feed = journal.followAll(
      {
        cursors: new Map(cursors),
        partitions,
        positionsOf: (actors) => this.#loadCursors(session, cursors, actors),
      },
      (entries) => queue.put(entries),
      (actor, unreadable) => {
        const { seq } = cursors.get(actor) ?? NO_ROWS;
        queue.fail(unreadable ?? new ProjectionGap(`${actor}: the log has no entry that follows ${seq}`));
      },
    );
    const closeQueue = (): void => queue.close();
    this.#stopping.signal.addEventListener("abort", closeQueue);
    if (this.#stopping.signal.aborted) closeQueue();
    this.#active = true;
    logger.info({ actors: cursors.size, groups: [...session.groups] }, "projecting");
    const beganMs = performance.now();
    let dealtMs = beganMs;
    let forgottenMs = beganMs;
    let isBound = false;
    try {
      for (;;) {
        const entries = await queue.take(DEAL_MS);
        if (entries === undefined) return;
        const began = performance.now();
        if (entries.length === 0) await session.keepAlive();
        else {
          this.#lag.begin(entries);
          await this.#write(session, entries, cursors, marks);
          this.#lag.end();
        }
        if (!isBound && began - beganMs >= bindAfterMs) {
          await session.bindTo(log.id);
          isBound = true;
        }
        if (began - dealtMs >= DEAL_MS) {
          if (await session.mustDeal()) return;
          dealtMs = began;
        }
        if (began - forgottenMs >= FORGET_MS) {
          forgottenMs = began;
          const removed = await session.removedOf([...cursors.keys()]);
          for (const actor of removed) cursors.delete(actor);
          feed.forget(removed);
        }
        await this.#pause(Math.max(0, BATCH_MS - (performance.now() - began)));
      }
    } finally {
      this.#stopping.signal.removeEventListener("abort", closeQueue);
      queue.close();
      await feed.stop();
      await marks.close();
    }
  }

  /** Loads the cursors of actors that have none in memory, such as restored markets. */
  async #loadCursors(
    session: ProjectionSession,
    cursors: Map<ActorId, Cursor>,
    actors: readonly ActorId[],
  ): Promise<Cursors> {
    const unknown = actors.filter((actor) => !cursors.has(actor));
    if (unknown.length > 0)
      for (const [actor, cursor] of await session.cursorsOf(unknown))
        if (!cursors.has(actor)) cursors.set(actor, cursor);
    return cursors;
  }

  /** Returns what the log answers, or `undefined` if `stop` comes before. */
  async #untilLogAnswers<Answer>(
    session: ProjectionSession,
    ask: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    while (!this.#stopping.signal.aborted) {
      try {
        return await ask();
      } catch (error) {
        this.#options.logger.warn({ err: error }, "the log does not answer; trying again");
        await this.#pause(STAND_BY_MS);
        await session.keepAlive();
      }
    }
    return undefined;
  }

  /**
   * Returns the log with its id, or `undefined` if `stop` comes before. Throws `OtherLog` when the tables were written from
   * another one.
   */
  async #requireLog(session: ProjectionSession): Promise<{ readonly id: string | undefined } | undefined> {
    const { journal } = this.#options;
    const log = await this.#untilLogAnswers(session, async () => ({ id: await journal.logId() }));
    if (log !== undefined) await session.requireLog(log.id);
    return log;
  }

  /** Repairs the tables of every actor whose log has lost entries that are in them. Updates the cursors. */
  async #reconcile(
    session: ProjectionSession,
    cursors: Map<ActorId, Cursor>,
    heads: ReadonlyMap<ActorId, Position>,
  ): Promise<void> {
    const { journal, logger } = this.#options;
    for (const [actor, cursor] of cursors) {
      const common = commonSeq(cursor, heads.get(actor) ?? NOWHERE);
      if (common === cursor.seq) continue;
      if (common === undefined)
        throw new ProjectionGap(`${actor}: its log and the tables have no entry in common`);
      const lost = { actor, cursor, commonSeq: common };
      const repaired = await session.reconcile(lost, await journal.historyAfter(actor, common));
      cursors.set(actor, repaired.cursor);
      this.#reconciliations += 1;
      const fields = { actor, seq: common, lostSeq: cursor.seq, newSeq: repaired.cursor.seq };
      logger.error(
        { ...fields, removed: repaired.removed },
        "the log has lost entries that were in the tables; the tables are set to the state of the actor",
      );
      if (actor.startsWith("market:")) this.#publishChange(actor.slice("market:".length));
    }
  }

  async #write(
    session: ProjectionSession,
    entries: readonly Entry[],
    cursors: Map<ActorId, Cursor>,
    marks: ProgressMarks,
  ): Promise<void> {
    const actors = [...new Set(entries.map(({ actor }) => actor))];
    const batch = new ProjectionBatch(await this.#loadCursors(session, cursors, actors));
    for (const entry of entries) batch.take(entry);
    if (batch.cursors.size === 0) return;
    await session.write(batch);
    this.#projectedEntries += entries.length;
    for (const [actor, cursor] of batch.cursors) cursors.set(actor, cursor);
    marks.add(batch.cursors);
    for (const marketId of batch.changedMarkets) this.#publishChange(marketId);
  }

  /** Publishes without waiting, because a lost invalidation only leaves a cache stale for some seconds. */
  #publishChange(marketId: string): void {
    this.#options.marketChanged(marketId).catch((error: unknown) => {
      this.#options.logger.warn({ err: error, marketId }, "cannot publish the change of a market to caches");
    });
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}
