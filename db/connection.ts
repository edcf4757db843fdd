/**
 * Single connections to Postgres beside the pools: for locks that a session holds, and for statements that may rightly take
 * minutes.
 */

import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { CANCEL_MS, KEEP_ALIVE } from "./database.js";

export interface ConnectionOptions {
  /** Name of the work, by which Postgres lists the connection. */
  readonly name: string;
  /** Time in ms without any answer of the server after which the connection is closed (default 5 s). */
  readonly silenceMs?: number;
  /**
   * Longest time of a statement in ms; default: no limit. The server keeps it, so a transaction may set another one, up to
   * `LONGEST_STATEMENT_MS`.
   */
  readonly statementTimeoutMs?: number;
}

/** Silence for long statements, in ms: a migration that is cut off on a slow disk has worked for nothing. */
export const PATIENT_MS = 30_000;
/** Time in ms after which a limited statement fails here, when its answer was lost on the way or its server process hangs. */
export const LONGEST_STATEMENT_MS = 600_000;
/** Longest wait in ms for a connection. */
const CONNECT_MS = 10_000;
/** Interval of the queries that show whether the server answers, in ms. */
const WATCH_MS = 1_000;
/** Time in ms that a server has to close a connection. */
const CLOSE_MS = 1_000;

/**
 * A connection that fails when the server goes silent, such as after a power loss of its host, which sends no word. A
 * second connection asks the server once a second, because on the first one a long statement and a dead server look alike.
 */
export class Connection {
  readonly client: pg.Client;
  readonly #socket = new Socket();
  readonly #watcher: pg.Client;
  readonly #watcherSocket = new Socket();
  readonly #silenceMs: number;
  readonly #closing = new AbortController();

  constructor(databaseUrl: string, { name, silenceMs = 5_000, statementTimeoutMs }: ConnectionOptions) {
    this.#silenceMs = silenceMs;
    const common = {
      connectionString: databaseUrl,
      connectionTimeoutMillis: Math.min(silenceMs, CONNECT_MS),
      ...KEEP_ALIVE,
    };
    this.client = new pg.Client({
      ...common,
      stream: () => this.#socket,
      application_name: name,
      ...(statementTimeoutMs !== undefined && {
        statement_timeout: statementTimeoutMs,
        query_timeout: LONGEST_STATEMENT_MS + CANCEL_MS,
      }),
    });
    this.#watcher = new pg.Client({
      ...common,
      stream: () => this.#watcherSocket,
      application_name: `${name} watch`,
      query_timeout: silenceMs,
    });
    // The queries of a lost connection fail.
    for (const client of [this.client, this.#watcher]) client.on("error", () => undefined);
  }

  /** Connects, and watches the server until `close`. */
  async open(): Promise<void> {
    await this.client.connect();
    await this.#watcher.connect();
    void this.#watch();
  }

  /** Closes the connection, within a second also when the server does not answer. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([end(this.client, this.#socket), end(this.#watcher, this.#watcherSocket)]);
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    try {
      for (;;) {
        await this.#watcher.query("select 1");
        await sleep(WATCH_MS, undefined, { signal });
      }
    } catch (error) {
      if (signal.aborted) return;
      const reason = `Connection terminated: Postgres has not answered for ${this.#silenceMs} ms`;
      this.#socket.destroy(new Error(reason, { cause: error }));
    }
  }
}

async function end(client: pg.Client, socket: Socket): Promise<void> {
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
  await client.end().catch(() => undefined);
  clearTimeout(timer);
}
