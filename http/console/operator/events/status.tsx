/** Statuses of events and markets in words. */

import type { EventStatus, MarketAnswer } from "../answers.js";

const WORDS: Readonly<Record<EventStatus, string>> = {
  OPEN_PREGAME: "open, before the start",
  CLOSED_PREGAME: "closed, before the start",
  OPEN_INGAME: "in play",
  DELAYED: "delayed",
  FINAL: "over, to be settled",
  SETTLED: "settled",
  CANCELED: "canceled",
};

/** Statuses in the order of an event's life. */
export const EVENT_STATUSES = Object.keys(WORDS) as readonly EventStatus[];

/** Mark in front of the word: trading, halted or over. */
type Mark = "" | "live" | "halted" | "over";

const MARKS: Readonly<Record<EventStatus, Mark>> = {
  OPEN_PREGAME: "",
  CLOSED_PREGAME: "halted",
  OPEN_INGAME: "live",
  DELAYED: "halted",
  FINAL: "over",
  SETTLED: "over",
  CANCELED: "over",
};

function State({ mark, words }: { readonly mark: Mark; readonly words: string }) {
  return (
    <span class={mark === "" ? "operator-state" : `operator-state operator-state-${mark}`}>{words}</span>
  );
}

export function EventState({ status }: { readonly status: EventStatus }) {
  return <State mark={MARKS[status]} words={WORDS[status]} />;
}

/** Returns the status of an event in words. */
export const eventWords = (status: EventStatus): string => WORDS[status];

/** Returns true for a market that has a grade, whose payouts may still be under way. */
export function isGraded({ outcomes }: MarketAnswer): boolean {
  return outcomes.some(({ status }) => status !== "TBD");
}

/** Returns the state of a market in words. */
function marketWords(market: MarketAnswer): string {
  const { status, paused, live } = market;
  switch (status) {
    case "OPEN":
      return paused ? "paused" : live ? "open, in play" : "open";
    case "CLOSED":
      return isGraded(market) ? "graded, pays" : "closed";
    case "SETTLED":
      return "settled";
    default:
      return status satisfies never;
  }
}

export function MarketState({ market }: { readonly market: MarketAnswer }) {
  const { status, paused, live } = market;
  const mark = status === "OPEN" ? (paused ? "halted" : live ? "live" : "") : "over";
  return <State mark={mark} words={marketWords(market)} />;
}
