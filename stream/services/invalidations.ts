/** Invalidations of caches: announces to all processes that a record has changed. */

import type { Log, Subscription } from "../log/log.js";

const FEED = "invalidations";

export class Invalidations {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Publishes that a record has changed. `kind` is its kind (`key`, `market`, `event`, `ticks`, ...). */
  async publish(kind: string, id: string): Promise<void> {
    await this.#log.publish({ feed: FEED, body: JSON.stringify([kind, id]) });
  }

  /**
   * Calls `onInvalidated` with every change published from now on. Calls `onMissed` when changes may have been lost;
   * the subscriber must then drop its whole cache.
   */
  async subscribe(
    onInvalidated: (kind: string, id: string) => void,
    onMissed: () => void,
  ): Promise<Subscription> {
    return this.#log.subscribe(FEED, {
      onBody: (body) => {
        const [kind, id] = JSON.parse(body) as [string, string];
        onInvalidated(kind, id);
      },
      onMissed,
    });
  }
}
