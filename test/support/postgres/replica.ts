/** A streaming replica of a Postgres that a test has to itself. */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import pg from "pg";
import { startPostgres } from "../../../scripts/embedded/postgres.js";
import { writeRecord } from "../../../scripts/embedded/record.js";
import type { RunningServer } from "../../../scripts/embedded/server.js";
import { until } from "../until.js";

const quiet = (): void => undefined;

/** A primary without tables, and its replica. */
export class ReplicatedPostgres {
  readonly #primaryDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-primary-"));
  readonly #replicaDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-replica-"));
  #primary: RunningServer | undefined;
  #replica: RunningServer | undefined;

  static async start(): Promise<ReplicatedPostgres> {
    const servers = new ReplicatedPostgres();
    servers.#primary = await startPostgres({ dataDir: servers.#primaryDir, log: quiet, durable: false });
    await servers.#copyPrimary();
    await servers.startReplica();
    return servers;
  }

  get url(): string {
    return this.#primary?.url ?? "";
  }

  get readUrl(): string {
    return this.#replica?.url ?? "";
  }

  /** Starts the replica, again on the same port. */
  async startReplica(): Promise<void> {
    this.#replica = await startPostgres({ dataDir: this.#replicaDir, log: quiet, durable: false });
  }

  async stopReplica(): Promise<void> {
    await this.#replica?.stop(1_000);
  }

  /** Keeps the replica as it is now until the returned function is called. */
  async hold(): Promise<() => Promise<void>> {
    await query(this.readUrl, "select pg_wal_replay_pause()");
    const held = "select pg_get_wal_replay_pause_state() = 'paused' as held";
    await until(async () => (await query<{ held: boolean }>(this.readUrl, held))[0]?.held === true);
    return async () => {
      await query(this.readUrl, "select pg_wal_replay_resume()");
    };
  }

  /** Copies the files of the primary, as pg_basebackup does, which the embedded Postgres does not have. */
  async #copyPrimary(): Promise<void> {
    const { hostname, port, username, password } = new URL(this.url);
    const source = fs.realpathSync(path.join(this.#primaryDir, "postgres"));
    const target = path.join(this.#replicaDir, "postgres");
    let label = "";
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    try {
      await client.query("select pg_backup_start('replica', true)");
      // The owner of the cluster, under whom Postgres runs, must be able to enter the directory.
      fs.chmodSync(this.#replicaDir, 0o711);
      execFileSync("cp", ["-a", source, target]);
      const { rows } = await client.query<{ label: string }>(
        "select labelfile as label from pg_backup_stop()",
      );
      label = rows[0]?.label ?? "";
    } finally {
      await client.end();
    }
    for (const file of ["postmaster.pid", "postmaster.opts"])
      fs.rmSync(path.join(target, file), { force: true });
    const { uid, gid } = fs.statSync(source);
    for (const [file, text] of [
      ["backup_label", label],
      ["standby.signal", ""],
    ] as const) {
      fs.writeFileSync(path.join(target, file), text);
      fs.chownSync(path.join(target, file), uid, gid);
    }
    const conninfo = `host=${hostname} port=${port} user=${username} password=${password}`;
    fs.appendFileSync(path.join(target, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\n`);
    writeRecord(this.#replicaDir, "postgres", { port: Number(port), password });
  }

  async stop(): Promise<void> {
    await this.stopReplica();
    await this.#primary?.stop(1_000);
    for (const directory of [this.#primaryDir, this.#replicaDir])
      fs.rmSync(directory, { recursive: true, force: true });
  }
}

async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
