/**
 * Process of the hostile traders, apart from the measured ones, because a real attacker uses a machine of its own. Runs the
 * behavior that the bench names, until the bench ends it, and ends itself when the bench does.
 */

import { unreachable } from "../../../actors/unreachable.js";
import { describe } from "../../supervisor/start-error.js";
import { Attackers } from "./attackers.js";
import type { Instruction, Report } from "./attack-process.js";
import { BEHAVIORS } from "./behaviors.js";

let attackers: Attackers | undefined;
let stop = new AbortController();
let running: Promise<void> = Promise.resolve();

function report(message: Report): void {
  process.send?.(message);
}

async function begin(name: string): Promise<void> {
  const behavior = BEHAVIORS.find((candidate) => candidate.name === name);
  if (behavior === undefined || attackers === undefined) throw new Error(`${name} cannot begin`);
  stop = new AbortController();
  await behavior.run(attackers, stop.signal);
}

async function end(): Promise<void> {
  stop.abort();
  try {
    await running;
    if (attackers === undefined) throw new Error("the attackers do not know the exchange");
    report({ kind: "ended", tally: attackers.takeTally() });
  } catch (error) {
    report({ kind: "failed", reason: describe(error) });
  }
}

process.on("message", (instruction: Instruction) => {
  switch (instruction.kind) {
    case "meet":
      attackers = new Attackers(instruction.facts);
      return;
    case "begin":
      running = begin(instruction.behavior);
      // The instruction to end reports the failure.
      running.catch(() => undefined);
      return;
    case "end":
      void end();
      return;
    default:
      unreachable(instruction);
  }
});
process.on("disconnect", () => process.exit());
report({ kind: "ready" });
