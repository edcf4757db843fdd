/**
 * Thread that repeats the call of a script on a connection of its own, so that no long step of the process delays it.
 * The thread stops calling while the event loop of the process has stalled for too long. Plain JavaScript, because a
 * thread does not have the loader of the process.
 */

import { parentPort, workerData } from "node:worker_threads";
import { Cluster, Redis } from "ioredis";

/** Data from `beats.ts`. */
const { address, options, lua, intervalMs, stallMs, shared } = workerData;
/** Counter of the turns of the event loop of the process. */
const counter = new Int32Array(shared);

/** Pause before a reconnect, in ms: short, because the process must beat before its lease expires. */
const RECONNECT_MS = 50;
const retry = () => RECONNECT_MS;
const serverOptions = { ...options, retryStrategy: retry };

function connect() {
  switch (address.kind) {
    case "cluster": {
      const redisOptions = { ...address.credentials, ...serverOptions };
      return new Cluster(address.nodes, {
        redisOptions,
        clusterRetryStrategy: retry,
        retryDelayOnFailover: 0,
      });
    }
    case "sentinel":
      return new Redis({ ...address.options, ...serverOptions });
    default:
      return new Redis(address.url, serverOptions);
  }
}

const redis = connect();
// Without a listener, a refused connection would be thrown. The calls are rejected with the same error.
redis.on("error", () => undefined);
redis.defineCommand("beat", { lua });

let call;
let beating = false;
let turns = -1;
let turnedMs = 0;

/** Returns true while the event loop of the process turns. */
function isTurning() {
  const seen = Atomics.load(counter, 0);
  if (seen !== turns) {
    turns = seen;
    turnedMs = performance.now();
  }
  return performance.now() - turnedMs < stallMs;
}

async function beat() {
  if (call === undefined || beating || !isTurning()) return;
  beating = true;
  const sent = { call, sentNs: process.hrtime.bigint() };
  try {
    const reply = await redis.beat(call.keys.length, ...call.keys, ...call.args);
    parentPort.postMessage({ ...sent, reply });
  } catch (error) {
    parentPort.postMessage({ ...sent, error });
  } finally {
    beating = false;
  }
}

parentPort.on("message", (next) => {
  call = next;
  void beat();
});
setInterval(() => void beat(), intervalMs);
