/** Restricts traders at their ledgers, as the states of the traders require (contract section 8.3). */

import { ledgerShardOf } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import { type Restriction, RESTRICTIONS_FORMAT } from "../../actors/ledger/types.js";
import type { Exchange } from "../log/ports.js";

/** The restriction that a ledger has to apply to a trader, or none, and the wallets in which the trader may have orders. */
export interface TraderRestriction {
  readonly traderId: string;
  readonly restriction: Restriction | undefined;
  readonly wallets: readonly string[];
}

/**
 * Makes the ledger of a trader refuse placements and cancel all orders, or accept placements again. In a format without
 * restrictions it only cancels, and the sweep restricts when the format has risen. A repeat changes nothing.
 */
export async function restrictTrader(
  exchange: Pick<Exchange, "ledger">,
  formats: Formats,
  { traderId, restriction, wallets }: TraderRestriction,
): Promise<void> {
  const shard = ledgerShardOf(traderId);
  if (formats.active() >= RESTRICTIONS_FORMAT) {
    await exchange.ledger(shard, { kind: "restrict", trader: traderId, wallets, restriction });
    return;
  }
  if (restriction === undefined) return;
  await Promise.all(
    wallets.map((wallet) => exchange.ledger(shard, { kind: "cancelAll", wallet, filter: {} })),
  );
}
