/** Effect of an action that waits for a second operator, read anew and said in sentences. */

import { useEffect } from "preact/hooks";
import { Link } from "../../app/router.js";
import { call, pages } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Loaded } from "../../parts/loaded.js";
import type { ApprovalAnswer, EventAnswer, MarketAnswer, MarketExposure } from "../answers.js";
import { consequences } from "../events/actions.js";
import { payoutRows } from "./grade.js";
import { PayoutsTable, sumWords } from "./payouts.js";
import { useReversalPreview } from "./preview.js";

interface ShownProps {
  /** Called with the effect in sentences when it is shown. */
  readonly onShown: (effect: readonly string[]) => void;
}

interface EffectProps extends ShownProps {
  readonly approval: ApprovalAnswer;
  /** Sentence that says what the action does, where nothing has to be read for it. */
  readonly sentence: string;
}

export function Effect({ approval: { action, subject }, sentence, onShown }: EffectProps) {
  switch (action) {
    case "market.remediate":
      return <Remediation marketId={subject} onShown={onShown} />;
    case "event.cancel":
      return <Cancellation eventId={subject} onShown={onShown} />;
    case "trader.transaction":
      return (
        <>
          <Sentence text={sentence} onShown={onShown} />
          <p>
            <Link to={`/operator/desk/${subject}`}>See the trader</Link>
          </p>
        </>
      );
    default:
      return <Sentence text={sentence} onShown={onShown} />;
  }
}

function Sentence({ text, onShown }: ShownProps & { readonly text: string }) {
  useEffect(() => onShown([text]), [text]);
  return <p>{text}</p>;
}

function Remediation({ marketId, onShown }: ShownProps & { readonly marketId: string }) {
  const reversal = useReversalPreview(marketId, true);
  useEffect(() => {
    if (reversal.value !== undefined) onShown([sumWords(payoutRows(reversal.value), false)]);
  }, [reversal.value]);
  return (
    <>
      <p>
        <Link to={`/operator/settlement/${marketId}`}>See the market and its grade</Link>
      </p>
      <Loaded of={reversal} what="the amounts">
        {(value) => value && <PayoutsTable label="Amounts that are taken back" payouts={value} />}
      </Loaded>
    </>
  );
}

function Cancellation({ eventId, onShown }: ShownProps & { readonly eventId: string }) {
  const path = `/admin/v1/events/${eventId}`;
  const read = useResource(
    async (signal) => {
      const [event, markets, { items }] = await Promise.all([
        call<EventAnswer>("GET", path, { signal }),
        pages<MarketAnswer>("/admin/v1/markets", { event: eventId, limit: 1_000 }, { signal }),
        call<{ items: MarketExposure[] }>("GET", `${path}/exposure`, { signal }),
      ]);
      return { event, lines: consequences("cancel", markets, items) };
    },
    [eventId],
  );
  useEffect(() => {
    if (read.value !== undefined) onShown([`${read.value.event.description}.`, ...read.value.lines]);
  }, [read.value]);
  return (
    <Loaded of={read} what="the event">
      {({ event, lines }) => (
        <>
          <p>
            <Link to={`/operator/events/${eventId}`}>{event.description}</Link>
          </p>
          <ul>
            {lines.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </>
      )}
    </Loaded>
  );
}
