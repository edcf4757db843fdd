/** Facts of an installation that are fixed at its first start, because its data is laid out by them. */

import { LEDGER_SHARDS, MARKET_PARTITIONS } from "../../actors/actor.js";
import type { Log } from "./log.js";

const FACTS = {
  layout: "1",
  marketPartitions: String(MARKET_PARTITIONS),
  ledgerShards: String(LEDGER_SHARDS),
};

/** Records the partition counts at the first start. Throws when the log was written with other counts. */
export async function checkInstallation(log: Log): Promise<void> {
  const found = await log.installation(FACTS);
  for (const [name, expected] of Object.entries(FACTS)) {
    if (found[name] === expected) continue;
    throw new Error(
      `this log was written with ${name} ${found[name] ?? "unknown"}, and this program has ${expected}: ` +
        "use the program that wrote it, or another Redis",
    );
  }
}
