/** The heartbeats of a worker, as a port. */

import type { LiveWorker } from "./log.js";

/** Receives the outcome of each heartbeat. */
export interface HeartbeatListener {
  /** Receives the live workers, as they were `ageMs` ago or later. */
  onBeat(live: readonly LiveWorker[], ageMs: number): void;
  onError(error: unknown): void;
}

/** Heartbeats that are sent until they are stopped. */
export interface Heartbeats {
  /** Records that the worker hands over its partitions, so that no other worker hands one over to it. */
  stopping(): void;
  stop(): Promise<void>;
}

/** Starts the heartbeats of a worker. */
export type StartHeartbeats = (listener: HeartbeatListener) => Heartbeats;
