/** One action that waits for a second operator: what it will do, as its author saw it, and the decision. */

import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { Link } from "../../app/router.js";
import { call, pages } from "../../data/api.js";
import { useAction } from "../../data/action.js";
import { useResource } from "../../data/resource.js";
import { session } from "../../data/session.js";
import { Button } from "../../parts/button.js";
import { Loaded } from "../../parts/loaded.js";
import { Notice } from "../../parts/notice.js";
import { Time } from "../../parts/values.js";
import type { Permission } from "../../../auth/permissions.js";
import type { ApprovalAnswer, EventAnswer, MarketAnswer, MarketExposure } from "../answers.js";
import { consequences } from "../events/actions.js";
import { whyNot } from "../permission.js";
import { PayoutsTable } from "./payouts.js";
import { useReversalPreview } from "./preview.js";

interface ActionWords {
  readonly name: string;
  /** Permission that the action needs beside that of deciding. */
  readonly permission: Permission;
}

const ACTIONS: Readonly<Record<string, ActionWords>> = {
  "market.remediate": { name: "Take a settlement back", permission: "settlement" },
  "event.cancel": { name: "Cancel an event", permission: "markets" },
  "operator.create": { name: "Create an operator", permission: "operators" },
  "operator.role": { name: "Change the role of an operator", permission: "operators" },
  "trader.transaction": { name: "Post a transaction", permission: "money" },
};

interface WaitingApprovalProps {
  readonly approval: ApprovalAnswer;
  readonly nameOf: (operatorId: string | null) => string;
  readonly reload: () => void;
}

export function WaitingApproval({ approval, nameOf, reload }: WaitingApprovalProps) {
  const { approvalId, action, requestedBy, requestedTs, status } = approval;
  const [looks, setLooks] = useState(false);
  const words = ACTIONS[action];
  const path = `/admin/v1/approvals/${approvalId}`;
  const approve = useAction(async () => {
    await call("POST", `${path}/approve`);
    reload();
  });
  const decline = useAction(async () => {
    await call("DELETE", path);
    reload();
  });
  const isAuthor = requestedBy === session.value?.accountId;
  const denied = whyNot("approvals");
  const mayNotApprove =
    denied ??
    (words === undefined ? undefined : whyNot(words.permission)) ??
    (isAuthor ? "You asked for this; another operator approves it." : undefined) ??
    (looks ? undefined : "Look at what it does first.");
  return (
    <article class="settlement-approval" aria-label={words?.name ?? action}>
      <h3>{words?.name ?? action}</h3>
      <p class="quiet">
        Asked for by {nameOf(requestedBy)}, <Time ms={requestedTs} />
        {status === "RUNNING" && "; it was approved, and its effect is not known: approve it again"}
      </p>
      <Details details={approval.details} />
      {looks && <Effect approval={approval} />}
      {isAuthor && <p>You asked for this; another operator approves it.</p>}
      <Notice refusal={approve.refusal ?? decline.refusal} onDismiss={approve.dismiss} />
      <div class="buttons">
        {!looks && <Button onClick={() => setLooks(true)}>Show what it does</Button>}
        <Button kind="main" busy={approve.busy} reason={mayNotApprove} onClick={() => approve.run()}>
          Approve
        </Button>
        <Button kind="danger" busy={decline.busy} reason={denied} onClick={() => decline.run()}>
          {isAuthor ? "Withdraw" : "Decline"}
        </Button>
      </div>
    </article>
  );
}

function Details({ details }: Pick<ApprovalAnswer, "details">) {
  const given = Object.entries(details).filter(([, value]) => value !== undefined && value !== null);
  if (given.length === 0) return null;
  return (
    <dl>
      {given.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{String(value)}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** Effect of the action, read anew. */
function Effect({ approval: { action, subject } }: { readonly approval: ApprovalAnswer }) {
  switch (action) {
    case "market.remediate":
      return <Remediation marketId={subject} />;
    case "event.cancel":
      return <Cancellation eventId={subject} />;
    case "trader.transaction":
      return (
        <p>
          The transaction is posted to the wallet of{" "}
          <Link to={`/operator/desk/${subject}`} class="operator-id">
            {subject}
          </Link>
          .
        </p>
      );
    default:
      return <p>The details above are all that it changes.</p>;
  }
}

function Remediation({ marketId }: { readonly marketId: string }) {
  const reversal = useReversalPreview(marketId, true);
  return (
    <>
      <p>
        <Link to={`/operator/settlement/${marketId}`}>See the market and its grade</Link>
      </p>
      <Loaded of={reversal}>
        {(value) => value && <PayoutsTable label="Amounts that are taken back" payouts={value} />}
      </Loaded>
    </>
  );
}

function Cancellation({ eventId }: { readonly eventId: string }) {
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
  return (
    <Loaded of={read}>
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
