/** Options of Node and environment for the processes of the roles. `npm run worker` and the like have the same options. */

/**
 * A collection of garbage stops the event loop until its helper threads have ended, and each of them may wait for a core. With
 * one helper, the p99 of requests fell by a third on two cores; machines with more of them were not measured.
 */
const ONE_HELPER = "--v8-pool-size=1";

/** Options of Node, by role. */
export const NODE_OPTIONS = {
  /**
   * The helper that marks what lives would take a core from everybody else for half a second at a time, because it has the
   * priority of the worker. The event loop marks in steps of a few ms instead: the 90th percentile of the p99 of each 5 s
   * fell from 157 to 99 ms at half load on two cores, and the worker's longest pause did not rise.
   *
   * The young generation keeps its default size. With twice that, the worker used 0.5 % less of a core, but its full
   * collections, which move what lives there, took 38 ms at most instead of 24.
   *
   * After a fall of the load V8 would make the heap small, and move most objects for it: a worker paused for 75 ms in the
   * first minutes of half load after a flood, and for 23 without. It keeps some 70 MB of free room instead.
   */
  worker: ["--no-concurrent-marking", "--no-memory-reducer", ONE_HELPER],
  gateway: [ONE_HELPER],
  projector: [ONE_HELPER],
  /** The jobs wait most of the time, and would fill the default young generation with garbage: 30 MB of 130. */
  jobs: ["--max-semi-space-size=2", ONE_HELPER],
} as const satisfies Record<string, readonly string[]>;

/**
 * Buffers of 128 KB and more have mappings of their own in glibc, and return to the system when they are freed. By default
 * this limit rises to the size of the largest buffer that was freed, up to 32 MB, and what is freed stays with the process:
 * five minutes of a flood left a worker with 70 MB more. Other C libraries ignore both variables.
 */
export const ROLE_ENVIRONMENT: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "4194304",
};
