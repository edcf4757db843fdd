/** Events by start time, with status, open interest and settlements under way. */

import { Fragment } from "preact";
import { Link } from "../../app/router.js";
import { showClock, showDay } from "../../data/time.js";
import { Money, Time } from "../../parts/values.js";
import type { EventAnswer, EventExposure, SettlementsAnswer } from "../answers.js";
import { EventState } from "../events/status.js";
import { plural } from "../words.js";

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
          {isFirstOfDay(events, index) && <li class="today-date">{showDay(event.startsTs)}</li>}
          <Entry
            event={event}
            held={exposures.get(event.eventId)}
            settling={settlements.filter(({ eventId }) => eventId === event.eventId).length}
          />
        </Fragment>
      ))}
      {nowIndex === events.length && <Now nowMs={nowMs} />}
    </ol>
  );
}

function isFirstOfDay(events: readonly EventAnswer[], index: number): boolean {
  const [here, last] = [events[index], events[index - 1]].map((event) => event && showDay(event.startsTs));
  return here !== last;
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
  readonly held: EventExposure | undefined;
  /** Number of its settlements that wait, pay or take back. */
  readonly settling: number;
}

function Entry({ event, held, settling }: EntryProps) {
  return (
    <li class="today-event">
      <span class="today-start">
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
            {` · ${plural(held.openOrders, "order")} · `}
            <Money value={held.escrow.CASH} /> of open interest
          </>
        )}
        {settling > 0 && (
          <>
            {" · "}
            <Link to="/operator/settlement">{plural(settling, "settlement")} under way</Link>
          </>
        )}
      </span>
    </li>
  );
}
