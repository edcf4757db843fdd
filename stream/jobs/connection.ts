/** BullMQ's own connections to Redis. They differ from the log's, which must never wait or resend by itself. */

import { Cluster, Redis, type RedisOptions } from "ioredis";

/** All job keys carry one hash tag, because BullMQ's scripts touch many of them at once. */
export const JOBS_PREFIX = "{jobs}";

const COMMON: RedisOptions = {
  connectTimeout: 3_000,
  keepAlive: 5_000,
  retryStrategy: (attempt) => Math.min(attempt * 20, 500),
};

const BY_USE: Record<"enqueue" | "work", RedisOptions> = {
  // Whoever enqueues wants a yes or a no soon; the sweep makes up for a no.
  enqueue: { ...COMMON, maxRetriesPerRequest: 1, commandTimeout: 3_000 },
  // BullMQ insists: a worker waits for Redis for as long as it takes.
  work: { ...COMMON, maxRetriesPerRequest: null },
};

/** Opens a connection. `redisUrl` is one URL, or a comma list of nodes of a Redis Cluster. */
export function connectJobs(redisUrl: string, use: "enqueue" | "work"): Redis | Cluster {
  const nodes = redisUrl.split(",");
  const options = BY_USE[use];
  const connection =
    nodes.length === 1
      ? new Redis(redisUrl, options)
      : new Cluster(nodes, { redisOptions: options, clusterRetryStrategy: COMMON.retryStrategy });
  // Without a listener a refused connection would be thrown; the commands that fail tell the same.
  connection.on("error", () => undefined);
  return connection;
}
