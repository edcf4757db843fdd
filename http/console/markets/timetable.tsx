/** The timetable: sections of events, each with its start, its name and a row for each of its markets. */

import { useState } from "preact/hooks";
import { showClock, showFull } from "../data/time.js";
import { eventWords } from "../market/words.js";
import { Button } from "../parts/button.js";
import type { Listed, Section } from "./catalog.js";
import { MarketRow } from "./market-row.js";
import type { PriceWatch } from "./prices.js";

/** Events that are shown at first, and with each press of the button for more. */
const AT_ONCE = 60;

interface TimetableProps {
  readonly sections: readonly Section[];
  readonly prices: PriceWatch;
}

export function Timetable({ sections, prices }: TimetableProps) {
  const [most, setMost] = useState(AT_ONCE);
  let left = most;
  const total = sections.reduce((sum, { listed }) => sum + listed.length, 0);
  return (
    <>
      {sections.map(({ title, listed }) => {
        const shown = listed.slice(0, Math.max(0, left));
        left -= listed.length;
        if (shown.length === 0) return null;
        return (
          <section key={title} class="timetable" aria-label={title}>
            <h2>{title}</h2>
            {shown.map((item) => (
              <EventRows key={item.event.eventId} listed={item} prices={prices} />
            ))}
          </section>
        );
      })}
      {total > most && (
        <Button onClick={() => setMost(most + AT_ONCE)}>
          Show {Math.min(AT_ONCE, total - most)} more of {total - most} events
        </Button>
      )}
    </>
  );
}

function EventRows({
  listed: { event, markets },
  prices,
}: {
  readonly listed: Listed;
  readonly prices: PriceWatch;
}) {
  const { description, league, startsTs, status } = event;
  return (
    <article class="timetable-event" aria-label={description}>
      <div class="timetable-head">
        <time class="number" dateTime={new Date(startsTs).toISOString()} title={showFull(startsTs)}>
          {showClock(startsTs)}
        </time>
        <h3>{description}</h3>
        <p class="quiet">
          {league}
          {status !== "OPEN_PREGAME" && ` · ${eventWords(status)}`}
        </p>
      </div>
      {markets.length === 0 ? (
        <p class="quiet">No markets yet.</p>
      ) : (
        <ul class="timetable-markets">
          {markets.map((market) => (
            <MarketRow key={market.marketId} market={market} eventName={description} prices={prices} />
          ))}
        </ul>
      )}
    </article>
  );
}
