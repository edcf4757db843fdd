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

/** Begins a behavior; resolves at its first request. */
async function begin(name: string): Promise<Report> {
  const behavior = BEHAVIORS.find((candidate) => candidate.name === name);
  if (behavior === undefined || attackers === undefined) throw new Error(`${name} cannot begin`);
  stop = new AbortController();
  const first = attackers.firstSent();
  running = behavior.run(attackers, stop.signal);
  await Promise.race([first, running]);
  return { kind: "begun" };
}

/** Ends the behavior; resolves when its last requests are answered. */
async function end(): Promise<Report> {
  stop.abort();
  await running;
  if (attackers === undefined) throw new Error("the attackers do not know the exchange");
  return { kind: "ended", tally: attackers.takeTally() };
}

function answer(result: Promise<Report>): void {
  result.then(report, (error: unknown) => report({ kind: "failed", reason: describe(error) }));
}

process.on("message", (instruction: Instruction) => {
  switch (instruction.kind) {
    case "meet":
      attackers = new Attackers(instruction.facts);
      return;
    case "begin":
      answer(begin(instruction.behavior));
      // The answer to the end has the failure too.
      running.catch(() => undefined);
      return;
    case "end":
      answer(end());
      return;
    default:
      unreachable(instruction);
  }
});
process.on("disconnect", () => process.exit());
report({ kind: "ready" });
