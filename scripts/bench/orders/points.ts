/** Points of the bench: the base, one axis at a time from the base, or the product of all axes. */

import type { Point } from "./measure.js";

export const BASE: Point = {
  workers: 1,
  markets: 16,
  batch: 20,
  redis: "one",
  fsync: "everysec",
  isWholeStack: false,
};

const AXES = {
  workers: [1, 2, 4, 8],
  markets: [16, 2_000, 10_000],
  batch: [20, 1],
  redis: ["one", "cluster"],
  fsync: ["everysec", "always"],
  isWholeStack: [false, true],
} as const satisfies { readonly [Axis in keyof Point]: readonly Point[Axis][] };

/** Returns the base and the points that differ from the base in one axis. */
export function oneAxisAtATime(): readonly Point[] {
  const changes = Object.entries(AXES).flatMap(([axis, [, ...values]]) =>
    values.map((value): Point => ({ ...BASE, [axis]: value })),
  );
  return [BASE, ...changes];
}

/** Returns every combination of the values of all axes. */
export function allPoints(): readonly Point[] {
  return Object.entries(AXES).reduce<readonly Point[]>(
    (points, [axis, values]) =>
      points.flatMap((point) => values.map((value): Point => ({ ...point, [axis]: value }))),
    [BASE],
  );
}

/** Returns the name of a point: what differs from the base. */
export function nameOf(point: Point): string {
  const { workers, markets, batch, redis, fsync, isWholeStack } = point;
  const parts = [
    workers === BASE.workers ? [] : [`${workers} workers`],
    markets === BASE.markets ? [] : [`${markets.toLocaleString("en-US")} markets`],
    batch === BASE.batch ? [] : [`${batch} order${batch === 1 ? "" : "s"} a message`],
    redis === BASE.redis ? [] : ["three-node cluster"],
    fsync === BASE.fsync ? [] : [`appendfsync ${fsync}`],
    isWholeStack ? ["sockets and projector"] : [],
  ].flat();
  return parts.length === 0 ? "base: 1 worker, 16 markets, 1 Redis" : parts.join(", ");
}
