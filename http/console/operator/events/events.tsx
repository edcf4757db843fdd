/** Page of the events: all of them by start, with what they hold. */

import { Link, navigate, useQuery } from "../../app/router.js";
import { call, pages } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { showQuantity } from "../../data/money.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/field.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Money, Time } from "../../parts/values.js";
import type { EventAnswer, EventExposure } from "../answers.js";
import { Frame } from "../frame.js";
import { whyNot } from "../permission.js";
import { EVENT_STATUSES, EventState, eventWords } from "./status.js";

const EVERY_MS = 10_000;
const UNDERWAY = "OPEN_PREGAME,CLOSED_PREGAME,OPEN_INGAME,DELAYED,FINAL";

export default function EventsPage() {
  const [status, setStatus] = useQuery("status");
  const [league, setLeague] = useQuery("league");
  const leagues = useResource(
    (signal) => call<{ items: { name: string }[] }>("GET", "/admin/v1/leagues", { signal }),
    [],
  );
  const wanted = status === "" ? UNDERWAY : status === "ALL" ? undefined : status;
  const events = useResource(
    (signal) => pages<EventAnswer>("/admin/v1/events", { status: wanted, league, limit: 1_000 }, { signal }),
    [wanted, league],
    { everyMs: EVERY_MS },
  );
  const exposure = useResource(
    async (signal) => {
      const { items } = await call<{ items: EventExposure[] }>("GET", "/admin/v1/exposure", { signal });
      return new Map(items.map((one) => [one.eventId, one]));
    },
    [],
    { everyMs: EVERY_MS },
  );
  const heldBy = ({ eventId }: EventAnswer): EventExposure | undefined => exposure.value?.get(eventId);

  return (
    <Frame
      title="Events"
      actions={
        <Button kind="main" reason={whyNot("markets")} onClick={() => navigate("/operator/events/new")}>
          New event
        </Button>
      }
    >
      <div class="operator-fields">
        <Choice
          label="Status"
          value={status}
          choices={[
            ["", "not settled"],
            ...EVENT_STATUSES.map((one) => [one, eventWords(one)] as const),
            ["ALL", "all"],
          ]}
          onChange={setStatus}
        />
        <Choice
          label="League"
          value={league}
          choices={[["", "all"], ...(leagues.value?.items ?? []).map(({ name }) => [name, name] as const)]}
          onChange={setLeague}
        />
      </div>
      <Loaded
        of={events}
        what="the events"
        empty={
          <Empty title="No event matches">
            <p>Create one with New event, or choose another status or league.</p>
          </Empty>
        }
      >
        {(rows) => (
          <Table
            stacks
            label="Events"
            rows={rows}
            keyOf={({ eventId }) => eventId}
            columns={[
              { title: "Starts", cell: ({ startsTs }) => <Time ms={startsTs} /> },
              {
                title: "Event",
                cell: ({ eventId, description, visible }) => (
                  <>
                    <Link to={`/operator/events/${eventId}`}>{description}</Link>
                    {!visible && <span class="quiet"> (hidden)</span>}
                  </>
                ),
              },
              { title: "League", cell: (event) => event.league, wide: true },
              { title: "Status", cell: (event) => <EventState status={event.status} /> },
              {
                title: "Markets",
                numeric: true,
                cell: (event) => <Markets held={heldBy(event)} />,
              },
              {
                title: "Open orders",
                numeric: true,
                wide: true,
                cell: (event) => showQuantity(heldBy(event)?.openOrders ?? 0),
              },
              {
                title: "Open interest",
                numeric: true,
                wide: true,
                cell: (event) => <Money value={heldBy(event)?.escrow.CASH ?? "0.00000"} />,
              },
            ]}
          />
        )}
      </Loaded>
    </Frame>
  );
}

/** Number of markets that trade, of all that are known. */
function Markets({ held }: { readonly held: EventExposure | undefined }) {
  if (held === undefined) return <>–</>;
  const { OPEN, CLOSED, SETTLED } = held.markets;
  return <>{`${OPEN - held.paused} of ${OPEN + CLOSED + SETTLED} trade`}</>;
}
