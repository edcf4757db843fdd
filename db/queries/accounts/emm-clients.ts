/** Clients of surface B (contract sections 7.1 and 8.11). */

import { and, eq, getTableColumns, isNull, sql } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { subaccounts, traders, type KycStatus, type TraderState } from "../../schema/accounts.js";
import { emmClients } from "../../schema/emm.js";

/** A live client, with its owner and the state that decides whether it may trade. */
export interface EmmClient {
  readonly clientId: string;
  /** Also the id of the wallet. */
  readonly subaccountId: string;
  readonly traderId: string;
  readonly name: string;
  readonly label: string;
  readonly secretHash: string;
  readonly secretVersion: number;
  readonly kyc: KycStatus;
  readonly state: TraderState;
  readonly selfExcludedUntilTs: number | null;
  readonly createdTs: number;
  readonly rotatedTs: number | null;
}

const BY_CREATION: Keyset<EmmClient> = {
  columns: [emmClients.createdTs, emmClients.clientId],
  direction: "ascending",
  keyOf: (client) => [client.createdTs, client.clientId],
};

function selectLive(db: Queries) {
  return db
    .select({
      ...getTableColumns(emmClients),
      traderId: subaccounts.traderId,
      label: subaccounts.label,
      kyc: traders.kyc,
      state: traders.state,
      selfExcludedUntilTs: traders.selfExcludedUntilTs,
    })
    .from(emmClients)
    .innerJoin(subaccounts, eq(subaccounts.subaccountId, emmClients.subaccountId))
    .innerJoin(traders, eq(traders.traderId, subaccounts.traderId));
}

export async function createEmmClient(
  db: Queries,
  client: { clientId: string; subaccountId: string; name: string; secretHash: string; nowTs: number },
): Promise<void> {
  const { nowTs, ...fields } = client;
  await db.insert(emmClients).values({ ...fields, secretVersion: 1, createdTs: nowTs });
}

/** Returns a client that was not deleted. */
export async function findEmmClient(db: Queries, clientId: string): Promise<EmmClient | undefined> {
  const [row] = await selectLive(db).where(
    and(eq(emmClients.clientId, clientId), isNull(emmClients.deletedTs)),
  );
  return row;
}

/** Lists the live clients, oldest first. Throws `InvalidCursor`. */
export async function listEmmClients(db: Queries, request: PageRequest): Promise<Page<EmmClient>> {
  return page(selectLive(db).$dynamic(), BY_CREATION, request, isNull(emmClients.deletedTs));
}

/** Replaces the secret of a client. Returns false if there is no such live client. */
export async function rotateEmmSecret(
  db: Queries,
  rotation: { clientId: string; secretHash: string; nowTs: number },
): Promise<boolean> {
  const rows = await db
    .update(emmClients)
    .set({
      secretHash: rotation.secretHash,
      secretVersion: sql`${emmClients.secretVersion} + 1`,
      rotatedTs: rotation.nowTs,
    })
    .where(and(eq(emmClients.clientId, rotation.clientId), isNull(emmClients.deletedTs)))
    .returning({ clientId: emmClients.clientId });
  return rows.length > 0;
}

/** Deletes a client. Returns false if there is no such live client. */
export async function deleteEmmClient(db: Queries, clientId: string, nowTs: number): Promise<boolean> {
  const rows = await db
    .update(emmClients)
    .set({ deletedTs: nowTs })
    .where(and(eq(emmClients.clientId, clientId), isNull(emmClients.deletedTs)))
    .returning({ clientId: emmClients.clientId });
  return rows.length > 0;
}
