/** Quarantine: commands on which an actor has failed. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Quarantine as QuarantineAnswer } from "../../../admin/schemas/exchange.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Button } from "../../parts/button.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Time } from "../../parts/values.js";
import { Consequence } from "../consequence.js";
import { whyNot } from "../permission.js";

type Answer = z.infer<typeof QuarantineAnswer>;
type Failed = Answer["items"][number];

const EVERY_MS = 10_000;

export function Quarantine() {
  const list = useResource((signal) => call<Answer>("GET", "/admin/v1/quarantine", { signal }), [], {
    everyMs: EVERY_MS,
  });
  const [chosen, setChosen] = useState<Failed>();
  return (
    <>
      <p>
        A command that breaks a rule that must always hold has no effect. It is kept here, and its actor goes
        on.
      </p>
      <Loaded of={list} what="the quarantine">
        {({ items }) => (
          <Table
            label="Quarantine"
            columns={[
              { title: "At", cell: ({ ts }) => <Time ms={ts} /> },
              { title: "Actor", cell: ({ actorId }) => <span class="operator-id">{actorId}</span> },
              { title: "Why", cell: ({ reason }) => <span class="audit-value">{reason}</span> },
              {
                title: "Deal with it",
                cell: (failed) => (
                  <Button
                    kind="quiet"
                    reason={whyNot("service")}
                    label={`Dismiss ${failed.messageId}`}
                    onClick={() => setChosen(failed)}
                  >
                    Dismiss
                  </Button>
                ),
              },
            ]}
            rows={items}
            keyOf={({ messageId }) => messageId}
            empty={<Empty title="No command has failed" />}
          />
        )}
      </Loaded>
      <Consequence
        title="Dismiss a command"
        open={chosen !== undefined}
        onClose={() => setChosen(undefined)}
        confirm="Dismiss"
        act={async () => {
          await call("DELETE", `/admin/v1/quarantine/${chosen?.messageId ?? ""}`);
          list.reload();
        }}
      >
        <p>
          The command leaves the quarantine and is not carried out; the audit log keeps it. Whoever still
          wants its effect sends a new one.
        </p>
        <pre>{chosen?.message}</pre>
      </Consequence>
    </>
  );
}
