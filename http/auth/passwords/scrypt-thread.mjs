/**
 * Thread that computes scrypt, with a lower priority than the thread of the event loop. Plain JavaScript, because a thread
 * does not have the loader of the process.
 */

import { execFileSync } from "node:child_process";
import { scryptSync } from "node:crypto";
import { readlinkSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parentPort, workerData } from "node:worker_threads";

/** Added to the nice value: on a busy core the thread receives a third of the time of the event loop. */
const NICE = 5;
const HIGHEST_NICE = 19;

/**
 * Lowers the priority of this thread; that of a patient one so far that every other thread takes its core at once. A
 * program of util-linux sets that, for Node cannot; without it, the highest nice value is the next best. Elsewhere than on
 * Linux a nice value is that of the whole process, which keeps it.
 */
function giveWay() {
  if (process.platform !== "linux") return;
  try {
    const thread = path.basename(readlinkSync("/proc/thread-self"));
    const nice = workerData.isPatient
      ? HIGHEST_NICE
      : Math.min(HIGHEST_NICE, os.getPriority(Number(thread)) + NICE);
    os.setPriority(Number(thread), nice);
    if (workerData.isPatient)
      execFileSync("chrt", ["-i", "-p", "0", thread], { stdio: "ignore", timeout: 1_000 });
  } catch {
    // A sandbox may hide /proc or forbid the calls. The thread then has the priority that it has got so far.
  }
}

giveWay();
parentPort.on("message", ({ password, salt, bytes, options }) => {
  parentPort.postMessage(scryptSync(password, salt, bytes, options));
});
