/** Requests of market makers for other strikes. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { StrikeRequest } from "../../../admin/schemas/makers.js";
import { Link, useQuery } from "../../app/router.js";
import { call } from "../../data/api.js";
import { Button } from "../../parts/button.js";
import { Choice } from "../../parts/field.js";
import { Time } from "../../parts/values.js";
import { Consequence } from "../consequence.js";
import { Paged } from "../paged.js";
import { whyNot } from "../permission.js";

type Request = z.infer<typeof StrikeRequest>;

const STATUSES = [
  ["PENDING", "waiting"],
  ["APPROVED", "approved"],
  ["REJECTED", "rejected"],
] as const;

export function Strikes() {
  const [chosen, setChosen] = useQuery("status");
  const status = STATUSES.find(([value]) => value === chosen)?.[0] ?? "PENDING";
  const [version, setVersion] = useState(0);
  const [open, setOpen] = useState<{ readonly approve: boolean; readonly request: Request }>();
  const button = (request: Request, approve: boolean) => (
    <Button
      kind="quiet"
      reason={whyNot("markets")}
      label={`${approve ? "Approve" : "Reject"} the strike ${request.strike}`}
      onClick={() => setOpen({ approve, request })}
    >
      {approve ? "Approve" : "Reject"}
    </Button>
  );
  return (
    <>
      <Choice label="Status" value={status} choices={STATUSES} onChange={setChosen} />
      <Paged
        path="/admin/v1/strike-requests"
        query={{ status }}
        version={version}
        label="Strike requests"
        columns={[
          { title: "Asked", cell: ({ requestedTs }) => <Time ms={requestedTs} /> },
          { title: "Strike", numeric: true, cell: ({ strike }) => strike },
          {
            title: "Like",
            cell: ({ marketId }) => (
              <Link to={`/markets/${marketId}`} class="operator-id">
                {marketId.slice(0, 8)}
              </Link>
            ),
          },
          {
            title: "Decide",
            cell: (request) =>
              request.status === "PENDING" && (
                <>
                  {button(request, true)} {button(request, false)}
                </>
              ),
          },
        ]}
        keyOf={({ requestId }: Request) => requestId}
        empty={status === "PENDING" ? "No request waits" : "There is none"}
      />
      <Consequence
        title={open?.approve === true ? "Approve the strike" : "Reject the strike"}
        open={open !== undefined}
        onClose={() => setOpen(undefined)}
        confirm={open?.approve === true ? "Create the market" : "Reject"}
        act={async () => {
          const body = { approve: open?.approve === true };
          await call("POST", `/admin/v1/strike-requests/${open?.request.requestId ?? ""}`, { body });
          setVersion(version + 1);
        }}
      >
        <p>
          {open?.approve === true
            ? `A market with the strike ${open.request.strike} is created, like the one that was asked about, and opens at once.`
            : "The market maker sees that the request is rejected."}
        </p>
      </Consequence>
    </>
  );
}
