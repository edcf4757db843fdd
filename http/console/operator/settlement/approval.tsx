/** One action that waits for a second operator: what it will do, as its author saw it, and the decision. */

import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { call } from "../../data/api.js";
import { useAction } from "../../data/action.js";
import { session } from "../../data/session.js";
import { Button } from "../../parts/button.js";
import { Notice } from "../../parts/notice.js";
import { Time } from "../../parts/values.js";
import type { ApprovalAnswer } from "../answers.js";
import { Consequence } from "../consequence.js";
import { whyNot } from "../permission.js";
import { actionWords, detailWords, sentenceOf } from "./approval-words.js";
import { Effect } from "./effect.js";

interface WaitingApprovalProps {
  readonly approval: ApprovalAnswer;
  readonly nameOf: (operatorId: string | null) => string;
  readonly reload: () => void;
}

export function WaitingApproval({ approval, nameOf, reload }: WaitingApprovalProps) {
  const { approvalId, action, requestedBy, requestedTs, status } = approval;
  const [looks, setLooks] = useState(false);
  const [effect, setEffect] = useState<readonly string[]>();
  const [asks, setAsks] = useState(false);
  const words = actionWords(action);
  const name = words?.name ?? action;
  const path = `/admin/v1/approvals/${approvalId}`;
  const decline = useAction(async () => {
    await call("DELETE", path);
    reload();
  });
  const isAuthor = requestedBy === session.value?.accountId;
  const denied = whyNot("approvals");
  const unseen = looks ? "What it does is not there yet." : "Look at what it does first.";
  const mayNotApprove =
    denied ??
    (words === undefined ? undefined : whyNot(words.permission)) ??
    (isAuthor ? "You asked for this; another operator approves it." : undefined) ??
    (effect === undefined ? unseen : undefined);
  return (
    <article class="settlement-approval" aria-label={name}>
      <h3>{name}</h3>
      <p class="quiet">
        Asked for by {nameOf(requestedBy)}, <Time ms={requestedTs} />
        {status === "RUNNING" && "; it was approved, and its effect is not known: approve it again"}
      </p>
      <dl>
        {detailWords(approval).map(([detail, text]) => (
          <Fragment key={detail}>
            <dt>{detail}</dt>
            <dd>{text}</dd>
          </Fragment>
        ))}
      </dl>
      {looks && <Effect approval={approval} sentence={sentenceOf(approval, nameOf)} onShown={setEffect} />}
      {isAuthor && <p>You asked for this; another operator approves it.</p>}
      <Notice refusal={decline.refusal} onDismiss={decline.dismiss} />
      <div class="buttons">
        {!looks && <Button onClick={() => setLooks(true)}>Show what it does</Button>}
        <Button kind="main" reason={mayNotApprove} onClick={() => setAsks(true)}>
          Approve
        </Button>
        <Button kind="danger" busy={decline.busy} reason={denied} onClick={() => decline.run()}>
          {isAuthor ? "Withdraw" : "Decline"}
        </Button>
      </div>
      <Consequence
        title={`Approve: ${name}`}
        open={asks}
        onClose={() => setAsks(false)}
        confirm="Approve"
        disabled={mayNotApprove}
        act={async () => {
          await call("POST", `${path}/approve`);
          reload();
        }}
      >
        {effect?.map((line) => (
          <p key={line}>{line}</p>
        ))}
        <p>It is done as soon as you approve it.</p>
      </Consequence>
    </article>
  );
}
