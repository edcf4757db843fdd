/** Known addresses, passwords, sessions and one-time passwords of accounts (contract section 8.1). */

import { and, eq, lt, sql } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { knownAddresses, traders } from "../../schema/accounts.js";
import { endOfAll } from "./traders.js";

/** Time in ms for which an address stays known after a sign-in: 90 days. */
const KNOWN_MS = 90 * 86_400_000;

/** Address of a sign-in. */
interface SignInAddress {
  readonly traderId: string;
  readonly address: string;
  readonly nowTs: number;
}

/** Returns whether the account has signed in from the address in the last 90 days. */
export async function isKnownAddress(
  db: Queries,
  { traderId, address, nowTs }: SignInAddress,
): Promise<boolean> {
  const [row] = await db
    .select({ lastTs: knownAddresses.lastTs })
    .from(knownAddresses)
    .where(and(eq(knownAddresses.traderId, traderId), eq(knownAddresses.address, address)));
  return row !== undefined && row.lastTs > nowTs - KNOWN_MS;
}

/** Records the address of a sign-in, and deletes the addresses of the account that are no longer known. */
export async function rememberAddress(
  db: Queries,
  { traderId, address, nowTs }: SignInAddress,
): Promise<void> {
  await db
    .delete(knownAddresses)
    .where(and(eq(knownAddresses.traderId, traderId), lt(knownAddresses.lastTs, nowTs - KNOWN_MS)));
  await db
    .insert(knownAddresses)
    .values({ traderId, address, lastTs: nowTs })
    .onConflictDoUpdate({
      target: [knownAddresses.traderId, knownAddresses.address],
      set: { lastTs: nowTs },
    });
}

/**
 * Replaces the password of an account, and ends the sessions that began by `endedTs`. Returns the end of these sessions,
 * or `undefined` when the password is no longer the one that was checked.
 */
export async function changePassword(
  db: Queries,
  change: { traderId: string; checkedHash: string; passwordHash: string; endedTs: number },
): Promise<number | undefined> {
  const { traderId, checkedHash, passwordHash, endedTs } = change;
  const [row] = await db
    .update(traders)
    .set({ passwordHash, sessionsEndedTs: endOfAll(endedTs) })
    .where(and(eq(traders.traderId, traderId), eq(traders.passwordHash, checkedHash)))
    .returning({ endedTs: traders.sessionsEndedTs });
  return row?.endedTs ?? undefined;
}

/** Keeps the encrypted secret of one-time passwords that an account has yet to confirm. */
export async function offerTotp(
  db: Queries,
  { traderId, sealed }: { traderId: string; sealed: string },
): Promise<void> {
  await db.update(traders).set({ totpOffer: sealed }).where(eq(traders.traderId, traderId));
}

/**
 * Makes the offered secret that of the account, with new recovery codes, and ends the sessions that began by `endedTs`.
 * Returns the end of these sessions, or `undefined` when the offer has changed.
 */
export async function enrollTotp(
  db: Queries,
  enrollment: { traderId: string; sealed: string; step: number; recoveryDigests: string[]; endedTs: number },
): Promise<number | undefined> {
  const { traderId, sealed, step, recoveryDigests, endedTs } = enrollment;
  const [row] = await db
    .update(traders)
    .set({
      totpSecret: sealed,
      totpOffer: null,
      totpStep: step,
      recoveryDigests,
      sessionsEndedTs: endOfAll(endedTs),
    })
    .where(and(eq(traders.traderId, traderId), eq(traders.totpOffer, sealed)))
    .returning({ endedTs: traders.sessionsEndedTs });
  return row?.endedTs ?? undefined;
}

/** Removes the second factor of an account, and a secret that is offered. */
export async function removeTotp(db: Queries, traderId: string): Promise<void> {
  await db
    .update(traders)
    .set({ totpSecret: null, totpOffer: null, recoveryDigests: [] })
    .where(eq(traders.traderId, traderId));
}

/** Uses up the one-time passwords up to a time step. Returns false when that of the step was used before. */
export async function takeTotpStep(db: Queries, traderId: string, step: number): Promise<boolean> {
  const rows = await db
    .update(traders)
    .set({ totpStep: step })
    .where(and(eq(traders.traderId, traderId), lt(traders.totpStep, step)))
    .returning({ traderId: traders.traderId });
  return rows.length > 0;
}

/** Uses up a recovery code. Returns false when the account has no such code any more. */
export async function takeRecoveryCode(db: Queries, traderId: string, digest: string): Promise<boolean> {
  const rows = await db
    .update(traders)
    .set({ recoveryDigests: sql`array_remove(${traders.recoveryDigests}, ${digest})` })
    .where(and(eq(traders.traderId, traderId), sql`${digest} = any(${traders.recoveryDigests})`))
    .returning({ traderId: traders.traderId });
  return rows.length > 0;
}
