/** Table of the settlements that wait for their approval, pay or take back. */

import { Link } from "../../app/router.js";
import { Empty } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Time } from "../../parts/values.js";
import type { SettlementsAnswer } from "../answers.js";

const STAGES = {
  PENDING_APPROVAL: "waits for approval",
  SETTLING: "pays",
  REVERSING: "takes back",
} as const;

interface UnderWayProps extends Pick<SettlementsAnswer, "items"> {
  readonly nameOf: (operatorId: string | null) => string;
}

export function UnderWay({ items, nameOf }: UnderWayProps) {
  return (
    <Table
      stacks
      label="Settlements under way"
      rows={items}
      keyOf={({ settlementId }) => settlementId}
      empty={
        <Empty title="No settlement is under way">
          <p>A market that is graded appears here until every wallet is paid.</p>
        </Empty>
      }
      columns={[
        {
          title: "Market",
          cell: ({ marketId, description }) => (
            <Link to={`/operator/settlement/${marketId}`}>{description}</Link>
          ),
        },
        { title: "Stage", cell: ({ status }) => STAGES[status] },
        {
          title: "Graded by",
          cell: ({ requestedBy }) => nameOf(requestedBy),
          wide: true,
        },
        {
          title: "Since",
          cell: ({ requestedTs }) => (requestedTs === null ? "–" : <Time ms={requestedTs} />),
          wide: true,
        },
      ]}
    />
  );
}
