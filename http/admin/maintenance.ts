/**
 * Maintenance: the exchange takes no orders, and cancels the resting ones (contract section 8.14; specification,
 * Versioning).
 */

import { randomUUID } from "node:crypto";
import { LEDGER_SHARDS } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import {
  beginMaintenance,
  currentMaintenance,
  endMaintenance,
  type MaintenanceWindow,
} from "../../db/queries/operator/maintenance.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { Changes } from "../reference/changes.js";
import { MAINTENANCE_TTL_MS } from "../reference/reference.js";
import { operatorWith } from "../request/access.js";
import { Refused, refusedBy } from "../request/errors.js";
import { route } from "../request/route.js";
import { auditedAction, type ActionRequest } from "./audit.js";
import { Maintenance, MaintenanceBody } from "./schemas/exchange.js";

interface MaintenanceParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly changes: Changes;
}

function shown(window: MaintenanceWindow | undefined) {
  return {
    active: window !== undefined,
    message: window?.message ?? null,
    sinceTs: window?.begunTs ?? null,
  };
}

export function maintenanceRoutes({ db, exchange, changes }: MaintenanceParts) {
  const cancelEveryone = async (): Promise<void> => {
    const shards = Array.from({ length: LEDGER_SHARDS }, (_, shard) => shard);
    const command = { kind: "cancelEveryone", reason: "MAINTENANCE" } as const;
    const replies = await Promise.all(shards.map((shard) => exchange.ledger(shard, command)));
    for (const reply of replies) if (!reply.ok) throw refusedBy(reply.refusal);
  };

  const begin = async (call: ActionRequest, message: string | undefined): Promise<MaintenanceWindow> => {
    const window = {
      windowId: randomUUID(),
      message: message ?? null,
      begunBy: call.caller.accountId,
      begunTs: call.incoming.receivedMs,
    };
    const begun = await db.transaction(async (tx) => {
      const made = await beginMaintenance(tx, window);
      if (made === undefined)
        throw new Refused("INVALID_TRANSITION", "the exchange is in maintenance already; end it first");
      const record = { action: "maintenance.begin", subject: window.windowId, after: { message } };
      await recordAudit(tx, auditedAction(call, record));
      return made;
    });
    await changes.publish("maintenance", "current");
    await cancelEveryone();
    // A gateway that missed the announcement takes orders until its cached state expires; the second cancel covers them.
    await new Promise((resolve) => setTimeout(resolve, MAINTENANCE_TTL_MS));
    await cancelEveryone();
    return begun;
  };

  const end = async (call: ActionRequest, message: string | undefined): Promise<void> => {
    const { caller, incoming } = call;
    await db.transaction(async (tx) => {
      const ended = await endMaintenance(tx, { endedBy: caller.accountId, endedTs: incoming.receivedMs });
      if (ended === undefined)
        throw new Refused("INVALID_TRANSITION", "the exchange is not in maintenance; begin it first");
      const record = {
        action: "maintenance.end",
        subject: ended.windowId,
        before: shown(ended),
        after: { message },
      };
      await recordAudit(tx, auditedAction(call, record));
    });
    await changes.publish("maintenance", "current");
  };

  const change = route("POST /admin/v1/maintenance", {
    access: operatorWith("service"),
    body: MaintenanceBody,
    answer: Maintenance,
    docs: {
      summary: "Begin or end maintenance",
      description: "`begin` refuses new orders and cancels all open ones; `end` accepts orders again.",
      refuses: ["INVALID_TRANSITION"],
      exampleBody: { action: "begin", message: "back at noon" },
    },
    run: async ({ body: { action, message }, ...call }) => {
      if (action === "begin") return { body: shown(await begin(call, message)) };
      await end(call, message);
      return { body: shown(undefined) };
    },
  });

  const show = route("GET /admin/v1/maintenance", {
    access: operatorWith("read"),
    answer: Maintenance,
    docs: {
      summary: "Retrieve the maintenance state",
    },
    run: async () => ({ body: shown(await currentMaintenance(db)) }),
  });

  return [change, show];
}
