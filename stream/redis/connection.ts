/**
 * Connections to Redis. When a connection is lost, the commands in progress are rejected at once. The client never
 * sends them again, because their outcome is unknown and the caller must decide. The client reconnects without limit.
 */

import { Cluster, Redis, type RedisOptions } from "ioredis";

export type Connection = Redis | Cluster;

const RECONNECT_STEP_MS = 20;
const RECONNECT_MAX_MS = 500;
const COMMAND_TIMEOUT_MS = 3_000;
/** A socket without a due reply for this long is dead. */
const SOCKET_TIMEOUT_MS = 4_000;
/** Longest wait for the first reply, in ms: a time-out of the connection, or of its command, comes before. */
const FIRST_REPLY_MS = 5_000;
const NO_REPLY = "it does not answer; it may be loading its data, or be stopped";
const SUBSCRIBER_TIMEOUT_MS = 1_500;

export const backOff = (attempt: number): number => Math.min(attempt * RECONNECT_STEP_MS, RECONNECT_MAX_MS);

const COMMON: RedisOptions = {
  autoResendUnfulfilledCommands: false,
  // Zero rejects the commands in progress as soon as the connection closes.
  maxRetriesPerRequest: 0,
  retryStrategy: backOff,
  connectTimeout: 3_000,
  keepAlive: 5_000,
  noDelay: true,
  socketTimeout: SOCKET_TIMEOUT_MS,
};

/** Options of a connection for subscriptions. Its owner opens a new connection when it is lost. */
export const SUBSCRIBER_OPTIONS: RedisOptions = {
  ...COMMON,
  retryStrategy: () => null,
  autoResubscribe: false,
  commandTimeout: SUBSCRIBER_TIMEOUT_MS,
};

/** Options of a connection for heartbeats, without its functions, which cannot be passed to a thread. */
export const HEARTBEAT_OPTIONS: RedisOptions = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1_000,
  commandTimeout: 1_500,
  socketTimeout: 2_000,
  noDelay: true,
};

/** Opens a connection for commands. `url` is one URL, or a comma list of nodes of a Redis Cluster. */
export function connect(url: string): Connection {
  const nodes = url.split(",");
  const options = { ...COMMON, commandTimeout: COMMAND_TIMEOUT_MS };
  const connection =
    nodes.length === 1
      ? new Redis(url, options)
      : new Cluster(nodes, {
          redisOptions: options,
          clusterRetryStrategy: backOff,
          slotsRefreshTimeout: 3_000,
        });
  // Without a listener, a refused connection would be thrown. The commands are rejected with the same error.
  connection.on("error", () => undefined);
  return connection;
}

/** Failure to reach Redis or to log in to it; the message names the address and the cause, and never the password. */
export class RedisUnreachable extends Error {
  override readonly name = "RedisUnreachable";
}

/** Returns the addresses of a Redis URL, or of a comma list of them, without user and password. */
function addressesOf(url: string): string {
  return url
    .split(",")
    .map((node) => new URL(node))
    .map(({ hostname, port }) => `${hostname}:${port === "" ? "6379" : port}`)
    .join(", ");
}

/**
 * Resolves to the first reply of a new connection.
 * @throws RedisUnreachable with the first error of the connection, which says more than the rejected command.
 */
export async function firstReply(
  url: string,
  connection: Connection,
  ask: () => Promise<string>,
): Promise<string> {
  let connectionError: Error | undefined;
  const note = (error: Error): void => {
    connectionError ??= error;
  };
  connection.on("error", note);
  try {
    // A cluster queues the command without a limit while it finds no node.
    return await Promise.race([ask(), noReply(FIRST_REPLY_MS)]);
  } catch (error) {
    const cause = causeOf(connectionError ?? error);
    throw new RedisUnreachable(`Redis at ${addressesOf(url)} cannot be used: ${cause}`, { cause: error });
  } finally {
    connection.off("error", note);
  }
}

function noReply(afterMs: number): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(NO_REPLY)), afterMs).unref());
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A cluster reports that no node answered, and has the reason of the last node beside it.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return causeOf(error.lastNodeError);
  if (error.message === "Command timed out") return NO_REPLY;
  return error.message === "" && "code" in error ? String(error.code) : error.message;
}

/** Calls the listener after each loss of the connection to the server, or to any node of a cluster. */
export function onConnectionLost(connection: Connection, listener: () => void): void {
  connection.on("close", listener);
  connection.on("-node", listener);
  connection.on("node error", listener);
}
