/** Changes in the life of a market that this page has seen since it was opened. */

import { useRef } from "preact/hooks";
import type { EventStatus } from "../../../db/schema/catalog.js";
import type { Market } from "../../surface-a/schemas/catalog.js";
import type { z } from "zod";
import type { Step } from "./feeds/feed.js";
import { eventWords, stepWords } from "./words.js";

/** One line of the market's life. */
export interface Sight {
  readonly words: string;
  readonly ts: number;
}

/** Steps that change neither the status of the market nor that of its event. */
const WITHOUT_STATUS: readonly string[] = ["PAUSE", "RESUME", "REMEDIATE"];

/** Returns the changes of the statuses since the page was opened, and the steps that change no status, oldest first. */
export function useSeen(
  market: z.infer<typeof Market>["status"],
  event: EventStatus | undefined,
  steps: readonly Step[],
): readonly Sight[] {
  const sights = useRef<Sight[]>([]);
  const last = useRef<{ market?: string; event?: string }>({});
  const say = (words: string): void => void sights.current.push({ words, ts: Date.now() });
  if (last.current.market !== market) {
    say(
      last.current.market === undefined
        ? `market found ${market.toLowerCase()}`
        : `market ${market.toLowerCase()}`,
    );
    last.current.market = market;
  }
  if (event !== undefined && last.current.event !== event) {
    if (last.current.event !== undefined) say(`event ${eventWords(event)}`);
    last.current.event = event;
  }
  const others = steps.filter(({ kind }) => WITHOUT_STATUS.includes(kind));
  return [
    ...sights.current,
    ...others.map(({ kind, ts }) => ({ words: `market ${stepWords(kind)}`, ts })),
  ].toSorted((a, b) => a.ts - b.ts);
}
