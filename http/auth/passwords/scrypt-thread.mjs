/**
 * Thread that computes scrypt, with a lower priority than the thread of the event loop. Plain JavaScript, because a thread
 * does not have the loader of the process.
 */

import { scryptSync } from "node:crypto";
import { readlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parentPort } from "node:worker_threads";

/** Added to the nice value: on a busy core the thread receives a third of the time of the event loop. */
const NICE = 5;
const HIGHEST_NICE = 19;

/** Lowers the priority of this thread. Elsewhere than on Linux a nice value is that of the whole process, which keeps it. */
function giveWay() {
  if (process.platform !== "linux") return;
  try {
    const thread = Number(path.basename(readlinkSync("/proc/thread-self")));
    os.setPriority(thread, Math.min(HIGHEST_NICE, os.getPriority(thread) + NICE));
  } catch {
    // A sandbox may hide /proc or forbid the call. The thread then shares the cores as an equal.
  }
}

giveWay();
parentPort.on("message", ({ password, salt, bytes, options }) => {
  parentPort.postMessage(scryptSync(password, salt, bytes, options));
});
