/** Driving a market through its settlement, or through taking one back (contract section 4). */

import type { MarketRefusal } from "../../actors/market/commands.js";
import type { Exchange } from "../log/ports.js";

/** Wallets paid by one command: its effects are one entry of the market and one message per ledger. */
export const WALLETS_PER_COMMAND = 500;

export interface SettlementJob {
  readonly marketId: string;
  readonly eventId: string;
  readonly settlementId: string;
  /** Payouts are being taken back, not made. */
  readonly remediating: boolean;
}

export interface SettlementProgress {
  readonly paid: number;
  readonly wallets: number;
}

/** The market has nothing to settle, so trying again cannot help. */
export class NothingToSettle extends Error {
  override readonly name = "NothingToSettle";
  constructor(marketId: string, refusal: MarketRefusal) {
    super(`market ${marketId}: ${refusal}`);
  }
}

/**
 * Tells the market to pay, some wallets at a time, until it says that it is through. What was paid is known to the
 * market alone, so beginning again after a crash goes on where it was. Throws `Unavailable`, `NothingToSettle`.
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
