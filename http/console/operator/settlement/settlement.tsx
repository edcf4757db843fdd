/** Page of the settlements: what waits for a second operator, what is under way, and what is to be graded. */

import { Link } from "../../app/router.js";
import { call, pages } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Time } from "../../parts/values.js";
import type { ApprovalAnswer, MarketAnswer, SettlementsAnswer } from "../answers.js";
import { isGraded } from "../events/status.js";
import { Frame } from "../frame.js";
import { useOperatorNames } from "../operators.js";
import { WaitingApproval } from "./approval.js";
import { UnderWay } from "./under-way.js";
import "./settlement.css";

const EVERY_MS = 5_000;

export default function SettlementPage() {
  const nameOf = useOperatorNames();
  const settlements = useResource(
    (signal) => call<SettlementsAnswer>("GET", "/admin/v1/settlements", { signal }),
    [],
    { everyMs: EVERY_MS },
  );
  const approvals = useResource(
    (signal) =>
      pages<ApprovalAnswer>(
        "/admin/v1/approvals",
        { status: "PENDING_APPROVAL,RUNNING", limit: 1_000 },
        { signal },
      ),
    [],
    { everyMs: EVERY_MS },
  );
  const closed = useResource(
    async (signal) => {
      const query = { status: "CLOSED", limit: 1_000 };
      const found = await pages<MarketAnswer>("/admin/v1/markets", query, { signal });
      return found.filter((market) => !isGraded(market));
    },
    [],
    { everyMs: 2 * EVERY_MS },
  );
  const waiting = new Set(settlements.value?.items.map(({ marketId }) => marketId));
  return (
    <Frame title="Settlement">
      <h2>Grades and payouts under way</h2>
      <Loaded of={settlements} what="the settlements">
        {({ items }) => <UnderWay items={items} nameOf={nameOf} />}
      </Loaded>
      <h2>Other actions that wait for a second operator</h2>
      <Loaded
        of={approvals}
        what="the actions that wait"
        empty={
          <Empty title="No action waits">
            <p>
              With two operators for each settlement, remediations, canceled events, new operators and large
              transactions wait here.
            </p>
          </Empty>
        }
      >
        {(items) =>
          items.map((approval) => (
            <WaitingApproval
              key={approval.approvalId}
              approval={approval}
              nameOf={nameOf}
              reload={approvals.reload}
            />
          ))
        }
      </Loaded>
      <h2>To be graded</h2>
      <Loaded of={closed} what="the closed markets">
        {(markets) => (
          <Table
            label="Markets to be graded"
            rows={markets.filter(({ marketId }) => !waiting.has(marketId))}
            keyOf={({ marketId }) => marketId}
            empty={
              <Empty title="No closed market waits for its grade">
                <p>
                  Markets that are closed and have no grade appear here. A market that trades is graded from
                  its event.
                </p>
              </Empty>
            }
            columns={[
              {
                title: "Market",
                cell: ({ marketId, description }) => (
                  <Link to={`/operator/settlement/${marketId}`}>{description}</Link>
                ),
              },
              {
                title: "Event",
                cell: ({ eventId }) => <Link to={`/operator/events/${eventId}`}>event</Link>,
                wide: true,
              },
              { title: "Type", cell: ({ marketType }) => marketType, wide: true },
              { title: "Started", cell: ({ startsTs }) => <Time ms={startsTs} /> },
            ]}
          />
        )}
      </Loaded>
    </Frame>
  );
}
