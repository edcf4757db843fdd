/**
 * Process that computes scrypt, with a lower priority than the service. Plain JavaScript, because it starts without the
 * loader of the process that has started it.
 */

import { scryptSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import os from "node:os";

/** Nice value: on a busy core the process receives a third of the time of a role. */
const NICE = 10;

/**
 * Lowers the priority of this process. Linux shares the cores between sessions by the nice values of their autogroups, and
 * this process has a session of its own; elsewhere the nice value of the process counts.
 */
function giveWay() {
  const attempts = [
    () => writeFileSync("/proc/self/autogroup", String(NICE), { flag: "r+" }),
    () => os.setPriority(Math.max(os.getPriority(), NICE)),
  ];
  for (const attempt of attempts) {
    try {
      attempt();
    } catch {
      // A system without autogroups, or a sandbox. The process then shares the cores as an equal.
    }
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
