/** Transfers between a trader's own wallet and a subaccount (contract section 5.13). */

import { and, asc, eq } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { transfers } from "../../schema/wallets.js";

export type TransferRecord = typeof transfers.$inferSelect;

/** Returns a transfer to or from the wallet of a subaccount. */
export async function findTransfer(
  db: Queries,
  wallet: string,
  transferId: string,
): Promise<TransferRecord | undefined> {
  const [row] = await db
    .select()
    .from(transfers)
    .where(and(eq(transfers.transferId, transferId), eq(transfers.wallet, wallet)));
  return row;
}

/** Returns the first transfer of a trader with this id, to or from any of the subaccounts. */
export async function findTransferByClientId(
  db: Queries,
  traderId: string,
  clientTransferId: string,
): Promise<TransferRecord | undefined> {
  const [row] = await db
    .select()
    .from(transfers)
    .where(and(eq(transfers.traderId, traderId), eq(transfers.clientTransferId, clientTransferId)))
    .orderBy(asc(transfers.ts))
    .limit(1);
  return row;
}
