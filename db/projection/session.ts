/** The connection through which a projector writes its share of the read model. */

import { and, eq, gt, isNotNull, notExists, type SQL, sql } from "drizzle-orm";
import type pg from "pg";
import type { ActorId } from "../../actors/actor.js";
import { Connection } from "../connection.js";
import { queriesOver } from "../database.js";
import { PROJECTOR_GROUPS, PROJECTOR_LOCK } from "../locks.js";
import { bindToLog, requireLog } from "../queries/installation.js";
import { archiveReader } from "../queries/catalog/removed-markets.js";
import { requireReadableRows } from "../rows-version.js";
import { markets, removedMarkets } from "../schema/markets.js";
import { projectorCursors } from "../schema/wallets.js";
import type { ProjectionBatch } from "./batch.js";
import { type Cursor, cursorOf } from "./cursor.js";
import type { History } from "./journal.js";
import { type LostHistory, reconcile } from "./repair/reconcile.js";
import { quotaOf } from "./shares.js";

/**
 * Idle time after which Postgres ends a session, and with it the locks of a projector whose process hangs. A live
 * projector calls `keepAlive` more often.
 */
const IDLE_TIMEOUT_MS = 10_000;

/**
 * Begins a transaction whose statements find every row by its key. Postgres plans them once for each connection, and keeps
 * the plan: while the table of open orders is small it would choose a plan that reads the whole table.
 */
const BEGIN_BY_KEY =
  "begin; set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off";

/**
 * A connection that owns groups of actors. The session writes through the connection that holds the locks, so a projector
 * that has lost them cannot write any more, and two projectors never write the same actor at once.
 */
export class ProjectionSession {
  readonly #connection: Connection;
  readonly #client: pg.Client;
  readonly #groups = new Set<number>();
  /** True when the session counts as a live projector. */
  #isMember = false;
  /** The queries in progress. The feed of entries loads cursors while the projector writes. */
  #busy: Promise<unknown> = Promise.resolve();
  #broken = false;

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.#client = connection.client;
    this.#client.on("error", () => (this.#broken = true));
    this.#client.on("end", () => (this.#broken = true));
  }

  /** Connects; the session owns no group yet. Only tests set `idleTimeoutMs`. */
  static async open(databaseUrl: string, idleTimeoutMs = IDLE_TIMEOUT_MS): Promise<ProjectionSession> {
    const connection = new Connection(databaseUrl, {
      name: "exchange projector",
      statementTimeoutMs: 60_000,
    });
    const { client } = connection;
    const session = new ProjectionSession(connection);
    try {
      await connection.open();
      await client.query(`set idle_session_timeout = ${idleTimeoutMs}`);
      await client.query(`set idle_in_transaction_session_timeout = ${idleTimeoutMs}`);
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** True once the connection is known to be lost. */
  get broken(): boolean {
    return this.#broken;
  }

  /** The groups of actors that this session may write. */
  get groups(): ReadonlySet<number> {
    return this.#groups;
  }

  /**
   * Releases the groups beyond the share of this session, and takes free ones up to it. Takes none while a projector of
   * the build before shares writes. The caller writes nothing meanwhile. Throws `NewerRows`.
   */
  async deal(): Promise<void> {
    await requireReadableRows(this.#client);
    this.#isMember ||= await this.#tryLock("pg_try_advisory_lock_shared($1)", [PROJECTOR_LOCK]);
    if (!this.#isMember) return;
    const quota = quotaOf((await this.#holders()).projectors);
    for (const group of [...this.#groups].slice(quota)) {
      await this.#client.query("select pg_advisory_unlock($1, $2)", [PROJECTOR_LOCK, group]);
      this.#groups.delete(group);
    }
    for (let group = 0; group < PROJECTOR_GROUPS && this.#groups.size < quota; group += 1) {
      if (this.#groups.has(group)) continue;
      if (await this.#tryLock("pg_try_advisory_lock($1, $2)", [PROJECTOR_LOCK, group]))
        this.#groups.add(group);
    }
  }

  /** Throws `OtherLog` when the tables were written from another log. */
  requireLog(logId: string | undefined): Promise<void> {
    return this.#alone(() => requireLog(queriesOver(this.#client), logId));
  }

  /** Binds the tables to the log that they are written from. Throws as `requireLog` does. */
  bindTo(logId: string | undefined): Promise<void> {
    return this.#alone(() => bindToLog(queriesOver(this.#client), logId, Date.now()));
  }

  /** Returns true when `deal` would change the groups of this session. Throws `NewerRows`. */
  async mustDeal(): Promise<boolean> {
    await this.#alone(() => requireReadableRows(this.#client));
    const { projectors, groups } = await this.#alone(() => this.#holders());
    const quota = quotaOf(projectors);
    return this.#groups.size > quota || (this.#groups.size < quota && groups < PROJECTOR_GROUPS);
  }

  async #tryLock(call: string, parameters: readonly number[]): Promise<boolean> {
    const sql = `select ${call} as locked`;
    const result = await this.#client.query<{ locked: boolean }>(sql, [...parameters]);
    return result.rows[0]?.locked === true;
  }

  /** Returns the number of live projectors, and of the groups that they own. */
  async #holders(): Promise<{ readonly projectors: number; readonly groups: number }> {
    // Postgres shows a 64-bit lock id with objsubid 1, and a pair of 32-bit ids with objsubid 2.
    const { rows } = await this.#client.query<{ projectors: number; groups: number }>(
      `select count(*) filter (where classid = 0 and objid = $1 and objsubid = 1)::integer as projectors,
         count(*) filter (where classid = $1 and objsubid = 2)::integer as groups
       from pg_locks where locktype = 'advisory' and granted
         and database = (select oid from pg_database where datname = current_database())`,
      [PROJECTOR_LOCK],
    );
    return rows[0] ?? { projectors: 0, groups: 0 };
  }

  /** Returns the cursors of some actors, and of all others except removed markets. */
  async cursors(actors: readonly ActorId[]): Promise<Map<ActorId, Cursor>> {
    const removed = queriesOver(this.#client)
      .select({ one: sql`1` })
      .from(removedMarkets)
      .where(
        and(
          isNotNull(removedMarkets.hash),
          eq(projectorCursors.actor, sql`'market:' || ${removedMarkets.marketId}`),
        ),
      );
    // One statement for both would look removed markets up row by row.
    return new Map([...(await this.#cursorsWhere(notExists(removed))), ...(await this.cursorsOf(actors))]);
  }

  /** Returns the cursors of some actors. */
  async cursorsOf(actors: readonly ActorId[]): Promise<Map<ActorId, Cursor>> {
    return this.#alone(() => this.#cursorsWhere(isOneOf(actors)));
  }

  /** Runs queries after those in progress, because a connection takes one at a time. */
  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#busy.then(work);
    this.#busy = result.catch(() => undefined);
    return result;
  }

  async #cursorsWhere(condition: SQL): Promise<Map<ActorId, Cursor>> {
    const rows = await queriesOver(this.#client).select().from(projectorCursors).where(condition);
    // The projector writes only ids of actors into this column.
    return new Map(rows.map((row) => [row.actor as ActorId, cursorOf(row)]));
  }

  /** Returns those of some actors that are removed markets. */
  removedOf(actors: readonly ActorId[]): Promise<readonly ActorId[]> {
    return this.#alone(() => archiveReader(queriesOver(this.#client)).removedOf(actors));
  }

  /** Returns the markets that changed after `ts`, whose changes a projector that died may not have published. */
  async marketsChangedSince(ts: number): Promise<string[]> {
    const rows = await queriesOver(this.#client)
      .select({ marketId: markets.marketId })
      .from(markets)
      .where(gt(markets.updatedTs, ts));
    return rows.map(({ marketId }) => marketId);
  }

  async write(batch: ProjectionBatch): Promise<void> {
    await this.#alone(() => this.#transaction(() => batch.write(this.#client), BEGIN_BY_KEY));
  }

  /** Repairs the tables of an actor whose log has lost entries. */
  async reconcile(lost: LostHistory, history: History): ReturnType<typeof reconcile> {
    return this.#alone(() => this.#transaction(() => reconcile(this.#client, lost, history)));
  }

  async #transaction<Result>(work: () => Promise<Result>, begin = "begin"): Promise<Result> {
    await this.#client.query(begin);
    try {
      const result = await work();
      await this.#client.query("commit");
      return result;
    } catch (error) {
      // On a broken connection the rollback fails too, and the server has already rolled back.
      await this.#client.query("rollback").catch(() => undefined);
      throw error;
    }
  }

  async keepAlive(): Promise<void> {
    await this.#alone(() => this.#client.query("select 1"));
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

/** SQL of the cursors of some actors; one parameter, because a statement may have too few for all of them. */
function isOneOf(actors: readonly ActorId[]): SQL {
  return sql`${projectorCursors.actor} = any(${sql.param(actors)}::text[])`;
}
