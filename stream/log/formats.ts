/**
 * Agreement on the format that is written. Every role announces the latest format that it reads. The active format is
 * the lowest announced one, so that a new build beside an old one writes what the old one reads. A worker or a gateway
 * of the build before formats announces nothing, and counts as format 1. The active format rises when all roles have
 * announced a later one for some time, and falls at once when an older role joins. What was written before a fall stays
 * as it is; a role that cannot read it stops there and reports it. A worker then leaves the partitions to those that can.
 */

import { type Format, FORMATS, type Formats, LATEST_FORMAT, OLDEST_FORMAT } from "../../actors/format.js";
import type { Clock } from "./clock.js";
import type { Announcements, Log } from "./log.js";
import type { Logger } from "./logger.js";

/** Kinds of processes that read or write stored data. */
export type RoleName = "worker" | "gateway" | "projector" | "jobs";

/** Times of the agreement. All roles of an exchange must have the same. */
export interface FormatTiming {
  /** Interval of the announcements, in ms. */
  readonly announceMs: number;
  /** Silence in ms after which a role that has not withdrawn counts as dead. */
  readonly aliveMs: number;
  /** Time in ms for which every role must have announced a later format before it becomes active. */
  readonly stableMs: number;
}

const TIMING: FormatTiming = { announceMs: 1_000, aliveMs: 60_000, stableMs: 10_000 };

/** The active format, and since when (Unix ms) every role has announced a later one. */
export interface FormatRecord {
  readonly active: number;
  readonly laterSinceMs: number | undefined;
  /** Latest format that was ever active. The log may have data in it. */
  readonly highest: number;
}

/** Returns a name under which a process announces a format. A name without a format is of the build before formats. */
export function announcedName(format: Format, role: RoleName, id: string): string {
  return `${format}:${role}:${id}`;
}

/** Returns false for the name of a worker or a gateway of the build before formats. */
export function isAnnounced(name: string): boolean {
  return /^\d+:/.test(name);
}

/** Returns the format that the name of a role announces. */
function announcedFormat(name: string): number {
  return Number(/^(\d+):/.exec(name)?.[1] ?? OLDEST_FORMAT);
}

/** Returns the record that follows from the announcements. `roles` has the names of all live roles, at least one. */
export function nextRecord(
  { active, laterSinceMs, highest }: FormatRecord,
  roles: readonly string[],
  nowMs: number,
  { stableMs } = TIMING,
): FormatRecord {
  const lowest = Math.min(...roles.map(announcedFormat));
  // A projector of the build before formats is in no record. It may be at work until one of a later build announces.
  const hasProjector = roles.some((role) => /^\d+:projector:/.test(role));
  if (lowest <= active) return { active: lowest, laterSinceMs: undefined, highest };
  if (!hasProjector) return { active, laterSinceMs: undefined, highest };
  const forMs = nowMs - (laterSinceMs ?? Infinity);
  // Live roles look far more often. After a longer time none was there, the log has stalled, or its clock has jumped, and a
  // role of an older build may have come and gone unseen.
  if (forMs < 0 || forMs > 2 * stableMs) return { active, laterSinceMs: nowMs, highest };
  if (forMs < stableMs) return { active, laterSinceMs, highest };
  return { active: lowest, laterSinceMs: undefined, highest: Math.max(lowest, highest) };
}

/** Parses a record. A time of 0 is none. */
function parseRecord(text: string): FormatRecord {
  const [active = OLDEST_FORMAT, since = 0, highest = active] =
    text === "" ? [] : text.split(" ").map(Number);
  return { active, laterSinceMs: since === 0 ? undefined : since, highest };
}

/** Packs a record. Earlier builds read the first two items, and drop the third from a record that they replace. */
function packRecord({ active, laterSinceMs, highest }: FormatRecord): string {
  if (highest > active) return `${active} ${laterSinceMs ?? 0} ${highest}`;
  return laterSinceMs === undefined ? String(active) : `${active} ${laterSinceMs}`;
}

export interface FormatAnnouncerOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly role: RoleName;
  /** Unique to this process. */
  readonly id: string;
  /** Latest format that this process reads, or an earlier one on which the operator insists. */
  readonly format: Format;
  /** Times of the agreement; a simulation makes them short. */
  readonly timing?: FormatTiming | undefined;
}

/** The active format, and the number of live roles that announce each format. */
export interface FormatReport {
  readonly active: number;
  readonly announced: Readonly<Record<string, number>>;
}

/** Announces the format of this process until it stops, and follows the active format. */
export class FormatAnnouncer implements Formats {
  /** Name under which this process announces itself. */
  readonly name: string;
  readonly #options: FormatAnnouncerOptions;
  #active: Format = OLDEST_FORMAT;
  /** Monotonic times in ms since which the formats are active without a break, as this process has observed. */
  readonly #activeSince = new Map<Format, number>();
  #roles: readonly string[] = [];
  #highest: number = OLDEST_FORMAT;
  #cancel: () => void = () => undefined;
  #stopped = false;
  readonly #timing: FormatTiming;

  constructor(options: FormatAnnouncerOptions) {
    this.#options = options;
    this.#timing = options.timing ?? TIMING;
    this.name = announcedName(options.format, options.role, options.id);
  }

  active(): Format {
    return this.#active;
  }

  /**
   * Returns the latest format that has been active for this time without a break, as far as this process knows. A format
   * that is active when the process starts counts as active for long.
   */
  activeFor(ms: number): Format {
    const beforeMs = this.#options.clock.monotonic() - ms;
    const old = FORMATS.filter((format) => (this.#activeSince.get(format) ?? Infinity) <= beforeMs);
    return old.at(-1) ?? OLDEST_FORMAT;
  }

  /**
   * Returns the latest format that was ever active, while a live worker announces it and this build does not read it. Without
   * such a worker nobody can do better than this build.
   */
  unreadable(): number | undefined {
    const isRead = this.#highest <= LATEST_FORMAT;
    const isReader = (role: string): boolean =>
      /^\d+:worker:/.test(role) && announcedFormat(role) >= this.#highest;
    return isRead || !this.#roles.some(isReader) ? undefined : this.#highest;
  }

  report(): FormatReport {
    const announced: Record<string, number> = {};
    for (const role of this.#roles) {
      const format = announcedFormat(role);
      announced[format] = (announced[format] ?? 0) + 1;
    }
    return { active: this.#active, announced };
  }

  /** Announces for the first time. Format 1 is active until the log has answered. */
  async start(): Promise<void> {
    const { clock, logger } = this.#options;
    try {
      await this.#announce();
    } catch (error) {
      logger.warn({ err: error }, "cannot announce the format of this process; trying again");
    }
    if (this.#stopped) return;
    this.#cancel = clock.after(this.#timing.announceMs, () => void this.start());
  }

  async #announce(): Promise<void> {
    const { log, format, logger } = this.#options;
    const announcements = await log.announce(this.name, this.#timing.aliveMs);
    const isFirst = this.#roles.length === 0;
    this.#roles = announcements.roles;
    const active = Math.min(format, await this.#record(announcements)) as Format;
    const sinceMs = isFirst ? -Infinity : this.#options.clock.monotonic();
    for (const known of FORMATS) {
      if (known > active) this.#activeSince.delete(known);
      else if (!this.#activeSince.has(known)) this.#activeSince.set(known, sinceMs);
    }
    if (active === this.#active) return;
    this.#active = active;
    logger.info({ ...this.report() }, "the active format has changed");
  }

  /** Replaces the record if the announcements require it, and returns the active format. */
  async #record({ record, roles, nowMs }: Announcements): Promise<number> {
    const next = nextRecord(parseRecord(record), roles, nowMs, this.#timing);
    const text = packRecord(next);
    if (text !== record) await this.#options.log.recordFormat(record, text);
    this.#highest = next.highest;
    return next.active;
  }

  /** Withdraws the announcement, so that the other roles need not wait for its end. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    try {
      await this.#options.log.withdraw(this.name);
    } catch (error) {
      this.#options.logger.warn({ err: error }, "the format of this process stays announced for a minute");
    }
  }
}
