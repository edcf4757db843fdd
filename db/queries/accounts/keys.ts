/** Keys: creation, lookup and revocation (contract section 5.2; the key life cycle of the specification). */

import { and, asc, count, eq, gt, isNotNull, isNull, lte, or, sql } from "drizzle-orm";
import { violatedConstraint, type Database, type Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { deviceLocations, keys, subaccounts, traders, type Scope } from "../../schema/accounts.js";
import type { Trader } from "./traders.js";

export type Key = typeof keys.$inferSelect;
export type NewKey = Omit<typeof keys.$inferInsert, "lastUsedTs" | "revokedTs">;
/** A key, its trader, whose state decides whether the key may be used, and facts of its subaccount, if it has one. */
export interface KeyOwner {
  readonly key: Key;
  readonly trader: Trader;
  readonly label: string | null;
  /** Time at which the subaccount was closed; null while it is open. */
  readonly closedTs: number | null;
}
export type KeyRefusal =
  "SUBACCOUNT_NOT_FOUND" | "KEY_EXISTS" | "MANAGEMENT_KEY_EXISTS" | "TRADING_KEY_EXISTS" | "TOO_MANY_KEYS";

/** Largest number of live keys of one read scope: per trader for management::read, per subaccount for trading::read. */
export const MAX_LIVE_READ_KEYS = 128;

const REFUSAL_OF_INDEX: Readonly<Record<string, KeyRefusal>> = {
  keys_live_fingerprint: "KEY_EXISTS",
  keys_live_management: "MANAGEMENT_KEY_EXISTS",
  keys_live_trading: "TRADING_KEY_EXISTS",
};

/** Returns the refusal that the error of `insertKey` stands for; rethrows any other error. */
export function keyRefusal(error: unknown): KeyRefusal {
  const refusal = REFUSAL_OF_INDEX[violatedConstraint(error) ?? ""];
  if (refusal === undefined) throw error;
  return refusal;
}

/** Inserts a key in a transaction that holds a lock on the trader's row. `keyRefusal` reads its errors. */
export async function insertKey(db: Queries, key: NewKey): Promise<void> {
  // The partial indexes count an expired key as live until it is revoked.
  await db
    .update(keys)
    .set({ revokedTs: sql`${keys.expiresTs}` })
    .where(
      and(
        isNull(keys.revokedTs),
        lte(keys.expiresTs, key.createdTs),
        sql`(${keys.traderId} = ${key.traderId} or ${keys.fingerprint} = ${key.fingerprint})`,
      ),
    );
  await db.insert(keys).values(key);
}

/**
 * Creates a key of any scope. Refuses a public key that is already live, a key beyond the limit of its scope, and a key of a
 * closed subaccount.
 */
export async function mintKey(
  db: Database,
  key: NewKey,
): Promise<{ ok: true } | { ok: false; refusal: KeyRefusal }> {
  try {
    return await db.transaction(async (tx) => {
      await tx.select().from(traders).where(eq(traders.traderId, key.traderId)).for("update");
      if (await isClosed(tx, key)) return { ok: false, refusal: "SUBACCOUNT_NOT_FOUND" };
      await insertKey(tx, key);
      if ((await countLive(tx, key)) > MAX_LIVE_READ_KEYS) throw new TooManyKeys();
      return { ok: true };
    });
  } catch (error) {
    if (error instanceof TooManyKeys) return { ok: false, refusal: "TOO_MANY_KEYS" };
    return { ok: false, refusal: keyRefusal(error) };
  }
}

class TooManyKeys extends Error {}

async function isClosed(db: Queries, { subaccountId }: NewKey): Promise<boolean> {
  if (!subaccountId) return false;
  const [row] = await db
    .select({ closedTs: subaccounts.closedTs })
    .from(subaccounts)
    .where(eq(subaccounts.subaccountId, subaccountId));
  return row?.closedTs !== null;
}

async function countLive(db: Queries, key: NewKey): Promise<number> {
  const [row] = await db
    .select({ live: count() })
    .from(keys)
    .where(
      and(
        eq(keys.traderId, key.traderId),
        key.subaccountId ? eq(keys.subaccountId, key.subaccountId) : isNull(keys.subaccountId),
        eq(keys.scope, key.scope),
        isNull(keys.revokedTs),
      ),
    );
  return row?.live ?? 0;
}

/** Returns a key, live or not, with its trader. */
export async function findKey(db: Queries, keyId: string): Promise<KeyOwner | undefined> {
  const [row] = await db
    .select({ key: keys, trader: traders, label: subaccounts.label, closedTs: subaccounts.closedTs })
    .from(keys)
    .innerJoin(traders, eq(traders.traderId, keys.traderId))
    .leftJoin(subaccounts, eq(subaccounts.subaccountId, keys.subaccountId))
    .where(eq(keys.keyId, keyId));
  return row;
}

/** A key, and the label of its subaccount. */
export interface LabeledKey {
  readonly key: Key;
  readonly label: string | null;
}

function selectLabeled(db: Queries) {
  return db
    .select({ key: keys, label: subaccounts.label })
    .from(keys)
    .leftJoin(subaccounts, eq(subaccounts.subaccountId, keys.subaccountId));
}

/** Lists the live keys of a trader, oldest first, with the labels of their subaccounts. */
export async function liveKeys(db: Queries, traderId: string, nowTs: number): Promise<LabeledKey[]> {
  return selectLabeled(db)
    .where(
      and(
        eq(keys.traderId, traderId),
        isNull(keys.revokedTs),
        sql`(${keys.expiresTs} is null or ${keys.expiresTs} > ${nowTs})`,
      ),
    )
    .orderBy(asc(keys.createdTs), asc(keys.keyId));
}

const BY_CREATION: Keyset<LabeledKey> = {
  columns: [keys.createdTs, keys.keyId],
  direction: "descending",
  keyOf: ({ key }) => [key.createdTs, key.keyId],
};

/** Lists all keys of a trader, live or not, newest first. Throws `InvalidCursor`. */
export async function listKeys(
  db: Queries,
  traderId: string,
  request: PageRequest,
): Promise<Page<LabeledKey>> {
  return page(selectLabeled(db).$dynamic(), BY_CREATION, request, eq(keys.traderId, traderId));
}

/** Returns whether the subaccount has a live key of the scope. */
export async function hasLiveKey(
  db: Queries,
  subaccountId: string,
  scope: Scope,
  nowTs: number,
): Promise<boolean> {
  const rows = await db
    .select({ keyId: keys.keyId })
    .from(keys)
    .where(
      and(
        eq(keys.subaccountId, subaccountId),
        eq(keys.scope, scope),
        isNull(keys.revokedTs),
        sql`(${keys.expiresTs} is null or ${keys.expiresTs} > ${nowTs})`,
      ),
    )
    .limit(1);
  return rows.length > 0;
}

/** Revokes a key of the trader. Returns false if the trader has no such key or it is already revoked. */
export async function revokeKey(
  db: Queries,
  traderId: string,
  keyId: string,
  nowTs: number,
): Promise<boolean> {
  const rows = await db
    .update(keys)
    .set({ revokedTs: nowTs })
    .where(and(eq(keys.keyId, keyId), eq(keys.traderId, traderId), isNull(keys.revokedTs)))
    .returning({ keyId: keys.keyId });
  return rows.length > 0;
}

/** A key and its trader. */
export interface KeyOfTrader {
  readonly keyId: string;
  readonly traderId: string;
}

/**
 * Returns those of the keys whose use must be checked again: revoked and expired keys, and keys of traders who are
 * locked, or whose device checked in or whose sessions were ended after `sinceTs`.
 */
export async function keysToRecheck(
  db: Queries,
  keyIds: readonly string[],
  { nowTs, sinceTs }: { readonly nowTs: number; readonly sinceTs: number },
): Promise<readonly KeyOfTrader[]> {
  return db
    .select({ keyId: keys.keyId, traderId: keys.traderId })
    .from(keys)
    .innerJoin(traders, eq(traders.traderId, keys.traderId))
    .leftJoin(deviceLocations, eq(deviceLocations.traderId, keys.traderId))
    .where(
      and(
        sql`${keys.keyId} = any(${sql.param([...keyIds])}::uuid[])`,
        or(
          isNotNull(keys.revokedTs),
          lte(keys.expiresTs, nowTs),
          eq(traders.state, "LOCKED"),
          gt(traders.sessionsEndedTs, sinceTs),
          gt(deviceLocations.ts, sinceTs),
        ),
      ),
    );
}

/** Records the times at which keys were last used, which a gateway collects for a few seconds. */
export async function recordKeyUse(db: Queries, lastUsed: ReadonlyMap<string, number>): Promise<void> {
  if (lastUsed.size === 0) return;
  await db.execute(sql`
    update keys set last_used_ts = greatest(last_used_ts, used.ts)
    from unnest(${sql.param([...lastUsed.keys()])}::uuid[], ${sql.param([...lastUsed.values()])}::bigint[])
      as used (key_id, ts)
    where keys.key_id = used.key_id`);
}
