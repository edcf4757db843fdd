/** Drives a market through its settlement or its remediation (contract section 4.8). */

import type { MarketRefusal } from "../../actors/market/commands.js";
import type { Exchange } from "../log/ports.js";

/** Number of wallets that one command pays. Its effects are one entry of the market and one message per ledger. */
export const WALLETS_PER_COMMAND = 500;

/** A settlement to be driven. */
export interface SettlementJob {
  readonly marketId: string;
  readonly eventId: string;
  readonly settlementId: string;
  /** True when payouts are taken back, false when they are made. */
  readonly remediating: boolean;
}

/** Number of wallets paid so far, and of wallets in all. */
export interface SettlementProgress {
  readonly paid: number;
  readonly wallets: number;
}

/** Thrown when the market has nothing to settle, so that a retry cannot help. */
export class NothingToSettle extends Error {
  override readonly name = "NothingToSettle";
  constructor(marketId: string, refusal: MarketRefusal) {
    super(`market ${marketId}: ${refusal}`);
  }
}

/**
 * Sends `settle` to the market, for some wallets at a time, until the market answers that it is done. Only the market
 * remembers what was paid, so a new start after a crash continues where it stopped. Throws `Unavailable` and
 * `NothingToSettle`.
 */
export async function settleMarket(
  exchange: Exchange,
  marketId: string,
  onProgress: (progress: SettlementProgress) => Promise<void>,
): Promise<void> {
  for (;;) {
    const reply = await exchange.market(marketId, { kind: "settle", limit: WALLETS_PER_COMMAND });
    if (!reply.ok) throw new NothingToSettle(marketId, reply.refusal);
    if (reply.kind !== "settlement") throw new Error(`market ${marketId} answered ${reply.kind} to settle`);
    await onProgress({ paid: reply.paid, wallets: reply.wallets });
    if (reply.done) return;
  }
}
