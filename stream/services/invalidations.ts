/** Tells all processes that something they may have cached has changed. */

import type { Log, Subscription } from "../log/log.js";

const FEED = "invalidations";

export class Invalidations {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** `kind` is what was changed (`key`, `market`, `event`, `ticks`, ...) and `id` which one. */
  async publish(kind: string, id: string): Promise<void> {
    await this.#log.publish({ feed: FEED, body: JSON.stringify([kind, id]) });
  }

  /**
   * Calls `onInvalidated` with every change published from now on. `onMissed`: some may have been lost, everything
   * cached has to be dropped.
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
