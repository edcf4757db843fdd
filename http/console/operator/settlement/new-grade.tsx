/** Grade of a market: choose the result, see every payout, then grade. */

import { useState } from "preact/hooks";
import { call } from "../../data/api.js";
import { Button } from "../../parts/button.js";
import { Loaded } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";
import type { MarketAnswer } from "../answers.js";
import { Consequence } from "../consequence.js";
import { whyNot } from "../permission.js";
import { CloseMarket } from "../markets/close.js";
import { GradeFields } from "./grade-fields.js";
import { gradeWords, payoutRows, type Grade } from "./grade.js";
import { PayoutsTable, sumWords } from "./payouts.js";
import { useGradePreview } from "./preview.js";

interface NewGradeProps {
  readonly market: MarketAnswer;
  readonly reload: () => void;
}

export function NewGrade({ market, reload }: NewGradeProps) {
  const { marketId } = market;
  const [grade, setGrade] = useState<Grade>();
  const [asks, setAsks] = useState(false);
  const denied = whyNot("settlement");
  const preview = useGradePreview(market, denied === undefined ? grade : undefined);
  const [closes, setCloses] = useState(false);
  const payouts = preview.value;
  return (
    <>
      <h2>Grade</h2>
      {market.status === "OPEN" && (
        <Note kind="warning">
          <p>
            The market takes orders, so the payouts below can change until it is closed. Grading closes it and
            cancels its open orders. Close it first to see the payouts that the grade will make.
          </p>
          <Button reason={whyNot("markets")} onClick={() => setCloses(true)}>
            Close the market
          </Button>
        </Note>
      )}
      {closes && <CloseMarket market={market} onClose={() => setCloses(false)} reload={reload} />}
      <GradeFields market={market} onChange={setGrade} legend="Result" />
      {denied !== undefined && <p class="quiet">You see no payouts. {denied}</p>}
      {grade !== undefined && denied === undefined && (
        <>
          <h3>Payouts</h3>
          <Loaded of={preview} what="the payouts">
            {(value) => value && <PayoutsTable label="Payouts of the grade" payouts={value} />}
          </Loaded>
        </>
      )}
      <div class="buttons">
        <Button
          kind="main"
          reason={
            denied ??
            (grade === undefined
              ? "Choose the result first."
              : payouts === undefined
                ? "The payouts are not there yet."
                : undefined)
          }
          onClick={() => setAsks(true)}
        >
          Grade the market
        </Button>
      </div>
      {grade !== undefined && payouts !== undefined && (
        <Consequence
          title={`Grade: ${market.description}`}
          open={asks}
          onClose={() => setAsks(false)}
          confirm="Grade"
          act={async () => {
            await call("POST", `/admin/v1/markets/${marketId}/grade`, { body: grade });
            reload();
          }}
        >
          <p>{gradeWords(market, grade)}.</p>
          <p>{sumWords(payoutRows(payouts), false)}</p>
          <p>
            Where a settlement takes two operators, the grade waits for the second one. A wrong settlement can
            be taken back later.
          </p>
        </Consequence>
      )}
    </>
  );
}
