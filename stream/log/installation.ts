/** Facts of an installation that are fixed at its first start: how its data is laid out, and the id of its log. */

import { randomUUID } from "node:crypto";
import { LEDGER_SHARDS, MARKET_PARTITIONS } from "../../actors/actor.js";
import type { Log } from "./log.js";

const FACTS = {
  layout: "1",
  marketPartitions: String(MARKET_PARTITIONS),
  ledgerShards: String(LEDGER_SHARDS),
};

/** Records the facts at the first start. Throws when the log was written with other partition counts. */
export async function checkInstallation(log: Log): Promise<void> {
  const found = await log.installation({ ...FACTS, id: randomUUID() });
  for (const [name, expected] of Object.entries(FACTS)) {
    if (found[name] === expected) continue;
    throw new Error(
      `this log was written with ${name} ${found[name] ?? "unknown"}, and this program has ${expected}: ` +
        "use the program that wrote it, or another Redis",
    );
  }
}

/** Returns the id of a log, `undefined` before the first start. A log that was emptied has another one. */
export async function idOfLog(log: Log): Promise<string | undefined> {
  return (await log.installation({}))["id"];
}
