import { randomUUID } from "node:crypto";
import { ledgerActor, partitionOf } from "../../actors/actor.js";
import { packEnvelope } from "../../stream/log/packing.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import type { Stack } from "../support/stack.js";
import { until } from "../support/until.js";
import type { Calls } from "./calls.js";

/** Commands that reach a ledger only through a bug of a gateway, and on which it fails. */
export const POISON = [{ kind: "place", wallet: "w", trader: "t", atomic: false }];

/** Sends a command on which a ledger fails, and returns its id in the quarantine. */
export async function poison(stack: Stack, operator: Calls, id: string = randomUUID()): Promise<string> {
  const actor = ledgerActor(3);
  const log = await RedisLog.open({ url: stack.redisUrl });
  const body = packEnvelope({ id, commands: POISON });
  await log.append(partitionOf(actor), [{ to: actor, body }]);
  await log.close();
  return until(async () => {
    const { json } = await operator("GET /admin/v1/quarantine");
    const items = json["items"] as { messageId: string; message: string }[];
    const item = items.find(({ message }) => message.includes(id));
    if (item === undefined) throw new Error(`the command ${id} is not in the quarantine`);
    return item.messageId;
  });
}
