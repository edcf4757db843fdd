/** Room that the actors of a worker take in the log, by kind; sampled one partition after the other. */

import type { Clock } from "../log/clock.js";
import type { ActorSize, Log } from "../log/log.js";
import type { Logger } from "../log/logger.js";

export interface LogUsageOptions {
  readonly log: Pick<Log, "scan" | "sizes">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the partitions that the worker owns. */
  readonly partitions: () => readonly string[];
}

/** Interval of sampling one partition of up to `SAMPLE_ACTORS`; a larger one is followed by a longer interval. */
const SAMPLE_MS = 1_000;
const SAMPLE_ACTORS = 64;

export class LogUsage {
  readonly #options: LogUsageOptions;
  readonly #samples = new Map<string, readonly ActorSize[]>();
  #next = 0;
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(options: LogUsageOptions) {
    this.#options = options;
    this.#schedule();
  }

  #schedule(actors = 0): void {
    if (this.#stopped) return;
    this.#cancel = this.#options.clock.after(SAMPLE_MS * Math.max(1, actors / SAMPLE_ACTORS), () => {
      void this.#sample().then((sampled) => this.#schedule(sampled));
    });
  }

  /** Measures the next partition and returns the number of its actors. Never rejects. */
  async #sample(): Promise<number> {
    const { log, logger, partitions } = this.#options;
    const owned = partitions();
    for (const name of this.#samples.keys()) if (!owned.includes(name)) this.#samples.delete(name);
    const partition = owned[this.#next % owned.length];
    this.#next += 1;
    if (partition === undefined) return 0;
    try {
      const actors = (await log.scan(partition)).map(({ actor }) => actor);
      this.#samples.set(partition, await log.sizes(partition, actors));
      return actors.length;
    } catch (error) {
      logger.warn({ err: error, partition }, "cannot measure a partition; its last figures stay");
      return 0;
    }
  }

  /** Returns the sums of the latest samples of all partitions, in the form of a process report. */
  figures(): {
    delta_bytes: number;
    delta_entries: number;
    mailbox_bytes: number;
    mailbox_messages: number;
    kept_snapshot_bytes: number;
  } {
    const sizes = [...this.#samples.values()].flat();
    const sum = (of: (size: ActorSize) => number): number =>
      sizes.reduce((total, size) => total + of(size), 0);
    return {
      delta_bytes: sum(({ deltas }) => deltas.bytes),
      delta_entries: sum(({ deltas }) => deltas.entries),
      mailbox_bytes: sum(({ mailbox }) => mailbox.bytes),
      mailbox_messages: sum(({ mailbox }) => mailbox.entries),
      kept_snapshot_bytes: sum(({ snapshotBytes }) => snapshotBytes),
    };
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }
}
