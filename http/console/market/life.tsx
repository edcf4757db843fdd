/** The state that the market is in, and its life so far. */

import { Fragment } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { z } from "zod";
import type { CatalogEvent, Lifecycle, Market } from "../../surface-a/schemas/catalog.js";
import { call } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { showMoment } from "../data/time.js";
import { Loaded, Skeleton } from "../parts/loaded.js";
import { Time } from "../parts/values.js";
import { closedWords, eventWords, resultWords, transitionWords } from "./words.js";

type MarketAnswer = z.infer<typeof Market>;
type EventAnswer = z.infer<typeof CatalogEvent>;

interface BannerProps {
  readonly market: MarketAnswer;
  readonly event: EventAnswer | undefined;
}

/** Says why the market takes no orders; empty for a market that does. */
export function Banner({ market, event }: BannerProps) {
  const words = closedWords(market, event?.status);
  return (
    <div class="market-state" role="status">
      {words !== undefined && <p class="market-banner">{words}</p>}
    </div>
  );
}

interface LifeProps {
  readonly market: MarketAnswer;
  readonly event: EventAnswer | undefined;
  /** Number of transitions that the page has received. */
  readonly steps: number;
}

export function Life({ market, event, steps }: LifeProps) {
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
      <h3>The last 50 changes</h3>
      <Transitions
        marketId={market.marketId}
        market={[steps, market.status, market.paused].join()}
        event={event?.status}
      />
    </section>
  );
}

interface TransitionsProps {
  readonly marketId: string;
  /** Changes with every transition of the market that the page learns of. */
  readonly market: string;
  /** Status of the event; `undefined` until it is known. */
  readonly event: EventAnswer["status"] | undefined;
}

/** Pause in ms after the last change before the list is read again, as one transition changes several things. */
const SETTLE_MS = 1_000;
/** Longest further pause in ms: the viewers of a market learn of a transition together, and read at different times. */
const SPREAD_MS = 2_000;

function Transitions({ marketId, market, event }: TransitionsProps) {
  const life = useResource(
    (signal) =>
      call<z.infer<typeof Lifecycle>>("GET", `/v3/public/catalog/markets/${marketId}/lifecycle`, { signal }),
    [marketId],
  );
  const seen = useRef({ market, event });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    // The status of the event arrives after the first read, which has its transitions.
    const { market: lastMarket, event: lastEvent = event } = seen.current;
    seen.current = { market, event };
    if (lastMarket === market && lastEvent === event) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(life.reload, SETTLE_MS + Math.random() * SPREAD_MS);
  }, [market, event]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <Loaded of={life} what="the course of the market" waiting={<Skeleton rows={3} />}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="quiet">No change is recorded.</p>
        ) : (
          <ol class="life-steps">
            {items.map(({ kind, ts }) => (
              <li key={`${ts} ${kind}`}>
                <span class="quiet">
                  <Time ms={ts} />
                </span>
                <span>{transitionWords(kind)}</span>
              </li>
            ))}
          </ol>
        )
      }
    </Loaded>
  );
}
