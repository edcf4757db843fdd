/** Engine time, for operators: a jump of the clock of Redis, and its confirmation (contract section 8.19). */

import type { Database } from "../../db/database.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import type { Log } from "../../stream/log/log.js";
import { Unavailable } from "../../stream/log/ports.js";
import { auditedAction } from "../admin/audit.js";
import { ClockBody, Clocks } from "../admin/schemas/exchange.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";

interface ClockParts {
  readonly db: Database;
  readonly clocks: Pick<Log, "clockReport" | "confirmTime">;
}

export function clockRoutes({ db, clocks }: ClockParts) {
  const answered = async <Value>(answer: Promise<Value>): Promise<Value> => {
    try {
      return await answer;
    } catch (error) {
      throw new Unavailable("the clock of Redis cannot be read; try again", { cause: error });
    }
  };
  const report = async () => {
    const { heldMs, hosts } = await answered(clocks.clockReport());
    return { heldMs, hosts: { ...hosts } };
  };

  const confirm = route("POST /admin/v1/clock", {
    access: operatorWith("configuration"),
    body: ClockBody,
    answer: Clocks,
    docs: {
      summary: "Confirm a jump of the clock",
      description:
        "`confirm` lets engine time follow the clock of Redis at once: orders whose time has passed by that clock " +
        "expire, and dead-man switches fire. It is refused while nothing is held.",
      refuses: ["NO_CHANGE"],
      exampleBody: { action: "confirm" },
    },
    run: async ({ body: _body, ...call }) => {
      const before = await report();
      if (before.heldMs === 0)
        throw new Refused("NO_CHANGE", "engine time follows the clock of Redis; there is no jump to confirm");
      const after = { ...before, heldMs: 0 };
      await recordAudit(
        db,
        auditedAction(call, { action: "clock.confirm", subject: "clock", before, after }),
      );
      await answered(clocks.confirmTime());
      return { body: after };
    },
  });

  const show = route("GET /admin/v1/clock", {
    access: operatorWith("read"),
    answer: Clocks,
    docs: { summary: "Retrieve the state of the clocks" },
    run: async () => ({ body: await report() }),
  });

  return [confirm, show];
}
