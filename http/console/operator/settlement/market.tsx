/** Page of the settlement of one market: grade, approval, progress, remediation. */

import type { PageProps } from "../../app/pages.js";
import { Link } from "../../app/router.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Loaded } from "../../parts/loaded.js";
import type { EventAnswer, MarketAnswer, SettlementAnswer } from "../answers.js";
import { MarketState } from "../events/status.js";
import { Frame } from "../frame.js";
import { settlementOf } from "../settlement.js";
import { NewGrade } from "./new-grade.js";
import { Progress } from "./progress.js";
import { Settled } from "./settled.js";
import { WaitingGrade } from "./waiting-grade.js";
import "./settlement.css";

/** Interval of the reads while a settlement is under way, in ms. */
const EVERY_MS = 2_000;

interface Shown {
  readonly market: MarketAnswer;
  readonly event: EventAnswer;
  readonly settlement: SettlementAnswer | undefined;
}

export default function MarketSettlementPage({ marketId = "" }: PageProps) {
  const shown = useResource(
    async (signal): Promise<Shown> => {
      const [market, settlement] = await Promise.all([
        call<MarketAnswer>("GET", `/admin/v1/markets/${marketId}`, { signal }),
        settlementOf(marketId, signal),
      ]);
      const event = await call<EventAnswer>("GET", `/admin/v1/events/${market.eventId}`, { signal });
      return { market, event, settlement };
    },
    [marketId],
    { everyMs: EVERY_MS },
  );
  return (
    <Frame title={shown.value?.market.description ?? "Settlement"}>
      <Loaded of={shown} what="the market">
        {({ market, event, settlement }) => (
          <>
            <dl class="operator-facts">
              <dt>Event</dt>
              <dd>
                <Link to={`/operator/events/${event.eventId}`}>{event.description}</Link>
              </dd>
              <dt>Market</dt>
              <dd>
                <MarketState market={market} />
              </dd>
              <dt>Outcomes</dt>
              <dd>{market.outcomes.map(({ name }) => name).join(" · ")}</dd>
            </dl>
            <Stage market={market} settlement={settlement} reload={shown.reload} />
          </>
        )}
      </Loaded>
    </Frame>
  );
}

interface StageProps extends Pick<Shown, "market" | "settlement"> {
  readonly reload: () => void;
}

/** The part of the page for the stage of the settlement. */
function Stage({ market, settlement, reload }: StageProps) {
  if (settlement === undefined) return <NewGrade market={market} reload={reload} />;
  const { status, grade } = settlement;
  switch (status) {
    case "PENDING_APPROVAL":
      return grade && <WaitingGrade market={market} settlement={settlement} grade={grade} reload={reload} />;
    case "SETTLING":
    case "REVERSING":
      return <Progress market={market} settlement={settlement} />;
    case "SETTLED":
      return <Settled market={market} settlement={settlement} reload={reload} />;
    default:
      return status satisfies never;
  }
}
