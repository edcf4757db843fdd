/** Grade that waits for a second operator, who sees what the first one saw. */

import { useState } from "preact/hooks";
import { call } from "../../data/api.js";
import { useAction } from "../../data/action.js";
import { session } from "../../data/session.js";
import { Button } from "../../parts/button.js";
import { Loaded } from "../../parts/loaded.js";
import { Notice } from "../../parts/notice.js";
import { Time } from "../../parts/values.js";
import type { MarketAnswer, SettlementAnswer } from "../answers.js";
import { Consequence } from "../consequence.js";
import { useOperatorNames } from "../operators.js";
import { whyNot } from "../permission.js";
import { gradeWords, payoutRows, type Grade } from "./grade.js";
import { PayoutsTable, sumWords } from "./payouts.js";
import { useGradePreview } from "./preview.js";

interface WaitingGradeProps {
  readonly market: MarketAnswer;
  readonly settlement: SettlementAnswer;
  readonly grade: Grade;
  readonly reload: () => void;
}

export function WaitingGrade({ market, settlement, grade, reload }: WaitingGradeProps) {
  const { marketId } = market;
  const { requestedBy, requestedTs } = settlement;
  const [asks, setAsks] = useState(false);
  const nameOf = useOperatorNames();
  const denied = whyNot("settlement");
  const preview = useGradePreview(market, denied === undefined ? grade : undefined);
  const path = `/admin/v1/markets/${marketId}/settlement`;
  const withdraw = useAction(async () => {
    await call("DELETE", path);
    reload();
  });
  const isAuthor = requestedBy === session.value?.accountId;
  const payouts = preview.value;
  return (
    <>
      <h2>Grade that waits for a second operator</h2>
      <dl>
        <dt>Result</dt>
        <dd>{gradeWords(market, grade)}</dd>
        <dt>Asked for by</dt>
        <dd>
          {nameOf(requestedBy)}
          {requestedTs !== null && (
            <>
              , <Time ms={requestedTs} />
            </>
          )}
        </dd>
      </dl>
      <h3>Payouts</h3>
      <p class="quiet">The market has been closed since the grade, so nothing has changed since then.</p>
      {denied !== undefined && <p class="quiet">You see no payouts. {denied}</p>}
      <Loaded of={preview} what="the payouts">
        {(value) => value && <PayoutsTable label="Payouts of the grade" payouts={value} />}
      </Loaded>
      {isAuthor && <p>You asked for this grade; another operator approves it.</p>}
      <Notice refusal={withdraw.refusal} onDismiss={withdraw.dismiss} />
      <div class="buttons">
        <Button
          kind="main"
          reason={
            denied ??
            (isAuthor
              ? "You asked for this grade; another operator approves it."
              : payouts === undefined
                ? "The payouts are not there yet."
                : undefined)
          }
          onClick={() => setAsks(true)}
        >
          Approve the grade
        </Button>
        <Button kind="danger" busy={withdraw.busy} reason={denied} onClick={() => withdraw.run()}>
          {isAuthor ? "Withdraw the grade" : "Decline the grade"}
        </Button>
      </div>
      {payouts !== undefined && (
        <Consequence
          title={`Approve: ${market.description}`}
          open={asks}
          onClose={() => setAsks(false)}
          confirm="Approve"
          act={async () => {
            await call("POST", `${path}/approve`);
            reload();
          }}
        >
          <p>{gradeWords(market, grade)}.</p>
          <p>{sumWords(payoutRows(payouts), false)}</p>
        </Consequence>
      )}
    </>
  );
}
