/**
 * Time up to which the read model, or the copy of it that answers lists, has every entry of the markets. Lists over many markets do not wait for the projector;
 * they state this time instead (contract section 5.10).
 */

import { MARKET_PARTITIONS } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import type { Log, Unprojected } from "../log/log.js";
import type { Logger } from "../log/logger.js";

/** A copy of the read model that follows it. */
interface Copy {
  /** Returns a check of whether the copy has everything that the read model has now. */
  mark(): Promise<() => Promise<boolean>>;
}

export interface ReadModelTimeOptions {
  readonly log: Pick<Log, "unprojected">;
  /** The copy from which lists are read; default: they are read from the read model itself. */
  readonly copy?: Copy | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Interval of comparing the log with the read model, in ms. */
const CHECK_MS = 1_000;
const MARKETS = Array.from({ length: MARKET_PARTITIONS }, (_, partition) => `m${partition}`);

export class ReadModelTime {
  readonly #options: ReadModelTimeOptions;
  #completeMs: number | null = null;
  /** Entries that the read model lacked at a time, and must have to be complete up to then. */
  #awaited: { readonly atMs: number; readonly behind: readonly Unprojected[] } | undefined;
  /** A time up to which the read model is complete, and the copy is not known to be. */
  #copying: { readonly atMs: number; readonly isCopied: () => Promise<boolean> } | undefined;
  #cancel: () => void = () => undefined;
  #closed = false;

  constructor(options: ReadModelTimeOptions) {
    this.#options = options;
  }

  /** Unix ms; null until the first time is known. */
  get completeMs(): number | null {
    return this.#completeMs;
  }

  /** Compares the log with the read model now, and from now on. Never rejects. */
  async start(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#check();
    } catch (error) {
      logger.warn({ err: error }, "cannot compare the read model with the log; trying again");
    }
    if (this.#closed) return;
    this.#cancel = clock.after(CHECK_MS, () => void this.start());
  }

  async #check(): Promise<void> {
    const { log, clock } = this.#options;
    await this.#checkCopy();
    const nowMs = clock.now();
    const behind = (await Promise.all(MARKETS.map((partition) => log.unprojected(partition)))).flat();
    const projected = new Map(behind.map((actor) => [actor.actor, actor.projected]));
    // An actor that is not behind any more has all of its entries.
    const isReached = ({ actor, seq }: Unprojected): boolean => (projected.get(actor) ?? Infinity) >= seq;
    if (this.#awaited?.behind.every(isReached) === true) {
      await this.#complete(this.#awaited.atMs);
      this.#awaited = undefined;
    }
    if (behind.length === 0) await this.#complete(nowMs);
    else this.#awaited ??= { atMs: nowMs, behind };
  }

  /** Takes a time up to which the read model is complete. */
  async #complete(atMs: number): Promise<void> {
    const { copy } = this.#options;
    if (copy === undefined) this.#completeMs = atMs;
    else this.#copying ??= { atMs, isCopied: await copy.mark() };
  }

  async #checkCopy(): Promise<void> {
    if (this.#copying === undefined || !(await this.#copying.isCopied())) return;
    this.#completeMs = this.#copying.atMs;
    this.#copying = undefined;
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }
}
