/** The only connection that may write the read model. */

import { gt } from "drizzle-orm";
import pg from "pg";
import type { ActorId } from "../../actors/actor.js";
import { queriesOver } from "../database.js";
import { PROJECTOR_LOCK } from "../locks.js";
import { markets } from "../schema/markets.js";
import { projectorCursors } from "../schema/wallets.js";
import type { ProjectionBatch } from "./batch.js";
import { type Cursor, cursorOf } from "./cursor.js";
import type { History } from "./journal.js";
import { type LostHistory, reconcile } from "./repair/reconcile.js";

/**
 * Idle time after which Postgres ends a session, and with it the lock of a projector whose process hangs. A live
 * projector calls `keepAlive` more often.
 */
const IDLE_TIMEOUT_MS = 10_000;

/**
 * A connection that may hold the projector's lock. The session writes through the connection that holds the lock, so
 * a projector that has lost the lock cannot write any more, and two projectors never write at once.
 */
export class ProjectionSession {
  readonly #client: pg.Client;
  #broken = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on("error", () => (this.#broken = true));
    client.on("end", () => (this.#broken = true));
  }

  /** Connects; the session holds no lock yet. Only tests set `idleTimeoutMs`. */
  static async open(databaseUrl: string, idleTimeoutMs = IDLE_TIMEOUT_MS): Promise<ProjectionSession> {
    const client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: 5_000,
      statement_timeout: 60_000,
      keepAlive: true,
      application_name: "exchange projector",
    });
    const session = new ProjectionSession(client);
    try {
      await client.connect();
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

  /** Takes the lock if it is free. Returns true if this session holds it. */
  async tryLock(): Promise<boolean> {
    const result = await this.#client.query<{ locked: boolean }>(
      "select pg_try_advisory_lock($1) as locked",
      [PROJECTOR_LOCK],
    );
    return result.rows[0]?.locked === true;
  }

  /** Returns the cursors of all actors. */
  async cursors(): Promise<Map<ActorId, Cursor>> {
    const rows = await queriesOver(this.#client).select().from(projectorCursors);
    // The projector writes only ids of actors into this column.
    return new Map(rows.map((row) => [row.actor as ActorId, cursorOf(row)]));
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
    await this.#transaction(() => batch.write(this.#client));
  }

  /** Repairs the tables of an actor whose log has lost entries. */
  async reconcile(lost: LostHistory, history: History): ReturnType<typeof reconcile> {
    return this.#transaction(() => reconcile(this.#client, lost, history));
  }

  async #transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#client.query("begin");
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
    await this.#client.query("select 1");
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }
}
