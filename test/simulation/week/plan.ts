/** Size and calendar of a simulated week. */

import { REVIEW_LIMITS, type ReviewLimits } from "../../../stream/runtime/removal/sources.js";
import { SNAPSHOT_LIMITS, type SnapshotLimits } from "../../../stream/runtime/snapshot-policy.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * A week of a league. It has sessions, in which everybody trades; between two sessions the clock leaps, so that a week
 * of engine time is some minutes of simulated work.
 */
export interface WeekPlan {
  readonly days: number;
  readonly sessionsPerDay: number;
  /** Number of traders. Every fourth trader has a subaccount, and thus a second wallet. */
  readonly traders: number;
  /** Number of markets that open in each session. */
  readonly marketsPerSession: number;
  /** Number of requests in each session. */
  readonly requestsPerSession: number;
  /** Number of requests that wait for their answers at the same time. */
  readonly callers: number;
  /** Limits of snapshots and of the resume window, except the idle time. */
  readonly limits: Omit<SnapshotLimits, "idleMs">;
  readonly reviews: ReviewLimits;
  /** Largest growth of a size per unit of live state, from the middle days to the last, as a share. */
  readonly tolerance: number;
}

/** The week of `npm run simulate -- --week`. */
export const WEEK: WeekPlan = {
  days: 7,
  sessionsPerDay: 24,
  traders: 80_000,
  marketsPerSession: 60,
  requestsPerSession: 2_250,
  callers: 256,
  limits: { ...SNAPSHOT_LIMITS, resumeBytes: 64 * 1024 * 1024 },
  reviews: REVIEW_LIMITS,
  tolerance: 0.1,
};

/**
 * The short form, for CI: the same calendar with few traders, markets and sessions. Its limits are small, so that every size
 * reaches its usual value within a day.
 */
export const SHORT_WEEK: WeekPlan = {
  days: 7,
  sessionsPerDay: 4,
  traders: 150,
  marketsPerSession: 4,
  requestsPerSession: 60,
  callers: 32,
  limits: {
    ...SNAPSHOT_LIMITS,
    ...{ snapshotEntries: 100, snapshotMinEntries: 25, resumeEntries: 20, resumeBytes: 4 * 1024 * 1024 },
  },
  reviews: { ...REVIEW_LIMITS, minSources: 4, intervalMs: 1_000 },
  tolerance: 0.2,
};

/** Time from the start of one session to the start of the next, in ms. */
export function sessionMs({ sessionsPerDay }: WeekPlan): number {
  return DAY_MS / sessionsPerDay;
}

/** Time that a settled market stays in the log, in ms. */
export const MARKET_KEEP_MS = 12 * HOUR_MS;
/** Time from the opening of a market to its close, in ms: the least and the most. */
export const MARKET_LIFE_MS: readonly [number, number] = [6 * HOUR_MS, 14 * HOUR_MS];
/** Time before its close at which a market goes in play, in ms. */
export const IN_PLAY_MS = 2 * HOUR_MS;
