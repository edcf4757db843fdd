/**
 * Process that computes scrypt, with a lower priority than the service. Plain JavaScript, because it starts without the
 * loader of the process that has started it.
 */

import { scryptSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import os from "node:os";

/** Nice value: on a busy core the process receives about a quarter of the time of a gateway. */
const NICE = 10;
/** Linux lets users other than root change one autogroup in a tenth of a second. */
const RETRY_MS = 110;
const MAX_ATTEMPTS = 50;

/**
 * Lowers the priority of this process. Linux shares the cores between sessions by the nice values of their autogroups, and
 * this process has a session of its own; elsewhere the nice value of the process counts. Where neither may be changed, the
 * process shares the cores as an equal.
 */
function giveWay(attempts = MAX_ATTEMPTS) {
  try {
    os.setPriority(Math.max(os.getPriority(), NICE));
    writeFileSync("/proc/self/autogroup", String(NICE), { flag: "r+" });
  } catch (error) {
    if (error.code === "EAGAIN" && attempts > 1) setTimeout(() => giveWay(attempts - 1), RETRY_MS);
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
