/** Settled market: its grade, and the remediation of a wrong one with its difference. */

import { useState } from "preact/hooks";
import { call } from "../../data/api.js";
import { Button } from "../../parts/button.js";
import { Loaded } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";
import { Time } from "../../parts/values.js";
import type { ApprovalAnswer, MarketAnswer, SettlementAnswer } from "../answers.js";
import { Consequence } from "../consequence.js";
import { Denied } from "../denied.js";
import { useOperatorNames } from "../operators.js";
import { whyNot } from "../permission.js";
import { GradeFields } from "./grade-fields.js";
import { gradeWords, payoutRows, type Grade } from "./grade.js";
import { PayoutsTable, sumWords } from "./payouts.js";
import { useGradePreview, useReversalPreview } from "./preview.js";

interface SettledProps {
  readonly market: MarketAnswer;
  readonly settlement: SettlementAnswer;
  readonly reload: () => void;
}

export function Settled({ market, settlement, reload }: SettledProps) {
  const { grade, requestedBy } = settlement;
  const [remediates, setRemediates] = useState(false);
  const [approval, setApproval] = useState<ApprovalAnswer>();
  const nameOf = useOperatorNames();
  const denied = whyNot("settlement");
  return (
    <>
      <h2>Settled</h2>
      <dl>
        <dt>Result</dt>
        <dd>{grade === null ? "unknown" : gradeWords(market, grade)}</dd>
        {market.settledTs !== null && (
          <>
            <dt>Settled</dt>
            <dd>
              <Time ms={market.settledTs} />, {settlement.paid} of {settlement.wallets} wallets paid
            </dd>
          </>
        )}
        <dt>Graded by</dt>
        <dd>{nameOf(requestedBy)}</dd>
      </dl>
      <Denied permission="settlement" />
      {approval !== undefined && (
        <Note>
          <p>The remediation waits for a second operator, who finds it under Settlement.</p>
        </Note>
      )}
      {remediates ? (
        <Remediation
          market={market}
          paid={grade}
          onClose={() => setRemediates(false)}
          onDone={(answer) => {
            setRemediates(false);
            setApproval("approvalId" in answer ? answer : undefined);
            reload();
          }}
        />
      ) : (
        <Button reason={denied} onClick={() => setRemediates(true)}>
          Take the settlement back
        </Button>
      )}
    </>
  );
}

interface RemediationProps {
  readonly market: MarketAnswer;
  readonly paid: Grade | null;
  readonly onClose: () => void;
  readonly onDone: (answer: SettlementAnswer | ApprovalAnswer) => void;
}

/** Remediation: what it takes back, and what the corrected grade will change for each wallet. */
function Remediation({ market, paid, onClose, onDone }: RemediationProps) {
  const { marketId } = market;
  const [corrected, setCorrected] = useState<Grade>();
  const [asks, setAsks] = useState(false);
  const reversal = useReversalPreview(marketId, true);
  const before = useGradePreview(market, paid ?? undefined);
  const after = useGradePreview(market, corrected);
  const taken = reversal.value;
  return (
    <>
      <h2>Remediation</h2>
      <p>
        A remediation takes back exactly what the settlement paid. The market is then closed, and waits for
        the corrected grade.
      </p>
      <h3>Taken back</h3>
      <Loaded of={reversal} what="the amounts">
        {(value) => value && <PayoutsTable label="Amounts that are taken back" payouts={value} />}
      </Loaded>
      <GradeFields market={market} onChange={setCorrected} legend="Corrected result, for the difference" />
      {corrected !== undefined && before.value !== undefined && (
        <>
          <h3>Difference to the corrected result</h3>
          <Loaded of={after} what="the difference">
            {(value) =>
              value && <PayoutsTable label="Difference by wallet" payouts={value} before={before.value} />
            }
          </Loaded>
        </>
      )}
      <div class="buttons">
        <Button
          kind="danger"
          reason={taken === undefined ? "The amounts are not there yet." : undefined}
          onClick={() => setAsks(true)}
        >
          Remediate
        </Button>
        <Button onClick={onClose}>Leave it settled</Button>
      </div>
      {taken !== undefined && (
        <Consequence
          title={`Remediate: ${market.description}`}
          open={asks}
          onClose={() => setAsks(false)}
          confirm="Remediate"
          reason="required"
          act={async (reason) => {
            const body = { reason };
            onDone(await call("POST", `/admin/v1/markets/${marketId}/remediate`, { body }));
          }}
        >
          <p>{sumWords(payoutRows(taken), false)}</p>
          <p>Traders who have spent the money meanwhile owe it: their balances can become negative.</p>
        </Consequence>
      )}
    </>
  );
}
