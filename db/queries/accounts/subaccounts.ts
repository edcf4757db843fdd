/** Subaccounts, each with a wallet and keys (contract section 5.13). */

import { and, asc, count, eq, inArray, isNull, sql } from "drizzle-orm";
import type { Restriction } from "../../../actors/ledger/types.js";
import type { Database, Queries } from "../../database.js";
import { keys, subaccounts } from "../../schema/accounts.js";
import { emmClients } from "../../schema/emm.js";
import { wallets } from "../../schema/wallets.js";
import { restrictionOf, stateOf } from "./restrictions.js";
import { lockTrader } from "./traders.js";
import { insertKey, keyRefusal, type KeyRefusal, type NewKey } from "./keys.js";

export type Subaccount = typeof subaccounts.$inferSelect;
/** A subaccount with the key that names it on the wire: its oldest live key, or else its newest key. */
export type NamedSubaccount = Subaccount & { readonly keyId: string };

/** Most open subaccounts of a trader. */
export const MAX_SUBACCOUNTS = 5;

class TooManySubaccounts extends Error {}

/** Creates a subaccount together with its trading key, so that no subaccount lacks a key. */
export async function openSubaccount(
  db: Database,
  subaccount: Subaccount,
  key: NewKey,
): Promise<{ ok: true } | { ok: false; refusal: KeyRefusal | Restriction | "TOO_MANY_SUBACCOUNTS" }> {
  try {
    return await db.transaction(async (tx) => {
      // A state that restricts the trader finds all subaccounts: it locks the same row.
      const trader = await lockTrader(tx, subaccount.traderId);
      const restriction = trader && restrictionOf(stateOf(trader, subaccount.createdTs));
      if (restriction !== undefined) return { ok: false, refusal: restriction };
      await tx.insert(subaccounts).values(subaccount);
      await insertKey(tx, key);
      const [held] = await tx
        .select({ count: count() })
        .from(subaccounts)
        .where(and(eq(subaccounts.traderId, subaccount.traderId), isNull(subaccounts.closedTs)));
      if (held !== undefined && held.count > MAX_SUBACCOUNTS) throw new TooManySubaccounts();
      return { ok: true };
    });
  } catch (error) {
    if (error instanceof TooManySubaccounts) return { ok: false, refusal: "TOO_MANY_SUBACCOUNTS" };
    return { ok: false, refusal: keyRefusal(error) };
  }
}

function selectNamed(db: Queries, nowTs: number) {
  const named = db
    .selectDistinctOn([keys.subaccountId], { subaccountId: keys.subaccountId, keyId: keys.keyId })
    .from(keys)
    .orderBy(
      keys.subaccountId,
      sql`(${keys.revokedTs} is null and (${keys.expiresTs} is null or ${keys.expiresTs} > ${nowTs})) desc`,
      sql`case when ${keys.revokedTs} is null then ${keys.createdTs} else -${keys.createdTs} end`,
    )
    .as("named");
  return db
    .select({
      subaccountId: subaccounts.subaccountId,
      traderId: subaccounts.traderId,
      label: subaccounts.label,
      createdTs: subaccounts.createdTs,
      closedTs: subaccounts.closedTs,
      keyId: named.keyId,
    })
    .from(subaccounts)
    .innerJoin(named, eq(named.subaccountId, subaccounts.subaccountId));
}

/** Lists the open subaccounts of a trader, oldest first. */
export async function listSubaccounts(
  db: Queries,
  traderId: string,
  nowTs: number,
): Promise<NamedSubaccount[]> {
  return selectNamed(db, nowTs)
    .where(and(eq(subaccounts.traderId, traderId), isNull(subaccounts.closedTs)))
    .orderBy(asc(subaccounts.createdTs), asc(subaccounts.subaccountId));
}

export async function findSubaccount(
  db: Queries,
  subaccountId: string,
  nowTs: number,
): Promise<NamedSubaccount | undefined> {
  const [row] = await selectNamed(db, nowTs).where(eq(subaccounts.subaccountId, subaccountId));
  return row;
}

/** Returns those of the subaccounts that exist, in no order. */
export async function findSubaccounts(
  db: Queries,
  subaccountIds: readonly string[],
  nowTs: number,
): Promise<NamedSubaccount[]> {
  if (subaccountIds.length === 0) return [];
  return selectNamed(db, nowTs).where(inArray(subaccounts.subaccountId, [...subaccountIds]));
}

/** Returns the trader of each wallet, and for the wallet of a subaccount the key that names the subaccount. */
export async function walletOwners(
  db: Queries,
  walletIds: readonly string[],
  nowTs: number,
): Promise<ReadonlyMap<string, { readonly traderId: string; readonly keyId: string | undefined }>> {
  if (walletIds.length === 0) return new Map();
  const known = await db
    .select()
    .from(wallets)
    .where(inArray(wallets.wallet, [...walletIds]));
  const named = await findSubaccounts(db, walletIds, nowTs);
  const keyIds = new Map(named.map(({ subaccountId, keyId }) => [subaccountId, keyId]));
  return new Map(known.map(({ wallet, traderId }) => [wallet, { traderId, keyId: keyIds.get(wallet) }]));
}

/**
 * Returns the subaccount of a key. The key may be revoked, because a request to replace a trading key names the old
 * key. Returns `NOT_A_SUBACCOUNT_KEY` for a management key of the trader, and `undefined` for any other id.
 */
export async function findSubaccountByKey(
  db: Queries,
  traderId: string,
  keyId: string,
): Promise<Subaccount | "NOT_A_SUBACCOUNT_KEY" | undefined> {
  const [row] = await db
    .select({ subaccount: subaccounts })
    .from(keys)
    .leftJoin(subaccounts, eq(subaccounts.subaccountId, keys.subaccountId))
    .where(and(eq(keys.keyId, keyId), eq(keys.traderId, traderId)));
  return row && (row.subaccount ?? "NOT_A_SUBACCOUNT_KEY");
}

/**
 * Closes a subaccount: revokes its keys, and deletes its clients of surface B. Returns their ids, or `undefined` if the
 * subaccount is closed already.
 */
export async function closeSubaccount(
  db: Database,
  { subaccountId, traderId }: Pick<Subaccount, "subaccountId" | "traderId">,
  nowTs: number,
): Promise<{ readonly keyIds: readonly string[]; readonly clientIds: readonly string[] } | undefined> {
  return db.transaction(async (tx) => {
    await lockTrader(tx, traderId);
    const closed = await tx
      .update(subaccounts)
      .set({ closedTs: nowTs })
      .where(and(eq(subaccounts.subaccountId, subaccountId), isNull(subaccounts.closedTs)))
      .returning({ subaccountId: subaccounts.subaccountId });
    if (closed.length === 0) return undefined;
    const revoked = await tx
      .update(keys)
      .set({ revokedTs: nowTs })
      .where(and(eq(keys.subaccountId, subaccountId), isNull(keys.revokedTs)))
      .returning({ keyId: keys.keyId });
    const deleted = await tx
      .update(emmClients)
      .set({ deletedTs: nowTs })
      .where(and(eq(emmClients.subaccountId, subaccountId), isNull(emmClients.deletedTs)))
      .returning({ clientId: emmClients.clientId });
    return { keyIds: revoked.map(({ keyId }) => keyId), clientIds: deleted.map(({ clientId }) => clientId) };
  });
}

/** Changes the label of a subaccount. Returns false if there is no such subaccount. */
export async function relabelSubaccount(db: Queries, subaccountId: string, label: string): Promise<boolean> {
  const rows = await db
    .update(subaccounts)
    .set({ label })
    .where(eq(subaccounts.subaccountId, subaccountId))
    .returning({ subaccountId: subaccounts.subaccountId });
  return rows.length > 0;
}
