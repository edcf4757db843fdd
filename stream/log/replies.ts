/** Answers on their way to whoever asked, packed per asker. Losing them is harmless: askers ask again. */

import type { Log } from "./log.js";
import type { Logger } from "./logger.js";
import { packReplies, type Reply } from "./packing.js";

/** The feed that a process hears its answers on. */
export function replyFeed(process: string): string {
  return `replies:${process}`;
}

export class ReplyQueue {
  readonly #log: Log;
  readonly #logger: Logger;
  #waiting = new Map<string, Reply[]>();

  constructor(log: Log, logger: Logger) {
    this.#log = log;
    this.#logger = logger;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(replies: readonly Reply[]): void {
    for (const reply of replies) {
      const waiting = this.#waiting.get(reply.to);
      if (waiting === undefined) this.#waiting.set(reply.to, [reply]);
      else waiting.push(reply);
    }
  }

  /** Sends everything that waits. Never rejects. */
  async step(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    await Promise.all(
      [...waiting].map(async ([feed, replies]) => {
        try {
          await this.#log.publish(feed, packReplies(replies));
        } catch (error) {
          this.#logger.warn({ err: error, feed, replies: replies.length }, "answers may not have been sent");
        }
      }),
    );
  }
}
