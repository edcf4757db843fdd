/**
 * Options of Node for the process of a worker; `npm run worker` has the same. With the default size of the young generation,
 * the garbage collector runs so often that it copies much of what the present step still needs. Twice that size takes up
 * to 35 MB more memory.
 */
export const WORKER_NODE_OPTIONS: readonly string[] = ["--max-semi-space-size=32"];
