/** Whoever asks: keeps what was asked and answered, and asks again with the same id when the outcome is unknown. */

import type { ActorId } from "../../actors/actor.js";
import { Unavailable } from "../../stream/log/ports.js";
import type { Gateway } from "./deployment.js";
import type { Random } from "./machine/random.js";
import type { Scheduler } from "./machine/scheduler.js";

/** Long enough for every repeat of a simulation. */
const REMEMBER_MS = 3_600_000;
const PATIENCE_MS = 7_000;

export interface Invocation {
  readonly id: string;
  readonly actor: ActorId;
  readonly command: unknown;
  /** The answer, once there is one; a refusal is an answer too. */
  answer: unknown;
  answered: boolean;
}

export class Clients {
  readonly invocations: Invocation[] = [];
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #gateways: () => readonly Gateway[];
  readonly #count: (what: string) => void;

  constructor(
    scheduler: Scheduler,
    random: Random,
    gateways: () => readonly Gateway[],
    count: (what: string) => void,
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

  /** Asks, up to `tries` times; `undefined` when the outcome stays unknown. */
  async ask(actor: ActorId, command: unknown, tries = 3): Promise<unknown> {
    const id = this.#random.uuid();
    const invocation: Invocation = { id, actor, command, answer: undefined, answered: false };
    this.invocations.push(invocation);
    return this.#insist(invocation, tries);
  }

  async #insist(invocation: Invocation, tries: number): Promise<unknown> {
    for (let left = tries; left > 0; left -= 1) {
      const answer = await this.#once(invocation);
      if (answer !== undefined) {
        this.#take(invocation, answer.value);
        // Some ask again although they know: the answer must be the same.
        if (!this.#random.chance(0.1)) return answer.value;
      } else {
        this.#count("outcome unknown");
        await this.sleep(this.#random.between(0, 500));
      }
    }
    return invocation.answered ? invocation.answer : undefined;
  }

  #take(invocation: Invocation, answer: unknown): void {
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

  /** One try at some gateway; `undefined` when there was no answer in time. */
  #once({ actor, command, id }: Invocation): Promise<{ readonly value: unknown } | undefined> {
    const gateways = this.#gateways();
    if (gateways.length === 0) return this.sleep(100).then(() => undefined);
    const { exchange } = this.#random.pick(gateways);
    const timeoutMs = this.#random.pick([300, 2_000, 5_000]);
    return new Promise((resolve) => {
      const cancel = this.#scheduler.after(PATIENCE_MS, () => resolve(undefined));
      const done = (answer: { readonly value: unknown } | undefined): void => {
        cancel();
        resolve(answer);
      };
      exchange.ask(actor, command, { id, rememberMs: REMEMBER_MS, timeoutMs }).then(
        (value) => done({ value }),
        (error: unknown) => {
          if (!(error instanceof Unavailable)) this.#scheduler.fail(error);
          done(undefined);
        },
      );
    });
  }

  /** Asks everything again whose outcome is unknown, until it is not. */
  async resolveUnknown(): Promise<void> {
    for (const invocation of this.invocations) {
      while (!invocation.answered) await this.#insist(invocation, 3);
    }
  }
}
