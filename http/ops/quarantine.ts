/** The commands on which actors have failed, for operators (contract section 8.20). */

import type { Database } from "../../db/database.js";
import type { Log, QuarantineRecord } from "../../stream/log/log.js";
import { parseQuarantined } from "../../stream/log/packing.js";
import { Unavailable } from "../../stream/log/ports.js";
import { recordIntent } from "../admin/audit.js";
import { Quarantine } from "../admin/schemas/exchange.js";
import { operatorWith } from "../request/access.js";
import { idFrom } from "../request/command-ids.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";

interface QuarantineParts {
  readonly db: Database;
  readonly log: Pick<Log, "quarantine" | "dismiss">;
}

/** Maximum number of messages in an answer. */
const MAX_LISTED = 100;

function shown({ partition, id, body }: QuarantineRecord) {
  const { actor, ts, reason, body: message } = parseQuarantined(body);
  return { messageId: idFrom(`quarantine ${partition}`, id), actorId: actor, ts, reason, message };
}

async function answered<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    throw new Unavailable("the quarantine cannot be read; try again", { cause: error });
  }
}

export function quarantineRoutes({ db, log }: QuarantineParts) {
  const list = route("GET /admin/v1/quarantine", {
    access: operatorWith("read"),
    answer: Quarantine,
    docs: {
      summary: "List the quarantined commands",
      description: `Lists the commands on which actors have failed, newest first, ${MAX_LISTED} at most. They had no effect, and the actors went on.`,
    },
    run: async () => {
      const items = (await answered(log.quarantine())).map(shown);
      return { body: { items: items.sort((a, b) => b.ts - a.ts).slice(0, MAX_LISTED) } };
    },
  });

  const dismiss = route("DELETE /admin/v1/quarantine/:messageId", {
    access: operatorWith("service"),
    status: 204,
    docs: {
      summary: "Dismiss a quarantined command",
      description: "Removes the command from the quarantine. The audit log keeps it; it is not executed.",
      refuses: ["MESSAGE_NOT_FOUND"],
    },
    run: async ({ id, ...call }) => {
      const messageId = id("messageId");
      const records = await answered(log.quarantine());
      const record = records.find((each) => shown(each).messageId === messageId);
      if (record === undefined) throw new Refused("MESSAGE_NOT_FOUND");
      const before = shown(record);
      const intent = { action: "quarantine.dismiss", subject: before.actorId, before };
      const { ok } = await recordIntent(db, call, intent, async () => ({
        ok: await answered(log.dismiss(record)),
      }));
      if (!ok) throw new Refused("MESSAGE_NOT_FOUND");
      return { body: undefined };
    },
  });

  return [list, dismiss];
}
