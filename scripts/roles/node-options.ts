/** Options of Node for the processes of the roles; `npm run worker` and the like have the same. */

/**
 * A collection of garbage waits for its helper threads, which may wait for a core, and whatever runs then waits for them, so
 * there is one.
 */
export const NODE_OPTIONS: readonly string[] = ["--v8-pool-size=1"];
/**
 * With the default size of the young generation, the garbage collector runs so often that it copies much of what the
 * present step still needs. Twice that size takes up to 35 MB more memory.
 */
export const WORKER_NODE_OPTIONS: readonly string[] = ["--max-semi-space-size=32", ...NODE_OPTIONS];
