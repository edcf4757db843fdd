/** Listening to bells on Redis. */

import { parseRing } from "../log/notifications.js";
import type { Listener, Ring } from "../log/log.js";
import type { Hearing } from "./subscriber.js";

/** How often is looked whether rings were lost on the way, ms. */
const CHECK_MS = 1_000;

export interface RedisListenerPorts {
  readonly hearing: Hearing;
  /** The bell that a partition rings. */
  readonly bellOf: (partition: string) => string;
  /** How often a bell has rung. */
  readonly ringsOf: (bell: string) => Promise<number>;
  readonly onRing: (ring: Ring) => void;
}

/** A bell that is being heard. */
interface Heard {
  readonly stop: () => void;
  watched: ReadonlySet<string>;
  /** Whether the channel is heard, */
  isBegun: boolean;
  /** and it is known which ring comes next. */
  isHeard: boolean;
  /** The last ring, 0 before the first. */
  last: number;
  /** How often it had rung at the last check; undefined while that is not known. */
  checked: number | undefined;
}

export class RedisListener implements Listener {
  readonly #ports: RedisListenerPorts;
  readonly #bells = new Map<string, Heard>();
  #checking: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(ports: RedisListenerPorts) {
    this.#ports = ports;
    this.#checkLater();
  }

  #checkLater(): void {
    if (this.#closed) return;
    this.#checking = setTimeout(() => void this.#check().finally(() => this.#checkLater()), CHECK_MS);
  }

  watch(partitions: readonly string[]): void {
    const byBell = new Map<string, Set<string>>();
    for (const partition of partitions) {
      const bell = this.#ports.bellOf(partition);
      byBell.set(bell, (byBell.get(bell) ?? new Set()).add(partition));
    }
    for (const [bell, { stop }] of this.#bells) {
      if (byBell.has(bell)) continue;
      stop();
      this.#bells.delete(bell);
    }
    for (const [bell, watched] of byBell) {
      const heard = this.#bells.get(bell);
      if (heard === undefined) {
        this.#hear(bell, watched);
        continue;
      }
      const fresh = [...watched].filter((partition) => !heard.watched.has(partition));
      heard.watched = watched;
      if (heard.isHeard) this.#lookAtAll(fresh);
    }
  }

  #hear(bell: string, watched: ReadonlySet<string>): void {
    const stop = this.#ports.hearing.hear(bell, {
      begun: () => void this.#begin(bell, heard),
      heard: (text) => this.#rang(heard, text),
    });
    const heard: Heard = {
      stop,
      watched,
      isBegun: false,
      isHeard: false,
      last: 0,
      checked: undefined,
    };
    this.#bells.set(bell, heard);
  }

  /** Looks at everything once it is known which ring comes next. */
  async #begin(bell: string, heard: Heard): Promise<void> {
    heard.isBegun = true;
    heard.isHeard = false;
    heard.last = 0;
    heard.checked = undefined;
    try {
      const number = await this.#ports.ringsOf(bell);
      heard.last = Math.max(heard.last, number);
      heard.isHeard = true;
      this.#lookAtAll(heard.watched);
    } catch {
      // The next check begins again.
    }
  }

  #rang(heard: Heard, text: string): void {
    const { number, rings } = parseRing(text, heard.watched);
    const isNext = !heard.isHeard || number === heard.last + 1;
    heard.last = number;
    for (const ring of rings) this.#ports.onRing(ring);
    if (!isNext) this.#lookAtAll(heard.watched);
  }

  #lookAtAll(partitions: Iterable<string>): void {
    for (const partition of partitions) this.#ports.onRing({ partition, rung: [], lookAtAll: true });
  }

  /** A last ring that was lost is missed by nobody but who counts. */
  async #check(): Promise<void> {
    for (const [bell, heard] of this.#bells) {
      if (!heard.isHeard) {
        if (heard.isBegun) await this.#begin(bell, heard);
        continue;
      }
      const before = heard.checked;
      if (before !== undefined && heard.last < before) {
        heard.last = before;
        this.#lookAtAll(heard.watched);
      }
      heard.checked = undefined;
      try {
        heard.checked = await this.#ports.ringsOf(bell);
      } catch {
        // The connection was lost; the hearing may begin anew.
      }
    }
  }

  close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#checking);
    for (const { stop } of this.#bells.values()) stop();
    this.#bells.clear();
    return Promise.resolve();
  }
}
