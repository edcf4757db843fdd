/** Finds actions on events that markets have lost with the last entries of a log that went back, and sends them again. */

import type { Logger } from "../log/logger.js";
import type { EventStep } from "./event-actions.js";

/** A finished action on an event, and markets that do not show it. */
export interface LostAction extends EventStep {
  readonly marketIds: readonly string[];
}

interface LostActionsPorts {
  /** Returns the finished actions that markets do not show in the tables. */
  lost(): Promise<readonly LostAction[]>;
  /** Returns true when the tables are at the end of the log of a market. */
  isProjected(marketId: string): Promise<boolean>;
  /**
   * Sends the action to those of its markets that still do not show it, unless the event has taken another one. Returns
   * these markets.
   */
  send(action: LostAction): Promise<readonly string[]>;
}

/** Sends the lost actions to the markets that have lost them. Markets whose rows are behind the log wait for the next call. */
export async function sendLostActions(ports: LostActionsPorts, logger: Logger): Promise<void> {
  for (const action of await ports.lost()) {
    const marketIds: string[] = [];
    for (const marketId of action.marketIds)
      if (await isKnownProjected(ports, marketId)) marketIds.push(marketId);
    if (marketIds.length === 0) continue;
    const sent = await ports.send({ ...action, marketIds });
    const lost = { ...action, marketIds: sent };
    if (sent.length > 0)
      logger.error(lost, "the log had lost an action of an event in some markets; it was sent again");
  }
}

/** Returns false also while the log of the market cannot be reached: that does not hold up the other markets. */
async function isKnownProjected(ports: LostActionsPorts, marketId: string): Promise<boolean> {
  try {
    return await ports.isProjected(marketId);
  } catch {
    return false;
  }
}
