/** Second factors of accounts: one-time passwords, and recovery codes for a lost device (contract section 8.1). */

import type { Database, Queries } from "../../db/database.js";
import { enrollTotp, offerTotp, takeRecoveryCode, takeTotpStep } from "../../db/queries/accounts/sign-ins.js";
import { findTrader, type Trader } from "../../db/queries/accounts/traders.js";
import type { Incoming } from "../edge/incoming.js";
import type { Seal } from "./seal.js";
import { digestOf, newRecoveryCodes, newSecret, stepOf, uriOf } from "./totp.js";

interface SecondFactorParts {
  readonly db: Database;
  /** Encrypts the secrets in Postgres; a secret opens for its account only. */
  readonly seal: Seal;
  /** Name of the service in authenticator apps. */
  readonly issuer: string;
}

/** Returns whether an account has a second factor. */
export function hasSecondFactor({ totpSecret }: Trader): boolean {
  return totpSecret !== null;
}

export class SecondFactors {
  constructor(private readonly parts: SecondFactorParts) {}

  /** Offers an account a new secret, which takes effect when `enroll` confirms it. */
  async offer({ traderId, email }: Trader): Promise<{ readonly secret: string; readonly uri: string }> {
    const { db, seal, issuer } = this.parts;
    const secret = newSecret();
    await offerTotp(db, { traderId, sealed: seal.close(secret, traderId) });
    return { secret, uri: uriOf(secret, issuer, email) };
  }

  /**
   * Enrolls the offered secret when the one-time password is right, and ends the sessions that began by `endedTs`. Returns
   * the recovery codes and the end of these sessions, or `undefined` for a wrong password.
   */
  async enroll(
    db: Queries,
    traderId: string,
    code: string,
    { from, endedTs }: { readonly from: Pick<Incoming, "receivedMs" | "heldMs">; readonly endedTs: number },
  ): Promise<{ readonly recoveryCodes: string[]; readonly endedTs: number } | undefined> {
    const { seal } = this.parts;
    const sealed = (await findTrader(db, traderId))?.totpOffer ?? undefined;
    const secret = sealed === undefined ? undefined : seal.open(sealed, traderId);
    const step = secret === undefined ? undefined : stepOf(secret, code, from);
    if (sealed === undefined || step === undefined) return undefined;
    const recoveryCodes = newRecoveryCodes();
    const recoveryDigests = recoveryCodes.map(digestOf);
    const end = await enrollTotp(db, { traderId, sealed, step, recoveryDigests, endedTs });
    return end === undefined ? undefined : { recoveryCodes, endedTs: end };
  }

  /** Uses up a one-time password or a recovery code of the account. Returns false for a wrong or used one. */
  async accepts(
    { traderId, totpSecret }: Trader,
    code: string,
    from: Pick<Incoming, "receivedMs" | "heldMs">,
  ): Promise<boolean> {
    const { db, seal } = this.parts;
    if (!/^\d{6}$/.test(code)) return takeRecoveryCode(db, traderId, digestOf(code));
    // A secret that was encrypted under another JWT_WEB_SECRET does not open; recovery codes still work.
    const secret = totpSecret === null ? undefined : seal.open(totpSecret, traderId);
    const step = secret === undefined ? undefined : stepOf(secret, code, from);
    return step !== undefined && takeTotpStep(db, traderId, step);
  }
}
