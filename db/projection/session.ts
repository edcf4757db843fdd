/** The one connection that may write the read model. */

import { sql } from "drizzle-orm";
import pg from "pg";
import type { ActorId } from "../../actors/actor.js";
import { queriesOver } from "../database.js";
import { projectorCursors } from "../schema/wallets.js";
import type { ProjectionBatch } from "./batch.js";

/** Any number will do that nothing else in the database locks. */
const PROJECTOR_LOCK = 7_106_002;
/**
 * A session that says nothing for so long is ended by Postgres, and its lock with it: that is what frees the lock
 * of a projector whose process hangs. A live one says something every `keepAlive`.
 */
const SILENCE_MS = 10_000;

/**
 * A session holds the projector's lock for as long as its connection lives, and it writes through that very
 * connection. So two projectors never write at once: whoever has lost the lock has lost the connection too.
 */
export class ProjectionSession {
  readonly #client: pg.Client;
  #broken = false;

  private constructor(client: pg.Client) {
    this.#client = client;
    client.on("error", () => (this.#broken = true));
    client.on("end", () => (this.#broken = true));
  }

  /** Connects; the session holds no lock yet. `silenceMs` is for tests. */
  static async open(databaseUrl: string, silenceMs = SILENCE_MS): Promise<ProjectionSession> {
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
      await client.query(`set idle_session_timeout = ${silenceMs}`);
      await client.query(`set idle_in_transaction_session_timeout = ${silenceMs}`);
    } catch (error) {
      await session.close();
      throw error;
    }
    return session;
  }

  /** Whether the connection is known to be gone. */
  get broken(): boolean {
    return this.#broken;
  }

  /** Takes the lock if it is free; the answer says whether this session holds it now. */
  async tryLock(): Promise<boolean> {
    const result = await this.#client.query<{ locked: boolean }>(
      "select pg_try_advisory_lock($1) as locked",
      [PROJECTOR_LOCK],
    );
    return result.rows[0]?.locked === true;
  }

  /** The cursors of all actors. */
  async cursors(): Promise<Map<ActorId, number>> {
    const db = queriesOver(this.#client);
    const rows = await db.select().from(projectorCursors);
    // Only names of actors are ever written there.
    return new Map(rows.map((row) => [row.actor as ActorId, row.seq]));
  }

  /** Markets that changed after `ts`: what a projector that died may not have told anybody. */
  async marketsChangedSince(ts: number): Promise<string[]> {
    const db = queriesOver(this.#client);
    const result = await db.execute<{ market_id: string }>(
      sql`select market_id from markets where updated_ts > ${ts}`,
    );
    return result.rows.map((row) => row.market_id);
  }

  async write(batch: ProjectionBatch): Promise<void> {
    await batch.write(this.#client);
  }

  async keepAlive(): Promise<void> {
    await this.#client.query("select 1");
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }
}
