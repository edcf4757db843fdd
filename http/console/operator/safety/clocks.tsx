/** Clocks: engine time against the clock of Redis, and the hosts whose own clock is wrong. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Clocks as ClocksAnswer } from "../../../admin/schemas/exchange.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Button } from "../../parts/button.js";
import { Empty, Loaded } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Consequence } from "../consequence.js";
import { whyNot } from "../permission.js";

type Answer = z.infer<typeof ClocksAnswer>;

const EVERY_MS = 5_000;

/** Returns a difference of clocks in seconds, with its sign. */
function seconds(ms: number): string {
  return `${ms > 0 ? "+" : ""}${(ms / 1_000).toFixed(3)} s`;
}

export function Clocks() {
  const clocks = useResource((signal) => call<Answer>("GET", "/admin/v1/clock", { signal }), [], {
    everyMs: EVERY_MS,
  });
  const [isOpen, setOpen] = useState(false);
  const held = clocks.value?.heldMs ?? 0;
  const nothing = held === 0 ? "The clock of Redis has not jumped; there is nothing to confirm." : undefined;
  return (
    <>
      <Loaded of={clocks} what="the clocks">
        {({ heldMs, hosts }) => (
          <>
            <p>
              {heldMs === 0
                ? "Engine time follows the clock of Redis."
                : `The clock of Redis has jumped. Engine time ignores the jump and is ${seconds(heldMs)} from it. Trading goes on.`}
            </p>
            <div class="operator-row">
              <Button kind="danger" reason={whyNot("configuration") ?? nothing} onClick={() => setOpen(true)}>
                Confirm the new time
              </Button>
            </div>
            <h2>Hosts</h2>
            <Table
              label="Hosts whose clock differs"
              columns={[
                { title: "Host", cell: ([host]) => host },
                { title: "Differs by", numeric: true, cell: ([, ms]) => seconds(ms) },
              ]}
              rows={Object.entries(hosts)}
              keyOf={([host]) => host}
              empty={<Empty title="No host differs by more than 5 s" />}
            />
          </>
        )}
      </Loaded>
      <Consequence
        title="Confirm the new time"
        open={isOpen}
        onClose={() => setOpen(false)}
        confirm="Let engine time follow"
        act={async () => {
          await call("POST", "/admin/v1/clock", { body: { action: "confirm" } });
          clocks.reload();
        }}
      >
        <p>
          Engine time follows the clock of Redis at once, by {seconds(-held)}. Orders whose time has passed by
          that clock expire, and dead-man switches fire.
        </p>
      </Consequence>
    </>
  );
}
