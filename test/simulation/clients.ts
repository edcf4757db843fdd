/** Clients of the exchange. Record every command and answer, and retry with the same id when the outcome is unknown. */

import type { ActorId } from "../../actors/actor.js";
import { Quarantined, Unavailable } from "../../stream/log/ports.js";
import type { Gateway } from "./deployment.js";
import type { Random } from "./machine/random.js";
import type { Scheduler } from "./machine/scheduler.js";

/** Retention of first answers, in ms: longer than every retry of a simulation. */
const RETENTION_MS = 3_600_000;
const CLIENT_TIMEOUT_MS = 7_000;
/** Answer to a command that is in the quarantine. */
export const QUARANTINED = "quarantined";

export interface Invocation {
  readonly id: string;
  readonly actor: ActorId;
  readonly command: unknown;
  /** First answer to the command. A refusal is an answer too. */
  answer: unknown;
  answered: boolean;
}

export class Clients {
  readonly invocations: Invocation[] = [];
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #gateways: () => readonly Gateway[];
  readonly #count: (name: string) => void;

  constructor(
    scheduler: Scheduler,
    random: Random,
    gateways: () => readonly Gateway[],
    count: (name: string) => void,
  ) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#gateways = gateways;
    this.#count = count;
  }

  get nowMs(): number {
    return this.#scheduler.nowMs;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#scheduler.after(ms, resolve));
  }

  /** Sends a command up to `tries` times. Returns `undefined` when the outcome stays unknown. */
  async ask(actor: ActorId, command: unknown, tries = 3): Promise<unknown> {
    const id = this.#random.uuid();
    const invocation: Invocation = { id, actor, command, answer: undefined, answered: false };
    this.invocations.push(invocation);
    return this.#askUntilAnswered(invocation, tries);
  }

  async #askUntilAnswered(invocation: Invocation, tries: number): Promise<unknown> {
    for (let left = tries; left > 0; left -= 1) {
      const answer = await this.#tryOnce(invocation);
      if (answer !== undefined) {
        this.#recordAnswer(invocation, answer.value);
        // Some clients retry although they have the answer: the second answer must be the same.
        if (!this.#random.chance(0.1)) return answer.value;
      } else {
        this.#count("outcome unknown");
        await this.sleep(this.#random.between(0, 500));
      }
    }
    return invocation.answered ? invocation.answer : undefined;
  }

  #recordAnswer(invocation: Invocation, answer: unknown): void {
    if (!invocation.answered) {
      invocation.answered = true;
      invocation.answer = answer;
      return;
    }
    this.#count("asked again");
    const [first, again] = [JSON.stringify(invocation.answer), JSON.stringify(answer)];
    if (first !== again)
      this.#scheduler.fail(new Error(`command ${invocation.id} was answered ${first}, then ${again}`));
  }

  /** Sends a command once, to a random gateway. Returns `undefined` when no answer comes in time. */
  #tryOnce({ actor, command, id }: Invocation): Promise<{ readonly value: unknown } | undefined> {
    const gateways = this.#gateways();
    if (gateways.length === 0) return this.sleep(100).then(() => undefined);
    const { exchange } = this.#random.pick(gateways);
    const timeoutMs = this.#random.pick([300, 2_000, 5_000]);
    return new Promise((resolve) => {
      const cancel = this.#scheduler.after(CLIENT_TIMEOUT_MS, () => resolve(undefined));
      const done = (answer: { readonly value: unknown } | undefined): void => {
        cancel();
        resolve(answer);
      };
      exchange.ask(actor, command, { id, rememberMs: RETENTION_MS, timeoutMs }).then(
        (value) => done({ value }),
        (error: unknown) => {
          if (error instanceof Quarantined) {
            done({ value: QUARANTINED });
            return;
          }
          if (!(error instanceof Unavailable)) this.#scheduler.fail(error);
          done(undefined);
        },
      );
    });
  }

  /** Retries every command whose outcome is unknown until it has an answer. */
  async resolveUnknown(): Promise<void> {
    for (const invocation of this.invocations) {
      while (!invocation.answered) await this.#askUntilAnswered(invocation, 3);
    }
  }
}
