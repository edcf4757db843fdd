/** Options of Node for the processes of the roles; `npm run worker` and the like have the same. */

/**
 * A collection of garbage stops the event loop until its helper threads have ended, and each of them may wait for a core. With
 * one helper, the p99 of requests fell by a third on two cores; machines with more of them were not measured.
 */
export const ROLE_NODE_OPTIONS: readonly string[] = ["--v8-pool-size=1"];
/**
 * With the default size of the young generation, the garbage collector runs so often that it copies much of what the
 * present step still needs. Twice that size takes up to 35 MB more memory.
 */
export const WORKER_NODE_OPTIONS: readonly string[] = ["--max-semi-space-size=32", ...ROLE_NODE_OPTIONS];
