/** Accounts of traders and operators (contract sections 8.1 and 8.10). */

import { and, eq, like, sql, type SQL } from "drizzle-orm";
import { violatedConstraint, type Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { traders, type KycStatus, type Role, type TraderState } from "../../schema/accounts.js";
import type { OperatorRole } from "../../schema/operator-roles.js";

export type Trader = typeof traders.$inferSelect;

/** Order of the lists of accounts: the newest first. */
export const BY_CREATION: Keyset<Trader> = {
  columns: [traders.createdTs, traders.traderId],
  direction: "descending",
  keyOf: (trader) => [trader.createdTs, trader.traderId],
};

function normalized(email: string): string {
  return email.trim().toLowerCase();
}

/** Returns a pattern of `like` that stands for the text itself. */
function literal(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}

/** Account to create. */
export interface NewTrader {
  readonly traderId: string;
  readonly email: string;
  readonly passwordHash: string;
  readonly role: Role;
  /** Role of an operator, and the operator who creates it. */
  readonly operatorRole?: OperatorRole;
  readonly createdBy?: string | undefined;
  readonly nowTs: number;
}

/** Creates an ACTIVE account without KYC. Returns `undefined` if the e-mail address is taken. */
export async function createTrader(db: Queries, trader: NewTrader): Promise<Trader | undefined> {
  const { nowTs, ...fields } = trader;
  try {
    const [row] = await db
      .insert(traders)
      .values({
        ...fields,
        email: normalized(trader.email),
        kyc: "NONE",
        state: "ACTIVE",
        createdTs: nowTs,
        updatedTs: nowTs,
      })
      .returning();
    return row;
  } catch (error) {
    if (violatedConstraint(error) === "traders_email") return undefined;
    throw error;
  }
}

export async function findTrader(db: Queries, traderId: string): Promise<Trader | undefined> {
  const [row] = await db.select().from(traders).where(eq(traders.traderId, traderId));
  return row;
}

export async function findTraderByEmail(db: Queries, email: string): Promise<Trader | undefined> {
  const [row] = await db
    .select()
    .from(traders)
    .where(eq(traders.email, normalized(email)));
  return row;
}

/**
 * Lists traders, newest first; with `email`, only the trader of that address, and with `search`, those whose address has
 * that part. The index of `search-index.ts` serves a search; without it, the search reads the traders from the newest on
 * until the page is full. Throws `InvalidCursor`.
 */
export async function listTraders(
  db: Queries,
  { email, search }: { email?: string | undefined; search?: string | undefined },
  request: PageRequest,
): Promise<Page<Trader>> {
  const wanted = and(
    email === undefined ? undefined : eq(traders.email, normalized(email)),
    search === undefined ? undefined : like(traders.email, `%${literal(normalized(search))}%`),
  );
  return page(db.select().from(traders).$dynamic(), BY_CREATION, request, wanted);
}

/** Changes the KYC status of a trader. Returns the changed trader, or `undefined` if there is none. */
export async function setKyc(
  db: Queries,
  traderId: string,
  kyc: KycStatus,
  nowTs: number,
): Promise<Trader | undefined> {
  const [row] = await db
    .update(traders)
    .set({ kyc, updatedTs: nowTs })
    .where(eq(traders.traderId, traderId))
    .returning();
  return row;
}

/** Locks the row of a trader until the end of the transaction. Returns the trader. */
export async function lockTrader(db: Queries, traderId: string): Promise<Trader | undefined> {
  const [row] = await db.select().from(traders).where(eq(traders.traderId, traderId)).for("update");
  return row;
}

/** Records until when a trader has excluded themself. Returns the changed trader, or `undefined` if there is none. */
export async function excludeTrader(
  db: Queries,
  traderId: string,
  { untilTs, nowTs }: { readonly untilTs: number; readonly nowTs: number },
): Promise<Trader | undefined> {
  const [row] = await db
    .update(traders)
    .set({ selfExcludedUntilTs: untilTs, updatedTs: nowTs })
    .where(eq(traders.traderId, traderId))
    .returning();
  return row;
}

/** Changes the state of a trader. Returns the changed trader, or `undefined` if there is none. */
export async function setTraderState(
  db: Queries,
  traderId: string,
  change: { state: TraderState; reason: string; nowTs: number },
): Promise<Trader | undefined> {
  const [row] = await db
    .update(traders)
    .set({ state: change.state, stateReason: change.reason, updatedTs: change.nowTs })
    .where(eq(traders.traderId, traderId))
    .returning();
  return row;
}

/**
 * Returns the end of the sessions of an account that are ended at `untilTs`: later than that when the sessions were ended
 * shortly before, because one that began since then begins up to a second after the end before it.
 */
export function endOfAll(untilTs: number): SQL<number> {
  return sql`greatest(${untilTs}::bigint, ${traders.sessionsEndedTs} + 1000)`;
}

/** Ends every web session of an account that began at `untilTs` or earlier. */
export async function endSessions(db: Queries, traderId: string, untilTs: number): Promise<void> {
  await db
    .update(traders)
    .set({ sessionsEndedTs: endOfAll(untilTs) })
    .where(eq(traders.traderId, traderId));
}

/** Stores the hash of another password of an account. */
export async function setPasswordHash(db: Queries, traderId: string, passwordHash: string): Promise<void> {
  await db.update(traders).set({ passwordHash }).where(eq(traders.traderId, traderId));
}
