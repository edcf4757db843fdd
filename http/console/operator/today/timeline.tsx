/** Events by start time, with status, open interest and settlements under way. */

import { Fragment } from "preact";
import { Link } from "../../app/router.js";
import { showQuantity } from "../../data/money.js";
import { showClock, showDay } from "../../data/time.js";
import { Money, Time } from "../../parts/values.js";
import type { EventAnswer, EventExposure, SettlementsAnswer } from "../answers.js";
import { EventState } from "../events/status.js";

interface TimelineProps {
  readonly events: readonly EventAnswer[];
  readonly exposures: ReadonlyMap<string, EventExposure>;
  readonly settlements: SettlementsAnswer["items"];
  readonly nowMs: number;
}

export function Timeline({ events, exposures, settlements, nowMs }: TimelineProps) {
  const next = events.findIndex(({ startsTs }) => startsTs > nowMs);
  const nowIndex = next === -1 ? events.length : next;
  return (
    <ol class="today-timeline">
      {events.map((event, index) => (
        <Fragment key={event.eventId}>
          {index === nowIndex && <Now nowMs={nowMs} />}
          <Entry
            event={event}
            isNewDay={index === 0 || showDay(event.startsTs) !== showDay(events[index - 1]?.startsTs ?? 0)}
            held={exposures.get(event.eventId)}
            settling={settlements.filter(({ eventId }) => eventId === event.eventId).length}
          />
        </Fragment>
      ))}
      {nowIndex === events.length && <Now nowMs={nowMs} />}
    </ol>
  );
}

function Now({ nowMs }: { readonly nowMs: number }) {
  return (
    <li class="today-now">
      <Time ms={nowMs} show={showClock} /> now
    </li>
  );
}

interface EntryProps {
  readonly event: EventAnswer;
  readonly isNewDay: boolean;
  readonly held: EventExposure | undefined;
  /** Number of its settlements that wait, pay or take back. */
  readonly settling: number;
}

function Entry({ event, isNewDay, held, settling }: EntryProps) {
  return (
    <li class={isNewDay ? "today-event today-day" : "today-event"}>
      <span class="today-start">
        {isNewDay && <span class="today-date">{showDay(event.startsTs)}</span>}
        <Time ms={event.startsTs} show={showClock} />
      </span>
      <span class="today-what">
        <Link to={`/operator/events/${event.eventId}`}>{event.description}</Link>
        <span class="quiet"> {event.league}</span>
      </span>
      <span class="today-status">
        <EventState status={event.status} />
      </span>
      <span class="today-figures quiet">
        {held === undefined ? (
          "no markets"
        ) : (
          <>
            {`${held.markets.OPEN - held.paused} of ${held.markets.OPEN + held.markets.CLOSED + held.markets.SETTLED} trade`}
            {held.paused > 0 && `, ${held.paused} paused`}
            {` · ${showQuantity(held.openOrders)} orders · `}
            <Money value={held.escrow.CASH} /> of open interest
          </>
        )}
        {settling > 0 && (
          <>
            {" · "}
            <Link to="/operator/settlement">
              {settling === 1 ? "1 settlement" : `${settling} settlements`} under way
            </Link>
          </>
        )}
      </span>
    </li>
  );
}
