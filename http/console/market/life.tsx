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
        state={[steps, market.status, market.paused, event?.status].join()}
      />
    </section>
  );
}

interface TransitionsProps {
  readonly marketId: string;
  /** Changes with every transition that the page learns of. */
  readonly state: string;
}

function Transitions({ marketId, state }: TransitionsProps) {
  const life = useResource(
    (signal) =>
      call<z.infer<typeof Lifecycle>>("GET", `/v3/public/catalog/markets/${marketId}/lifecycle`, { signal }),
    [marketId],
  );
  const read = useRef(state);
  useEffect(() => {
    if (read.current !== state) life.reload();
    read.current = state;
  }, [state]);
  return (
    <Loaded of={life} waiting={<Skeleton rows={3} />}>
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
