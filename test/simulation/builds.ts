/**
 * The builds of the simulated processes. Half of the runs begin with processes of the build before formats, which are
 * replaced in the middle of the run; no such process starts afterwards. A process of the new build may be pinned to an
 * earlier format, and may come and go at any time. The active format therefore rises and falls while everything trades.
 */

import { FORMATS, type Formats, LATEST_FORMAT } from "../../actors/format.js";
import { announcedName, FormatAnnouncer, type RoleName } from "../../stream/log/formats.js";
import type { Logger } from "../../stream/log/logger.js";
import { KEYS } from "./journal.js";
import type { Machine, Process } from "./machine/process.js";
import type { Random } from "./machine/random.js";

/** Formats to which a process may be pinned. */
const EARLIER = FORMATS.filter((format) => format < LATEST_FORMAT);
/** The times of the agreement, scaled to a run of seconds. A paused process must not count as dead. */
const TIMING = { announceMs: 50, aliveMs: 6_000, stableMs: 800 };
/** Longest time from the end of the last process of the old build to the start of another one, as in a restart. */
const RESTART_MS = 250;

/** Share of the old build among the processes that may be of it. A worker is of it when no other one is. */
const OLD_SHARE: Readonly<Record<RoleName, number>> = { worker: 0.4, gateway: 0.5, projector: 0.3, jobs: 0 };

/** Format in which a process writes, and the name under which the others know it. */
export interface Build {
  readonly name: string;
  readonly formats: Formats;
  /** Announces the format, if the build does. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export class Builds {
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #onFault: (kind: string) => void;
  /** Time at which the last process of the old build is replaced. */
  readonly #oldUntilMs: number;
  readonly #pinned: number;
  readonly #old: Process[] = [];

  constructor(random: Random, machine: Machine, onFault: (kind: string) => void) {
    this.#random = random;
    this.#machine = machine;
    this.#onFault = onFault;
    const { nowMs } = machine.scheduler;
    this.#oldUntilMs = random.chance(0.5) ? nowMs + random.between(300, 1_500) : 0;
    this.#pinned = random.pick([0, 0.1, 0.3]);
    if (this.#oldUntilMs === 0) machine.store.set(KEYS.format(), "record", String(LATEST_FORMAT));
  }

  /** Time from now until the processes of the old build must end; undefined when the run has none. */
  get oldForMs(): number | undefined {
    const left = this.#oldUntilMs - this.#machine.scheduler.nowMs;
    return left > 0 ? left : undefined;
  }

  /** True while a process of the old build may start: at the beginning, beside another one, and in its place. */
  get #mayBeOld(): boolean {
    if (this.oldForMs === undefined) return false;
    const { nowMs } = this.#machine.scheduler;
    const isPresent = ({ endedMs = Infinity }: Process): boolean => endedMs > nowMs - RESTART_MS;
    return this.#old.length === 0 || this.#old.some(isPresent);
  }

  #isOnly(role: RoleName): boolean {
    return role === "worker" && !this.#old.some(({ isAlive }) => isAlive);
  }

  /** Checks that the active format has not risen before the last process of the old build was gone for a while. */
  #checkRise(): void {
    const { scheduler } = this.#machine;
    const wasThere = ({ endedMs = Infinity }: Process): boolean =>
      scheduler.nowMs - endedMs < TIMING.stableMs / 2;
    if (this.#old.some(wasThere))
      scheduler.fail(new Error("the format has risen beside the old build, or just after it"));
  }

  /** Picks the build of a process that starts now. */
  pick(role: RoleName, process: Process, logger: Logger): Build {
    if (this.#mayBeOld && this.#random.chance(this.#isOnly(role) ? 1 : OLD_SHARE[role])) {
      process.readsOldestOnly = true;
      // The old build records its workers, and nothing else that the others could see.
      if (role === "worker") this.#old.push(process);
      const nothing = (): Promise<void> => Promise.resolve();
      return { name: process.name, formats: { active: () => 1 }, start: nothing, stop: nothing };
    }
    const format = this.#random.chance(this.#pinned) ? this.#random.pick(EARLIER) : LATEST_FORMAT;
    const { log, clock, name: id } = process;
    const announcing = {
      ...logger,
      info: (fields: object) => {
        const { active } = fields as { active?: number };
        if (active === undefined) return;
        this.#onFault(`format ${active} becomes active`);
        if (active > 1) this.#checkRise();
      },
    };
    const announcer = new FormatAnnouncer({
      log,
      clock,
      logger: announcing,
      role,
      id,
      format,
      timing: TIMING,
    });
    return {
      name: announcedName(format, role, id),
      formats: announcer,
      start: () => announcer.start(),
      stop: () => announcer.stop(),
    };
  }
}
