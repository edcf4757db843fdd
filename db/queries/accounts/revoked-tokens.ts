/** Web tokens that were revoked before they expired (contract section 8.1). */

import { eq, inArray, lt } from "drizzle-orm";
import type { Queries } from "../../database.js";
import { revokedTokens } from "../../schema/accounts.js";

/** Revokes a web token, and deletes the tokens that have expired since their revocation. */
export async function revokeToken(
  db: Queries,
  token: { tokenId: string; expiresTs: number; nowTs: number },
): Promise<void> {
  await db.delete(revokedTokens).where(lt(revokedTokens.expiresTs, token.nowTs));
  await db
    .insert(revokedTokens)
    .values({ tokenId: token.tokenId, expiresTs: token.expiresTs })
    .onConflictDoNothing();
}

export async function isTokenRevoked(db: Queries, tokenId: string): Promise<boolean> {
  const rows = await db.select().from(revokedTokens).where(eq(revokedTokens.tokenId, tokenId));
  return rows.length > 0;
}

/** Returns those of the tokens that are revoked. */
export async function revokedAmong(db: Queries, tokenIds: readonly string[]): Promise<readonly string[]> {
  const rows = await db
    .select({ tokenId: revokedTokens.tokenId })
    .from(revokedTokens)
    .where(inArray(revokedTokens.tokenId, [...tokenIds]));
  return rows.map(({ tokenId }) => tokenId);
}
