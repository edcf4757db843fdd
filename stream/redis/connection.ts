/**
 * Connections to Redis. Commands that were under way when a connection is lost are rejected at once and never sent
 * again by the client: the outcome is unknown, and whoever asked decides what to do. Reconnecting goes on for ever.
 */

import { Cluster, Redis, type RedisOptions } from "ioredis";

export type Connection = Redis | Cluster;

const RECONNECT_STEP_MS = 20;
const RECONNECT_MAX_MS = 500;
const COMMAND_TIMEOUT_MS = 3_000;
/** A socket that owes an answer for so long is dead. */
const SOCKET_TIMEOUT_MS = 4_000;
const SUBSCRIBER_TIMEOUT_MS = 1_500;

export const backOff = (attempt: number): number => Math.min(attempt * RECONNECT_STEP_MS, RECONNECT_MAX_MS);

const COMMON: RedisOptions = {
  autoResendUnfulfilledCommands: false,
  // Zero rejects the commands under way as soon as the connection closes.
  maxRetriesPerRequest: 0,
  retryStrategy: backOff,
  connectTimeout: 3_000,
  keepAlive: 5_000,
  noDelay: true,
  socketTimeout: SOCKET_TIMEOUT_MS,
};

/** For a connection that only hears: whoever has it makes another when it is lost. */
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
  // Without a listener a refused connection would be thrown; the rejected commands tell the same.
  connection.on("error", () => undefined);
  return connection;
}

/** Calls whenever the connection to the server, or to any node of a cluster, was lost. */
export function onConnectionLost(connection: Connection, listener: () => void): void {
  connection.on("close", listener);
  connection.on("-node", listener);
  connection.on("node error", listener);
}
