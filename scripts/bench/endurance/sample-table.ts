/** Prints the samples of a run as they come, some lines a run. */

import { ROLES, type Sample } from "./verdicts.js";

/** Number of lines for one run; a line sums up the samples since the one before. */
const LINES = 30;
const COLUMN = 10;

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
}

const COLUMNS: readonly (readonly [
  title: string,
  of: (samples: readonly Sample[], last: Sample) => string,
])[] = [
  ["time s", (_, { atS }) => atS.toFixed(0)],
  ["ops/s", (samples) => mean(samples, "operationsPerSecond").toFixed(0)],
  ["p50 ms", (samples) => mean(samples, "p50Ms").toFixed(0)],
  ["p99 ms", (samples) => most(samples, "p99Ms").toFixed(0)],
  ["refused", (samples) => sum(samples, "refused").toFixed(0)],
  ["slow", (samples) => sum(samples, "slow").toFixed(0)],
  ["pause ms", (samples) => most(samples, "pauseMs").toFixed(0)],
  ["guest ms", (samples) => most(samples, "guestPauseMs").toFixed(0)],
  ["own ms", (samples) => most(samples, "ownPauseMs").toFixed(0)],
  ["client us", (samples) => mean(samples, "clientMicros").toFixed(1)],
  ["lag", (_, { lag }) => lag.toFixed(0)],
  [
    "moves",
    (_, { moves }) =>
      Object.values(moves)
        .reduce((total, count) => total + count, 0)
        .toFixed(0),
  ],
  ["redis MB", (_, { redisBytes }) => megabytes(redisBytes)],
  ["of max", (_, { redisShare }) => `${(100 * redisShare).toFixed(0)} %`],
  ["deltas", (_, { deltaBytes }) => megabytes(deltaBytes)],
  ["snapsh.", (_, { snapshotBytes }) => megabytes(snapshotBytes)],
  ["filters", (_, { filterBytes }) => megabytes(filterBytes)],
  ["entries", (_, { entries }) => entries.toFixed(0)],
  ["AOF MB", (_, { aofBytes }) => megabytes(aofBytes)],
  ["disk MB", (_, { diskBytes }) => megabytes(diskBytes)],
  ["postgres", (_, { postgresBytes = 0 }) => megabytes(postgresBytes)],
  ...ROLES.map(
    (role) => [role, (_: unknown, { rssBytes }: Sample) => megabytes(rssBytes[role] ?? 0)] as const,
  ),
];

type Figure =
  | "operationsPerSecond"
  | "p50Ms"
  | "p99Ms"
  | "refused"
  | "slow"
  | "pauseMs"
  | "guestPauseMs"
  | "ownPauseMs"
  | "clientMicros";

function sum(samples: readonly Sample[], figure: Figure): number {
  return samples.reduce((total, sample) => total + sample[figure], 0);
}

function mean(samples: readonly Sample[], figure: Figure): number {
  return sum(samples, figure) / samples.length;
}

function most(samples: readonly Sample[], figure: Figure): number {
  return Math.max(...samples.map((sample) => sample[figure]));
}

export class SampleTable {
  readonly #intervalS: number;
  #since: Sample[] = [];
  #lines = 0;

  constructor(minutes: number) {
    this.#intervalS = (minutes * 60) / LINES;
    console.log(COLUMNS.map(([title]) => title.padStart(COLUMN)).join(""));
  }

  /** Adds a sample, and prints a line when one is due. */
  add(sample: Sample): void {
    this.#since.push(sample);
    if (sample.atS < (this.#lines + 1) * this.#intervalS) return;
    console.log(COLUMNS.map(([, of]) => of(this.#since, sample).padStart(COLUMN)).join(""));
    this.#since = [];
    this.#lines = Math.floor(sample.atS / this.#intervalS);
  }
}
