/** Reports to the log which entries the tables have. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ActorId } from "../../actors/actor.js";
import type { Logger } from "../../stream/log/logger.js";
import type { Position } from "../../stream/log/lineage.js";
import type { Journal } from "./journal.js";

const MARK_MS = 100;

/** Sends the latest seq of each actor to the log a few times a second, rather than at each commit. */
export class ProgressMarks {
  readonly #journal: Pick<Journal, "markProjected">;
  readonly #logger: Logger;
  #pending: Map<ActorId, Position>;
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(
    journal: Pick<Journal, "markProjected">,
    logger: Logger,
    projected: ReadonlyMap<ActorId, Position>,
  ) {
    this.#journal = journal;
    this.#logger = logger;
    this.#pending = new Map(projected);
    this.#send();
  }

  add(cursors: ReadonlyMap<ActorId, Position>): void {
    for (const [actor, cursor] of cursors) this.#pending.set(actor, cursor);
    this.#send();
  }

  /** Resolves when the seqs added so far are sent, or have failed once. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
  }

  #send(): void {
    this.#sending ??= this.#flush().finally(() => {
      this.#sending = undefined;
    });
  }

  async #flush(): Promise<void> {
    while (this.#pending.size > 0) {
      const marks = this.#pending;
      this.#pending = new Map();
      try {
        await this.#journal.markProjected(marks);
      } catch (error) {
        // The log only trims later; these marks are sent with the next ones.
        this.#logger.warn(
          { err: error },
          "cannot report the progress of the projection to the log; trying again",
        );
        for (const [actor, cursor] of marks) if (!this.#pending.has(actor)) this.#pending.set(actor, cursor);
        if (this.#closed) return;
      }
      if (!this.#closed) await sleep(MARK_MS);
    }
  }
}
