/** A streaming replica of the database, from which lists are read, and the check of how far it follows the primary. */

import { sql } from "drizzle-orm";
import type { Database } from "./database.js";

/** The write-ahead log of a server, and a position in it. */
interface WalPosition {
  readonly system: string;
  readonly lsn: string;
}

/** The replica of a primary. */
export class Replica {
  constructor(
    private readonly primary: Database,
    private readonly replica: Database,
  ) {}

  /** Returns a check of whether the replica has everything that is committed in the primary now. */
  async mark(): Promise<() => Promise<boolean>> {
    const committed = await this.#committed();
    return () => this.#has(committed);
  }

  /** Returns whether both are servers of one cluster; a logical replica is not. */
  async follows(): Promise<boolean> {
    const { system } = await this.#committed();
    return this.#has({ system, lsn: "0/0" });
  }

  async #committed(): Promise<WalPosition> {
    const { rows } = await this.primary.execute<{ system: string; lsn: string }>(sql`
      select system_identifier::text as system, pg_current_wal_lsn()::text as lsn from pg_control_system()`);
    const [position] = rows;
    if (position === undefined) throw new Error("Postgres does not tell its position in the write-ahead log");
    return position;
  }

  async #has({ system, lsn }: WalPosition): Promise<boolean> {
    // A replica that was promoted, or the primary itself, has replayed everything that it has.
    const { rows } = await this.replica.execute<{ has: boolean | null }>(sql`
      select system_identifier::text = ${system} and ${lsn}::pg_lsn <=
        case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end as has
      from pg_control_system()`);
    return rows[0]?.has === true;
  }
}
