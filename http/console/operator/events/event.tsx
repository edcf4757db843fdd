/** Page of one event: its state, the actions of its life, and its markets. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { PageProps } from "../../app/pages.js";
import { call, pages } from "../../data/api.js";
import { showMoney } from "../../data/money.js";
import { useResource } from "../../data/resource.js";
import { Button } from "../../parts/button.js";
import { Loaded } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";
import { Time } from "../../parts/values.js";
import type { ApprovalAnswer, EventWithMarkets, MarketAnswer, MarketExposure } from "../answers.js";
import { Consequence } from "../consequence.js";
import { Frame } from "../frame.js";
import { AddMarkets } from "../markets/add.js";
import { MarketsTable } from "../markets/table.js";
import { Denied } from "../denied.js";
import { whyNot } from "../permission.js";
import { plural } from "../words.js";
import { consequences, EVENT_ACTION_WORDS, sumOf, whyNotNow, type EventAction } from "./actions.js";
import { CorrectEvent } from "./correct.js";
import { EventState, eventWords } from "./status.js";

const EVERY_MS = 5_000;

interface Shown {
  readonly event: EventWithMarkets;
  readonly markets: readonly MarketAnswer[];
  readonly exposures: readonly MarketExposure[];
  /** Sums of the exposures. */
  readonly held: ReturnType<typeof sumOf>;
}

export default function EventPage({ eventId = "" }: PageProps) {
  const path = `/admin/v1/events/${eventId}`;
  const shown = useResource(
    async (signal): Promise<Shown> => {
      const [event, markets, { items }] = await Promise.all([
        call<EventWithMarkets>("GET", path, { signal }),
        pages<MarketAnswer>("/admin/v1/markets", { event: eventId, limit: 1_000 }, { signal }),
        call<{ items: MarketExposure[] }>("GET", `${path}/exposure`, { signal }),
      ]);
      const places = new Map(event.marketIds.map((marketId, place) => [marketId, place]));
      const placeOf = ({ marketId }: MarketAnswer): number => places.get(marketId) ?? Infinity;
      return {
        event,
        markets: markets.toSorted((a, b) => placeOf(a) - placeOf(b)),
        exposures: items,
        held: sumOf(items),
      };
    },
    [eventId],
    { everyMs: EVERY_MS },
  );
  return (
    <Frame title={shown.value?.event.description ?? "Event"}>
      <Loaded of={shown} what="the event">
        {(value) => <Opened {...value} reload={shown.reload} />}
      </Loaded>
    </Frame>
  );
}

function Opened({ event, markets, exposures, held, reload }: Shown & { readonly reload: () => void }) {
  const [corrects, setCorrects] = useState(false);
  return (
    <>
      <dl class="operator-facts">
        <dt>Status</dt>
        <dd>
          <EventState status={event.status} />
          {!event.visible && " (hidden)"}
        </dd>
        <dt>Starts</dt>
        <dd>
          <Time ms={event.startsTs} />
        </dd>
        <dt>League</dt>
        <dd>
          {event.league}, {event.sport}
        </dd>
        <dt>Holds</dt>
        <dd>
          {plural(held.orders, "open order")}, {showMoney(held.cash)} of open interest
        </dd>
      </dl>
      <Actions event={event} markets={markets} exposures={exposures} reload={reload}>
        <Button reason={whyNot("markets")} onClick={() => setCorrects(true)}>
          Correct
        </Button>
      </Actions>
      <h2>Markets</h2>
      <MarketsTable markets={markets} exposures={exposures} reload={reload} />
      <h2>Add markets</h2>
      <AddMarkets event={event} markets={markets} reload={reload} />
      <CorrectEvent
        event={event}
        open={corrects}
        onClose={() => setCorrects(false)}
        onDone={() => {
          setCorrects(false);
          reload();
        }}
      />
    </>
  );
}

const ACTIONS = Object.keys(EVENT_ACTION_WORDS) as readonly EventAction[];

interface ActionsProps extends Omit<Shown, "held"> {
  readonly reload: () => void;
  readonly children: ComponentChildren;
}

/** Buttons of the event's life; each shows first what it will do. */
function Actions({ event, markets, exposures, reload, children }: ActionsProps) {
  const [asked, setAsked] = useState<EventAction>();
  const [approval, setApproval] = useState<ApprovalAnswer>();
  const take = async (action: EventAction, reason: string | undefined): Promise<void> => {
    const answer = await call<EventWithMarkets | ApprovalAnswer>(
      "POST",
      `/admin/v1/events/${event.eventId}/status`,
      { body: { action, reason } },
    );
    setApproval("approvalId" in answer ? answer : undefined);
    reload();
  };
  const words = asked === undefined ? undefined : EVENT_ACTION_WORDS[asked];
  return (
    <>
      <Denied permission="markets" />
      <div class="operator-row" role="toolbar" aria-label="Actions on the event">
        {ACTIONS.map((action) => (
          <Button
            key={action}
            kind={action === "cancel" ? "danger" : "plain"}
            reason={whyNot("markets") ?? whyNotNow(action, event.status, eventWords)}
            onClick={() => setAsked(action)}
          >
            {EVENT_ACTION_WORDS[action].name}
          </Button>
        ))}
        {children}
      </div>
      {approval !== undefined && (
        <Note>
          <p>The cancel waits for a second operator, who finds it under Settlement.</p>
        </Note>
      )}
      {asked !== undefined && words !== undefined && (
        <Consequence
          title={`${words.name}: ${event.description}`}
          open
          onClose={() => setAsked(undefined)}
          confirm={words.name}
          reason={words.reason}
          act={(reason) => take(asked, reason)}
        >
          <ul>
            {consequences(asked, markets, exposures).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </Consequence>
      )}
    </>
  );
}
