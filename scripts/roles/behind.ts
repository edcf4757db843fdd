/** Message of a projector to its supervisor that its rows are late, for which it receives more of the cores. */

import type { Clock } from "../../stream/log/clock.js";

/** Lag in ms from which a projector is behind. Reads that need its rows wait for a second. */
const BEHIND_MS = 500;
/** Interval between two looks at the lag, in ms. */
const LOOK_MS = 250;
/** Time in ms for which a projector counts as behind after each look that has shown it. */
const HOLD_MS = 3_000;

/** Message of a role to its supervisor: whether its rows are late. */
export interface BehindMessage {
  readonly behind: boolean;
}

/** Returns whether a role has sent this message. */
export function isBehindMessage(message: unknown): message is BehindMessage {
  return (
    typeof message === "object" &&
    message !== null &&
    "behind" in message &&
    typeof message.behind === "boolean"
  );
}

/** Looks at the lag until the returned function is called, and reports each change between behind and not. */
export function watchBehind(
  clock: Clock,
  lagMs: () => number,
  report: (message: BehindMessage) => void,
): () => void {
  let untilMs = -Infinity;
  let behind = false;
  let cancel: () => void;
  const look = (): void => {
    const nowMs = clock.monotonic();
    if (lagMs() > BEHIND_MS) untilMs = nowMs + HOLD_MS;
    if (nowMs < untilMs !== behind) {
      behind = !behind;
      report({ behind });
    }
    cancel = clock.after(LOOK_MS, look);
  };
  cancel = clock.after(LOOK_MS, look);
  return () => cancel();
}
