/**
 * Options of Node for the process of a worker; `npm run worker` has the same. With the default size of the young generation,
 * the garbage collector runs so often that it copies much of what the present step still needs. Twice that size takes up
 * to 35 MB more memory. A collection waits for its helper threads, which may wait for a core, so there is one.
 */
export const WORKER_NODE_OPTIONS: readonly string[] = ["--max-semi-space-size=32", "--v8-pool-size=1"];
