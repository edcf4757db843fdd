/** Maintenance, in which no orders are taken. */

import { useState } from "preact/hooks";
import type { z } from "zod";
import type { Maintenance as MaintenanceAnswer } from "../../../admin/schemas/exchange.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Button } from "../../parts/button.js";
import { TextField } from "../../parts/field.js";
import { Loaded } from "../../parts/loaded.js";
import { Time } from "../../parts/values.js";
import { Consequence } from "../consequence.js";
import { whyNot } from "../permission.js";

type Answer = z.infer<typeof MaintenanceAnswer>;

const EVERY_MS = 5_000;

export function Maintenance() {
  const state = useResource((signal) => call<Answer>("GET", "/admin/v1/maintenance", { signal }), [], {
    everyMs: EVERY_MS,
  });
  const [isOpen, setOpen] = useState(false);
  const [message, setMessage] = useState("");
  const isActive = state.value?.active === true;
  const text = message.trim();
  return (
    <>
      <Loaded of={state} what="the maintenance">
        {({ active, message: shown, sinceTs }) => (
          <>
            <p>
              {active ? "The exchange is in maintenance" : "The exchange is not in maintenance."}
              {active && sinceTs !== null && (
                <>
                  {" "}
                  since <Time ms={sinceTs} />: {shown ?? "no reason was given"}.
                </>
              )}
            </p>
            <Button kind="danger" reason={whyNot("service")} onClick={() => setOpen(true)}>
              {active ? "End the maintenance" : "Begin a maintenance"}
            </Button>
          </>
        )}
      </Loaded>
      <Consequence
        title={isActive ? "End the maintenance" : "Begin a maintenance"}
        open={isOpen}
        onClose={() => setOpen(false)}
        confirm={isActive ? "End it" : "Begin it"}
        act={async () => {
          const action = isActive ? "end" : "begin";
          const body = { action, ...(isActive || text === "" ? {} : { message: text }) };
          await call("POST", "/admin/v1/maintenance", { body });
          setMessage("");
          state.reload();
        }}
      >
        {isActive ? (
          <p>Orders are accepted again, in empty books.</p>
        ) : (
          <>
            <p>
              All open orders of all traders are canceled, and new ones are refused until the maintenance
              ends.
            </p>
            <TextField
              label="Message for traders (optional)"
              value={message}
              onInput={setMessage}
              hint="Shown with each refused order, and under Status."
            />
          </>
        )}
      </Consequence>
    </>
  );
}
