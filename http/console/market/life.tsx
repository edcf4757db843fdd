/** The state that the market is in, and its life so far as this page knows it. */

import { Fragment } from "preact";
import type { z } from "zod";
import type { CatalogEvent, Market } from "../../surface-a/schemas/catalog.js";
import { showMoment, showSeconds } from "../data/time.js";
import type { Step } from "./feeds/feed.js";
import type { Sight } from "./seen.js";
import { closedWords, eventWords, resultWords } from "./words.js";

type MarketAnswer = z.infer<typeof Market>;
type EventAnswer = z.infer<typeof CatalogEvent>;

/** Returns true when the last step that matters paused the market. */
function isPaused(steps: readonly Step[]): boolean {
  return steps.findLast(({ kind }) => ["PAUSE", "RESUME", "CLOSE", "OPEN"].includes(kind))?.kind === "PAUSE";
}

interface BannerProps {
  readonly market: MarketAnswer;
  readonly event: EventAnswer | undefined;
  readonly steps: readonly Step[];
}

/** Says why the market takes no orders; empty for a market that does. */
export function Banner({ market, event, steps }: BannerProps) {
  const words = closedWords(market, event?.status, isPaused(steps));
  return <div role="status">{words !== undefined && <p class="market-banner">{words}</p>}</div>;
}

interface LifeProps {
  readonly market: MarketAnswer;
  readonly event: EventAnswer | undefined;
  readonly seen: readonly Sight[];
}

export function Life({ market, event, seen }: LifeProps) {
  const { fee, outcomes, startsTs, voids } = market;
  return (
    <section class="life" aria-labelledby="life-title">
      <h2 id="life-title">The market</h2>
      <dl>
        <dt>Event</dt>
        <dd>
          {event === undefined ? "" : `${eventWords(event.status)}, `}scheduled for {showMoment(startsTs)}
        </dd>
        {outcomes.map(({ outcomeId, name, status }) => (
          <Fragment key={outcomeId}>
            <dt>{name}</dt>
            <dd>{resultWords(status) ?? "result to come"}</dd>
          </Fragment>
        ))}
        <dt>If void</dt>
        <dd>{voids === "PUSH" ? "every fill is refunded at its cost" : "each outcome pays a fair price"}</dd>
        <dt>Taker fee</dt>
        <dd>
          {fee.coefficient} × price × (1 − price) of the payout
          {fee.charged === "WHEN_LIVE" ? ", in play only" : ""}
        </dd>
      </dl>
      <h3>Since you opened this page</h3>
      <ol class="life-steps">
        {seen.map(({ words, ts }) => (
          <li key={`${ts} ${words}`}>
            <span class="number quiet">{showSeconds(ts)}</span> {words}
          </li>
        ))}
      </ol>
    </section>
  );
}
