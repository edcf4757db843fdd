/** Connections to Postgres, and the errors that they raise. */

import {
  drizzle,
  type NodePgClient,
  type NodePgDatabase,
  type NodePgQueryResultHKT,
} from "drizzle-orm/node-postgres";
import type { PgDatabase } from "drizzle-orm/pg-core";
import pg from "pg";

export type Database = NodePgDatabase & { readonly $client: pg.Pool };
/** Runs queries: the database, a transaction of it, or one connection. */
export type Queries = PgDatabase<NodePgQueryResultHKT>;

/** Names of columns in Postgres, made from the property names of the schema. */
export const CASING = "snake_case";

/** Lets Drizzle run queries over a pool or a connection. */
export function queriesOver<Client extends NodePgClient>(client: Client) {
  return drizzle({ client, casing: CASING });
}

/** Time in ms for which an unused connection stays open: for a new one the server starts a process, and both compute hashes. */
const IDLE_MS = 300_000;
/** Time in ms that a server has to say that a statement took too long; one that says nothing hangs. */
export const CANCEL_MS = 500;
/** Lets the system notice within 15 s that the host behind an idle connection is gone: after 5 s it asks once a second. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const;

/**
 * Opens a pool. A statement runs for at most `statementTimeoutMs` (default 3.5 s), and a caller waits at most 3 s for a
 * connection, also when the server hangs; a connection whose server did not answer is closed. `onError` receives the
 * errors of idle connections.
 */
export function connect(
  databaseUrl: string,
  options: { maxConnections?: number; statementTimeoutMs?: number; onError?: (error: Error) => void } = {},
): Database {
  const { maxConnections = 10, statementTimeoutMs = 3_500 } = options;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: maxConnections,
    connectionTimeoutMillis: 3_000,
    idleTimeoutMillis: IDLE_MS,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + CANCEL_MS,
    ...KEEP_ALIVE,
    application_name: "exchange",
  });
  pool.on("error", (error) => options.onError?.(error));
  return Object.assign(queriesOver(pool), { transaction: transactionsOf(pool) });
}

/**
 * Returns `transaction` of a pool. Drizzle's own keeps a connection for ever when `begin` fails, and returns one to the
 * pool whose server has not answered yet.
 */
function transactionsOf(pool: pg.Pool): Database["transaction"] {
  return async (work, config) => {
    const client = await pool.connect();
    let failure: unknown;
    try {
      return await queriesOver(client).transaction(work, config);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.release(isUnavailable(failure));
    }
  };
}

/** Failure to reach Postgres or to log in to it; the message names the address and the cause, and never the password. */
export class DatabaseUnreachable extends Error {
  override readonly name = "DatabaseUnreachable";
}

/**
 * Resolves to the result of the first contact with a database.
 * @throws DatabaseUnreachable when no server answers, or when it refuses the user or the database.
 */
export async function firstContact<Result>(databaseUrl: string, contact: Promise<Result>): Promise<Result> {
  try {
    return await contact;
  } catch (error) {
    const cause = refusal(error);
    if (cause === undefined) throw error;
    const { hostname, port, pathname } = new URL(databaseUrl);
    const address = `${hostname}:${port === "" ? "5432" : port}${pathname}`;
    throw new DatabaseUnreachable(`Postgres at ${address} cannot be used: ${cause}`, { cause: error });
  }
}

/**
 * Checks that the database answers.
 * @throws DatabaseUnreachable when no server answers, or when it refuses the user or the database.
 */
export async function reach(db: Database, databaseUrl: string): Promise<void> {
  await firstContact(databaseUrl, db.$client.query("select 1"));
}

/** Returns why Postgres cannot be used, or undefined for any other error. */
function refusal(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    // Class 28 is a refused user or password, 3D a database that does not exist.
    if (/^(28|3D)/.test(code) || (isUnavailable(cause) && !(cause.cause instanceof Error))) {
      return cause.message === "" ? code : cause.message;
    }
  }
  return undefined;
}

/** Closes the pool after its running queries have ended. */
export async function disconnect(db: Database): Promise<void> {
  await db.$client.end();
}

const CONNECTION_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EHOSTUNREACH",
]);
const CONNECTION_MESSAGE =
  /connection terminated|query read timeout|timeout exceeded when trying to connect|client has encountered/i;

/** Returns whether an error of a query means that Postgres is unreachable or did not answer in time. */
export function isUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    // Class 08 is a connection error, 53 a full disk or too many connections, 57P a server that stops or starts, 57014 a
    // statement that exceeded its time limit, and 40001 one that a replica ended because it kept it from following.
    if (CONNECTION_CODES.has(code) || /^(08|53|57P|57014|40001)/.test(code)) return true;
    if (CONNECTION_MESSAGE.test(cause.message)) return true;
  }
  return false;
}

/** Returns the unique index or constraint that an insert violated, or `undefined` for any other error. */
export function violatedConstraint(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof pg.DatabaseError && cause.code === "23505") return cause.constraint;
  }
  return undefined;
}
