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

/** Calls the listener after each loss of the connection to the server, or to any node of a cluster. */
export function onConnectionLost(connection: Connection, listener: () => void): void {
  connection.on("close", listener);
  connection.on("-node", listener);
  connection.on("node error", listener);
}
