/** The commands on which actors have failed, for operators (contract section 8.20). */

import type { Log } from "../../stream/log/log.js";
import { parseQuarantined } from "../../stream/log/packing.js";
import { Unavailable } from "../../stream/log/ports.js";
import { Quarantine } from "../admin/schemas/exchange.js";
import { OPERATOR } from "../request/access.js";
import { route } from "../request/route.js";

interface QuarantineParts {
  readonly log: Pick<Log, "quarantine">;
}

export function quarantineRoutes({ log }: QuarantineParts) {
  const messages = async (): Promise<readonly string[]> => {
    try {
      return await log.quarantine();
    } catch (error) {
      throw new Unavailable("the quarantine cannot be read; try again", { cause: error });
    }
  };

  const list = route("GET /admin/v1/quarantine", {
    access: OPERATOR,
    answer: Quarantine,
    docs: {
      summary: "List the quarantined commands",
      description:
        "Lists the commands on which actors have failed, newest first. They had no effect, and the actors went on.",
    },
    run: async () => {
      const items = (await messages()).map((packed) => {
        const { actor, ts, reason, body } = parseQuarantined(packed);
        return { actorId: actor, ts, reason, message: body };
      });
      return { body: { items: items.sort((a, b) => b.ts - a.ts) } };
    },
  });

  return [list];
}
