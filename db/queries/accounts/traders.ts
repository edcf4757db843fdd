/** Traders and operators (contract sections 8.1 and 8.10). */

import { desc, eq } from "drizzle-orm";
import { violatedConstraint, type Queries } from "../../database.js";
import { page, type Keyset, type Page, type PageRequest } from "../../page.js";
import { traders, type KycStatus, type Role, type TraderState } from "../../schema/accounts.js";

export type Trader = typeof traders.$inferSelect;

const BY_CREATION: Keyset<Trader> = {
  columns: [traders.createdTs, traders.traderId],
  direction: "descending",
  keyOf: (trader) => [trader.createdTs, trader.traderId],
};

function normalized(email: string): string {
  return email.trim().toLowerCase();
}

/** Creates an ACTIVE trader without KYC. Returns `undefined` if the e-mail address is taken. */
export async function createTrader(
  db: Queries,
  trader: { traderId: string; email: string; passwordHash: string; role: Role; nowTs: number },
): Promise<Trader | undefined> {
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

/** Lists traders, newest first; with `email`, only the trader of that address. Throws `InvalidCursor`. */
export async function listTraders(
  db: Queries,
  filter: { email?: string | undefined },
  request: PageRequest,
): Promise<Page<Trader>> {
  const wanted = filter.email === undefined ? undefined : eq(traders.email, normalized(filter.email));
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

/** Returns whether any operator exists; the first one is created at start. */
export async function hasOperator(db: Queries): Promise<boolean> {
  const rows = await db
    .select({ traderId: traders.traderId })
    .from(traders)
    .where(eq(traders.role, "operator"))
    .orderBy(desc(traders.createdTs))
    .limit(1);
  return rows.length > 0;
}
