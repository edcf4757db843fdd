/** Sends the commands of a simulated week. A command without an answer is sent again with the same id. */

import type { ActorId } from "../../../actors/actor.js";
import type { LogExchange } from "../../../stream/log/exchange.js";
import { Unavailable } from "../../../stream/log/ports.js";
import type { Random } from "../machine/random.js";
import type { Scheduler } from "../machine/scheduler.js";

const TIMEOUT_MS = 5_000;
/** Time after which a caller gives up on a gateway that may have died, in ms. */
const PATIENCE_MS = 6_000;
/** Retention of first answers, in ms: longer than all tries of a command. */
const RETENTION_MS = 300_000;
const MAX_TRIES = 20;

export class Callers {
  /** Commands that were answered, and repeats of those without an answer. */
  answered = 0;
  retries = 0;
  readonly #scheduler: Scheduler;
  readonly #random: Random;
  readonly #gateways: () => readonly LogExchange[];

  constructor(scheduler: Scheduler, random: Random, gateways: () => readonly LogExchange[]) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.#gateways = gateways;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#scheduler.after(ms, resolve));
  }

  /** Sends a command until it is answered, and returns the answer. */
  async ask(actor: ActorId, command: { readonly kind: string }): Promise<unknown> {
    const id = this.#random.uuid();
    for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
      const answer = await this.#try(actor, command, id);
      if (answer !== undefined) {
        this.answered += 1;
        return answer.value;
      }
      this.retries += 1;
      await this.sleep(this.#random.between(50, 500));
    }
    throw new Error(`${actor} does not answer ${command.kind}`);
  }

  #try(actor: ActorId, command: unknown, id: string): Promise<{ readonly value: unknown } | undefined> {
    const gateways = this.#gateways();
    if (gateways.length === 0) return Promise.resolve(undefined);
    const exchange = this.#random.pick(gateways);
    return new Promise((resolve) => {
      const cancel = this.#scheduler.after(PATIENCE_MS, () => resolve(undefined));
      const options = { id, timeoutMs: TIMEOUT_MS, rememberMs: RETENTION_MS };
      exchange.ask(actor, command, options).then(
        (value) => {
          cancel();
          resolve({ value });
        },
        (error: unknown) => {
          cancel();
          if (!(error instanceof Unavailable)) this.#scheduler.fail(error);
          resolve(undefined);
        },
      );
    });
  }
}
