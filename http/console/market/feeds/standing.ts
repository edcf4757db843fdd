/** Status and pause of a market as the stream has sent them, which is sooner than the catalog has them. */

import type { z } from "zod";
import type { Market } from "../../../surface-a/schemas/catalog.js";
import type { LifecycleDelta } from "../../../client/wire/stream.js";

type MarketAnswer = z.infer<typeof Market>;

export interface Standing {
  readonly status: MarketAnswer["status"];
  /** `undefined` until a transition has set it: snapshots of the stream do not have it. */
  readonly paused?: boolean | undefined;
}

/** Returns the standing after some transitions, oldest first. */
export function standingAfter(
  last: Standing | undefined,
  transitions: readonly LifecycleDelta[],
): Standing | undefined {
  return transitions.reduce<Standing | undefined>(
    (before, { kind, status }) => ({ status, paused: pausedAfter(before?.paused, kind) }),
    last,
  );
}

function pausedAfter(before: boolean | undefined, kind: string): boolean | undefined {
  switch (kind) {
    case "PAUSE":
      return true;
    case "RESUME":
    case "OPEN":
    case "CLOSE":
    case "GRADE":
    case "REMEDIATE":
      return false;
    case "SNAPSHOT":
      return undefined;
    default:
      // The event has started, ended, or gone in or out of play.
      return before;
  }
}

/** Returns the market of the catalog with a standing that is newer. */
export function withStanding(market: MarketAnswer, standing: Standing | undefined): MarketAnswer {
  if (standing === undefined) return market;
  const { paused: wasPaused, ...rest } = market;
  const { status, paused = wasPaused === true } = standing;
  return { ...rest, status, ...(paused && status === "OPEN" ? { paused } : {}) };
}
