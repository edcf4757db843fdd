/** Heartbeats of a worker on Redis, which a thread sends; see `beats.ts`. */

import type { Heartbeats, HeartbeatListener } from "../log/heartbeats.js";
import { Beats } from "./beats.js";
import { Keys } from "./keys.js";
import { heartbeatCall, liveWorkers } from "./replies.js";

export interface ThreadHeartbeatOptions {
  /** Address of Redis; see `readAddress`. */
  readonly url: string;
  readonly worker: string;
  /** Shortest lease, in ms. */
  readonly leaseMs: number;
  /** Interval of the heartbeats, in ms. */
  readonly intervalMs: number;
}

/** Stall of the event loop, in ms, after which the heartbeats stop. */
const STALL_MS = 2_000;

/** Starts the heartbeats of a worker. */
export function startHeartbeats(options: ThreadHeartbeatOptions, listener: HeartbeatListener): Heartbeats {
  const { url, worker, leaseMs, intervalMs } = options;
  const keys = new Keys();
  const call = (takes: boolean) => heartbeatCall(keys, { worker, leaseMs, takes });
  const beats = new Beats(
    { url, script: "heartbeat", intervalMs, stallMs: STALL_MS },
    ({ sentNs, reply, error }) => {
      if (reply === undefined) listener.onError(error);
      else listener.onBeat(liveWorkers(reply as string[]), Number(process.hrtime.bigint() - sentNs) / 1e6);
    },
  );
  beats.repeat(call(true));
  return {
    stopping: () => beats.repeat(call(false)),
    stop: () => beats.stop(),
  };
}
