/** Heartbeats of a worker on Redis, which a thread sends; see `heartbeat-thread.mjs`. */

import { readFileSync } from "node:fs";
import { Worker as Thread } from "node:worker_threads";
import type { Heartbeats, HeartbeatListener } from "../log/heartbeats.js";
import { HEARTBEAT_OPTIONS } from "./connection.js";
import { Keys } from "./keys.js";
import { heartbeatCall, liveWorkers } from "./replies.js";

export interface ThreadHeartbeatOptions {
  /** One URL, or a comma list of nodes of a Redis Cluster. */
  readonly url: string;
  readonly worker: string;
  /** Shortest lease, in ms. */
  readonly leaseMs: number;
  /** Interval of the heartbeats, in ms. */
  readonly intervalMs: number;
}

/** Interval at which the event loop shows that it turns, in ms. */
const TURN_MS = 50;
/** Stall of the event loop, in ms, after which the heartbeats stop. */
const STALL_MS = 2_000;
const [TURNS, STOPPING] = [0, 1];
const THREAD = new URL("heartbeat-thread.mjs", import.meta.url);
const LUA = new URL("commands/heartbeat.lua", import.meta.url);

/** Message of the thread: the reply to a heartbeat, or its error, and when the heartbeat was sent. */
interface Beat {
  readonly sentNs: bigint;
  readonly reply?: readonly string[];
  readonly error?: unknown;
}

/** Starts the heartbeats of a worker. An error of the thread itself is thrown and ends the process. */
export function startHeartbeats(options: ThreadHeartbeatOptions, listener: HeartbeatListener): Heartbeats {
  const { url, worker, leaseMs, intervalMs } = options;
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const state = new Int32Array(shared);
  const keys = new Keys();
  const argsOf = (takes: boolean) => heartbeatCall(keys, { worker, leaseMs, takes }).args;
  const turning = setInterval(() => Atomics.add(state, TURNS, 1), TURN_MS);
  const thread = new Thread(THREAD, {
    // The thread runs plain JavaScript, and needs no loader of the process.
    execArgv: [],
    workerData: {
      nodes: url.split(","),
      options: HEARTBEAT_OPTIONS,
      lua: readFileSync(LUA, "utf8"),
      keys: heartbeatCall(keys, { worker, leaseMs, takes: true }).keys,
      takingArgs: argsOf(true),
      stoppingArgs: argsOf(false),
      intervalMs,
      stallMs: STALL_MS,
      shared,
    },
  });
  thread.on("message", ({ sentNs, reply, error }: Beat) => {
    if (reply === undefined) listener.onError(error);
    else listener.onBeat(liveWorkers(reply), Number(process.hrtime.bigint() - sentNs) / 1e6);
  });
  thread.on("error", (error) => {
    throw error;
  });
  return {
    stopping: () => void Atomics.store(state, STOPPING, 1),
    async stop() {
      clearInterval(turning);
      await thread.terminate();
    },
  };
}
