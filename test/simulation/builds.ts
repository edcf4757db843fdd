/**
 * The builds of the simulated processes. Half of the runs begin with processes of an old build, the one before formats or
 * the one of format 2, which are replaced in the middle of the run; no such process starts afterwards. A process of the
 * new build may be pinned to an old format, and may come and go at any time. The active format therefore rises and falls
 * while everything trades.
 */

import { type Format, FORMATS, type Formats, LATEST_FORMAT, OLDEST_FORMAT } from "../../actors/format.js";
import { announcedName, FormatAnnouncer, type RoleName } from "../../stream/log/formats.js";
import type { Logger } from "../../stream/log/logger.js";
import { KEYS } from "./journal.js";
import type { Machine, Process } from "./machine/process.js";
import type { Random } from "./machine/random.js";

/** The times of the agreement, scaled to a run of seconds. A paused process must not count as dead. */
const TIMING = { announceMs: 50, aliveMs: 6_000, stableMs: 800 };
/** Longest time from the end of the last process of the old build to the start of another one, as in a restart. */
const RESTART_MS = 250;

/** Latest formats of the old builds, to which a process of the new build may be pinned. */
const OLD_FORMATS = FORMATS.filter((format) => format < LATEST_FORMAT);

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

/** Returns true for a process of an old build. */
export function isOld({ readsUpTo }: Process): boolean {
  return readsUpTo !== LATEST_FORMAT;
}

export class Builds {
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #onFault: (kind: string) => void;
  /** Time at which the last process of the old build is replaced. */
  readonly #oldUntilMs: number;
  readonly #oldFormat: Format;
  readonly #pinned: number;
  readonly #old: Process[] = [];

  constructor(random: Random, machine: Machine, onFault: (kind: string) => void) {
    this.#random = random;
    this.#machine = machine;
    this.#onFault = onFault;
    const { nowMs } = machine.scheduler;
    this.#oldUntilMs = random.chance(0.5) ? nowMs + random.between(300, 1_500) : 0;
    this.#pinned = random.pick([0, 0.1, 0.3]);
    this.#oldFormat = random.pick(OLD_FORMATS);
    const format = this.#oldUntilMs === 0 ? LATEST_FORMAT : this.#oldFormat;
    if (format !== OLDEST_FORMAT) machine.store.set(KEYS.format(), "record", String(format));
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

  /**
   * Checks that the active format has not risen before the last known process of the old build was gone for a while. A
   * process that the log has no record of has read and written nothing yet.
   */
  #checkRise(): void {
    const { scheduler } = this.#machine;
    const wasThere = ({ isKnown, endedMs = Infinity }: Process): boolean =>
      isKnown && scheduler.nowMs - endedMs < TIMING.stableMs / 2;
    if (this.#old.some(wasThere))
      scheduler.fail(new Error("the format has risen beside the old build, or just after it"));
  }

  /** Picks the build of a process that starts now. */
  pick(role: RoleName, process: Process, logger: Logger): Build {
    if (this.#mayBeOld && this.#random.chance(this.#isOnly(role) ? 1 : OLD_SHARE[role])) {
      process.readsUpTo = this.#oldFormat;
      // The build before formats records its workers, and nothing else that the others could see.
      if (role === "worker" || this.#oldFormat !== OLDEST_FORMAT) this.#old.push(process);
      return this.#oldFormat === OLDEST_FORMAT
        ? beforeFormats(process)
        : this.#announce(role, process, logger, this.#oldFormat);
    }
    const format = this.#random.chance(this.#pinned) ? this.#random.pick(OLD_FORMATS) : LATEST_FORMAT;
    return this.#announce(role, process, logger, format);
  }

  /** Returns a build that announces a format. */
  #announce(role: RoleName, process: Process, logger: Logger, format: Format): Build {
    const { log, clock, name: id } = process;
    const announcing = {
      ...logger,
      info: (fields: object) => {
        const { active } = fields as { active?: number };
        if (active === undefined) return;
        this.#onFault(`format ${active} becomes active`);
        if (active > this.#oldFormat) this.#checkRise();
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

/** Returns the build before formats, which announces nothing. */
function beforeFormats({ name }: Process): Build {
  const nothing = (): Promise<void> => Promise.resolve();
  return { name, formats: { active: () => OLDEST_FORMAT }, start: nothing, stop: nothing };
}
