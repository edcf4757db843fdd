/**
 * Formats of the data that is stored or sent. A format is the set of delta kinds, command kinds and stored forms that a
 * build can read. A build reads its latest format and all earlier ones, and writes the format that is active: the
 * latest one that every live role reads.
 */

/** Format of the build that stored no version. */
export const OLDEST_FORMAT = 1;

/** Latest format that this build reads and writes. */
export const LATEST_FORMAT = 4;

/** Formats that this build reads and writes. */
export const FORMATS = [1, 2, 3, LATEST_FORMAT] as const;

/** A format that this build can write. */
export type Format = (typeof FORMATS)[number];

/** Returns the later of two formats; an absent one is the oldest. */
export function laterFormat(one: Format, other: Format = OLDEST_FORMAT): Format {
  return one > other ? one : other;
}

/** Source of the format in which a process writes now. */
export interface Formats {
  active(): Format;
  /**
   * Returns the format of data that this process does not read and a live worker of a later build does, if there is any;
   * absent for a process that reads everything.
   */
  unreadable?(): number | undefined;
}

/** Writes the latest format, as a process does that has no older one beside it. */
export const latestFormat: Formats = { active: () => LATEST_FORMAT };
