/** Redis connections of BullMQ, apart from those of the log, which must never wait or resend by themselves. */

import { Cluster, type Redis, type RedisOptions } from "ioredis";
import { readAddress } from "../redis/address.js";
import { connectServer } from "../redis/connection.js";

/** Prefix of all job keys: one hash tag, because the scripts of BullMQ touch many of the keys at once. */
export const JOBS_PREFIX = "{jobs}";

const COMMON: RedisOptions = {
  connectTimeout: 3_000,
  keepAlive: 5_000,
  retryStrategy: (attempt) => Math.min(attempt * 20, 500),
};

const BY_USE: Record<"enqueue" | "work", RedisOptions> = {
  // A caller that enqueues needs an answer soon; after a failure the sweep enqueues the job.
  enqueue: { ...COMMON, maxRetriesPerRequest: 1, commandTimeout: 3_000 },
  // BullMQ requires of a worker that a command waits for a lost connection without a limit, and blocks for up to 10 s.
  work: { ...COMMON, maxRetriesPerRequest: null, commandTimeout: 15_000 },
};

/** Opens a connection. `redisUrl` is an address as `readAddress` reads it. */
export function connectJobs(redisUrl: string, use: "enqueue" | "work"): Redis | Cluster {
  const address = readAddress(redisUrl);
  const options = BY_USE[use];
  const connection =
    address.kind === "cluster"
      ? new Cluster(address.nodes, {
          redisOptions: { ...address.credentials, ...options },
          clusterRetryStrategy: COMMON.retryStrategy,
        })
      : connectServer(address, options);
  // An `error` event without a listener would throw. Failed commands report the same errors.
  connection.on("error", () => undefined);
  return connection;
}
