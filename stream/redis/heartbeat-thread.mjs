/**
 * Thread that sends the heartbeats of a worker on a connection of its own, so that no long step of the worker delays
 * them. The thread stops beating while the event loop of the worker has stalled for too long. Plain JavaScript, because
 * a thread does not have the loader of the process.
 */

import { parentPort, workerData } from "node:worker_threads";
import { Cluster, Redis } from "ioredis";

/** Data from `heartbeats.ts`. */
const { nodes, options, lua, keys, takingArgs, stoppingArgs, intervalMs, stallMs, shared } = workerData;
/** Counter of the turns of the worker's event loop, and 1 while the worker hands its partitions over. */
const [TURNS, STOPPING] = [0, 1];
const state = new Int32Array(shared);

/** Pause before a reconnect, in ms: short, because the worker must beat before its lease expires. */
const RECONNECT_MS = 50;
const retry = () => RECONNECT_MS;
const redisOptions = { ...options, retryStrategy: retry };
const redis =
  nodes.length === 1
    ? new Redis(nodes[0], redisOptions)
    : new Cluster(nodes, { redisOptions, clusterRetryStrategy: retry });
// Without a listener, a refused connection would be thrown. The heartbeats are rejected with the same error.
redis.on("error", () => undefined);
redis.defineCommand("heartbeat", { lua, numberOfKeys: keys.length });

let beating = false;
let turns = -1;
let turnedMs = 0;

/** Returns true while the event loop of the worker turns. */
function isTurning() {
  const seen = Atomics.load(state, TURNS);
  if (seen !== turns) {
    turns = seen;
    turnedMs = performance.now();
  }
  return performance.now() - turnedMs < stallMs;
}

async function beat() {
  if (beating || !isTurning()) return;
  beating = true;
  const args = Atomics.load(state, STOPPING) === 1 ? stoppingArgs : takingArgs;
  const sentNs = process.hrtime.bigint();
  try {
    parentPort.postMessage({ sentNs, reply: await redis.heartbeat(...keys, ...args) });
  } catch (error) {
    parentPort.postMessage({ sentNs, error });
  } finally {
    beating = false;
  }
}

setInterval(() => void beat(), intervalMs);
void beat();
