/** A wallet as its ledger has it at this moment. */

import { ledgerShardOf } from "../actors/actor.js";
import type { WalletSnapshot } from "../actors/ledger/types.js";
import type { Exchange } from "../stream/log/types.js";
import { refusedBy } from "./errors.js";

/** For questions that change nothing: their answers need not be remembered, and so nothing is written. */
export const ONLY_LOOKING = { rememberMs: 0 } as const;

/** Asks the ledger for a wallet of a trader. A wallet that nobody has used yet is empty. Throws `Unavailable`. */
export async function readWallet(
  exchange: Pick<Exchange, "ledger">,
  traderId: string,
  wallet: string,
): Promise<WalletSnapshot> {
  const reply = await exchange.ledger(ledgerShardOf(traderId), { kind: "wallet", wallet }, ONLY_LOOKING);
  if (!reply.ok) throw refusedBy(reply.refusal);
  if (reply.kind !== "wallet") throw new Error(`the ledger answered wallet with ${reply.kind}`);
  return reply.wallet;
}
