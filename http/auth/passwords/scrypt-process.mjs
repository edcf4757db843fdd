/**
 * Process that computes scrypt, with a lower priority than the service. Plain JavaScript, because it starts without the
 * loader of the process that has started it.
 */

import { scryptSync } from "node:crypto";
import os from "node:os";

/** Added to the nice value: on a busy core the process receives a third of the time of the event loop that waits for it. */
const NICE = 5;
const HIGHEST_NICE = 19;

/** Lowers the priority of this process. */
function giveWay() {
  try {
    os.setPriority(Math.min(HIGHEST_NICE, os.getPriority() + NICE));
  } catch {
    // A sandbox may forbid the call. The process then shares the cores as an equal.
  }
}

giveWay();
process.on("disconnect", () => process.exit());
process.on("message", ({ password, salt, bytes, options }) => {
  try {
    process.send({ hash: scryptSync(password, salt, bytes, options) });
  } catch (error) {
    process.send({ error });
  }
});
