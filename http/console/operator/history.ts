/** The last hour of the health of the exchange, which the service keeps. */

import type { z } from "zod";
import type { HealthHistoryAnswer } from "../../ops/health-route.js";
import { call } from "../data/api.js";
import { useResource, type Resource } from "../data/resource.js";

export type History = z.infer<typeof HealthHistoryAnswer>;
export type Sample = History["items"][number];

const EVERY_MS = 15_000;
export const HOUR_MS = 3_600_000;
/** Number of intervals without a sample that make a gap. */
const GAP = 2.5;

/** A figure at a time; null where it could not be read, and in a gap. */
export interface Point {
  readonly ms: number;
  readonly value: number | null;
}

export function useHistory(): Resource<History> {
  return useResource((signal) => call<History>("GET", "/admin/v1/health/history", { signal }), [], {
    everyMs: EVERY_MS,
  });
}

/** Returns a figure over the hour. A stretch without samples, in which no gateway ran, has a point without a value. */
export function pointsOf(
  { items, everyMs }: History,
  read: (sample: Sample) => number | null,
): readonly Point[] {
  return items.flatMap((sample, index) => {
    const point = { ms: sample.ts, value: read(sample) };
    const before = items[index - 1];
    const isAfterGap = before !== undefined && sample.ts - before.ts > GAP * everyMs;
    return isAfterGap ? [{ ms: before.ts + everyMs, value: null }, point] : [point];
  });
}
