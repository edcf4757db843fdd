/** What is fixed at the first start of an installation, because data is laid out by it. */

import { LEDGER_SHARDS, MARKET_PARTITIONS } from "../../actors/actor.js";
import type { Log } from "./log.js";

const FACTS = {
  layout: "1",
  marketPartitions: String(MARKET_PARTITIONS),
  ledgerShards: String(LEDGER_SHARDS),
};

/** Writes down the partition counts at the first start; throws when those of the data are others. */
export async function checkInstallation(log: Log): Promise<void> {
  const found = await log.installation(FACTS);
  for (const [name, expected] of Object.entries(FACTS)) {
    if (found[name] === expected) continue;
    throw new Error(
      `this log was made with ${name} ${found[name] ?? "unknown"}, and this program has ${expected}: ` +
        "use the program that made it, or another Redis",
    );
  }
}
