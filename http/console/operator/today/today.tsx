/** Page of the day: alerts, the events by time, and the health of the exchange. */

import { Link } from "../../app/router.js";
import { call, pages } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Empty, Loaded, Skeleton } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";
import type { EventAnswer, EventExposure, SettlementsAnswer } from "../answers.js";
import { Frame } from "../frame.js";
import { useOperatorNames } from "../operators.js";
import { UnderWay } from "../settlement/under-way.js";
import { plural } from "../words.js";
import { alertsOf, type HealthAnswer } from "./alerts.js";
import { HealthTables } from "./health.js";
import { Timeline } from "./timeline.js";
import "./today.css";

const EVERY_MS = 5_000;
const SHOWN = "OPEN_PREGAME,CLOSED_PREGAME,OPEN_INGAME,DELAYED,FINAL";
/** Events further ahead than this are on the page of all events, in ms. */
const HORIZON_MS = 7 * 86_400_000;

export default function TodayPage() {
  const nameOf = useOperatorNames();
  const events = useResource(
    async (signal) => {
      const query = { status: SHOWN, limit: 1_000 };
      const [found, exposure] = await Promise.all([
        pages<EventAnswer>("/admin/v1/events", query, { signal }),
        call<{ items: EventExposure[] }>("GET", "/admin/v1/exposure", { signal }),
      ]);
      return { events: found, exposures: new Map(exposure.items.map((one) => [one.eventId, one])) };
    },
    [],
    { everyMs: EVERY_MS },
  );
  const settlements = useResource(
    (signal) => call<SettlementsAnswer>("GET", "/admin/v1/settlements", { signal }),
    [],
    { everyMs: EVERY_MS },
  );
  const health = useResource((signal) => call<HealthAnswer>("GET", "/admin/v1/health", { signal }), [], {
    everyMs: EVERY_MS,
  });
  const nowMs = events.asOf ?? Date.now();
  const alerts = alertsOf(nowMs, {
    health: health.value,
    settlements: settlements.value,
    events: events.value?.events ?? [],
  });
  const reads = Object.entries({ events, settlements, health });
  const unread = reads.filter(([, { refusal }]) => refusal !== undefined).map(([name]) => name);
  const isKnown = unread.length === 0 && reads.every(([, { value }]) => value !== undefined);
  return (
    <Frame title="Today">
      {alerts.map(({ text, to }) => (
        <Note key={text} kind="warning">
          <p>{to === undefined ? text : <Link to={to}>{text}</Link>}</p>
        </Note>
      ))}
      {unread.length > 0 && (
        <Note kind="warning">
          <p>
            Cannot be read now: {unread.join(", ")}. What needs attention there is not known.{" "}
            <Link to="/status">Status</Link> says what still works for traders.
          </p>
        </Note>
      )}
      {alerts.length === 0 && isKnown && <p class="quiet">Nothing needs attention.</p>}
      <h2>Events of the week</h2>
      <Loaded of={events} what="the events" waiting={<Skeleton rows={8} />}>
        {({ events: all, exposures }) => {
          const near = all.filter(({ startsTs }) => startsTs < nowMs + HORIZON_MS);
          return (
            <>
              {near.length === 0 ? (
                <Empty title="No event of this week is open">
                  <p>
                    <Link to="/operator/events/new">Create an event</Link> with its markets.
                  </p>
                </Empty>
              ) : (
                <Timeline
                  events={near}
                  exposures={exposures}
                  settlements={settlements.value?.items ?? []}
                  nowMs={nowMs}
                />
              )}
              {all.length > near.length && (
                <p>
                  <Link to="/operator/events">{plural(all.length - near.length, "later event")}</Link>
                </p>
              )}
            </>
          );
        }}
      </Loaded>
      {settlements.value !== undefined && settlements.value.items.length > 0 && (
        <>
          <h2>Settlements under way</h2>
          <UnderWay items={settlements.value.items} nameOf={nameOf} />
        </>
      )}
      <h2>Health</h2>
      <Loaded of={health} what="the health of the service">
        {(value) => <HealthTables health={value} />}
      </Loaded>
    </Frame>
  );
}
