/** The process of the hostile traders, as the bench sees it. */

import { type ChildProcess, spawnSync } from "node:child_process";
import { once } from "node:events";
import { IDLE, Priorities } from "../../supervisor/priorities.js";
import { killProcess, prioritize, startProcess } from "../orders/processes.js";
import type { Facts, Tally } from "./attackers.js";

/** Message to the process of the hostile traders. */
export type Instruction =
  | { readonly kind: "meet"; readonly facts: Facts }
  | { readonly kind: "begin"; readonly behavior: string }
  | { readonly kind: "end" };

/** Message of the process of the hostile traders. */
export type Report =
  | { readonly kind: "ready" }
  | { readonly kind: "begun" }
  | { readonly kind: "ended"; readonly tally: Tally }
  | { readonly kind: "failed"; readonly reason: string };

/** Longest time in ms until the process has sent its first request, or has the answers to its last ones. */
const ANSWER_MS = 60_000;

export class AttackProcess {
  readonly #child: ChildProcess;
  readonly #priorities: Priorities;

  private constructor(child: ChildProcess) {
    this.#child = child;
    // The hostile traders take no time from the exchange but that which their requests cost: every other process takes
    // their core at once where there is a `chrt`, and elsewhere soon.
    this.#priorities = new Priorities(console.error);
    prioritize(this.#priorities, child, IDLE);
    spawnSync("chrt", ["-a", "-i", "-p", "0", String(child.pid)], { stdio: "ignore" });
  }

  static async start(facts: Facts): Promise<AttackProcess> {
    const started = new AttackProcess(await startProcess("../hostile/attacker", {}, { detached: true }));
    started.#send({ kind: "meet", facts });
    return started;
  }

  /** Lets the hostile traders misbehave until `end`. Resolves at their first request. */
  async begin(behavior: string): Promise<void> {
    await this.#ask({ kind: "begin", behavior }, "begun");
  }

  /** Ends the behavior; resolves when its last requests are answered. */
  async end(): Promise<Tally> {
    const { tally } = await this.#ask({ kind: "end" }, "ended");
    return tally;
  }

  async close(): Promise<void> {
    this.#priorities.stop();
    await killProcess(this.#child);
  }

  /** Sends an instruction and resolves to its answer. Rejects when the behavior has failed. */
  async #ask<K extends Report["kind"]>(
    instruction: Instruction,
    kind: K,
  ): Promise<Extract<Report, { readonly kind: K }>> {
    const answered = new AbortController();
    const signal = AbortSignal.any([answered.signal, AbortSignal.timeout(ANSWER_MS)]);
    const answer = once(this.#child, "message", { signal });
    const exit = once(this.#child, "exit", { signal }).then(() => undefined);
    // The one that loses the race is aborted.
    for (const promise of [answer, exit]) promise.catch(() => undefined);
    this.#send(instruction);
    const report = (await Promise.race([answer, exit]))?.[0] as Report | undefined;
    answered.abort();
    if (report?.kind === kind) return report as Extract<Report, { readonly kind: K }>;
    throw new Error(
      report?.kind === "failed" ? report.reason : "the process of the hostile traders has ended",
    );
  }

  #send(instruction: Instruction): void {
    this.#child.send(instruction);
  }
}
