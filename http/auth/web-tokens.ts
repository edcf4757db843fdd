/** Bearer tokens of web sessions: JWT, HS256, `aud: web`, twelve hours (contract section 8.1). */

import { createSecretKey, randomUUID, type KeyObject } from "node:crypto";
import jwt from "jsonwebtoken";
import { z } from "zod";
import { ROLES, type Role } from "../../db/schema/accounts.js";

/** Claims of a token. Signing out revokes its `sessionId`; `expiresAt` is in Unix ms. */
export interface WebToken {
  readonly accountId: string;
  readonly role: Role;
  readonly sessionId: string;
  readonly expiresAt: number;
}

const SESSION_SECONDS = 12 * 60 * 60;
/** Largest difference between the clocks of two gateways, in ms. */
const CLOCKS_DIFFER_MS = 5_000;
const ISSUER = "overround";
const AUDIENCE = "web";
const TYPE = "web+jwt";

const Header = z.strictObject({ alg: z.literal("HS256"), typ: z.literal(TYPE) });
const Claims = z.strictObject({
  iss: z.literal(ISSUER),
  aud: z.literal(AUDIENCE),
  sub: z.uuid(),
  jti: z.uuid(),
  role: z.enum(ROLES),
  iat: z.int(),
  exp: z.int(),
});

/** Returns the time until which sessions end that are ended now, also those of a gateway whose clock is ahead. */
export function endOfSessions(nowMs: number): number {
  return nowMs + CLOCKS_DIFFER_MS;
}

/** Returns whether a session has ended because all sessions of its account were ended. */
export function hasEnded(
  { expiresAt }: Pick<WebToken, "expiresAt">,
  { sessionsEndedTs }: { readonly sessionsEndedTs: number | null },
): boolean {
  return sessionsEndedTs !== null && expiresAt - SESSION_SECONDS * 1000 <= sessionsEndedTs;
}

/** Mints and reads web tokens with one secret of at least 32 characters. */
export class WebTokens {
  /** Secret as a key object, because `jsonwebtoken` tries to read a text as a public key at each token, which is slow. */
  readonly #secret: KeyObject;

  constructor(
    secret: string,
    /** Returns engine time (Unix ms). */
    private readonly nowMs: () => number,
  ) {
    this.#secret = createSecretKey(Buffer.from(secret));
  }

  /** Makes a token for a new session of an account, which begins after `endedTs`, the end of all earlier ones. */
  mint(
    accountId: string,
    role: Role,
    endedTs: number | null = null,
  ): { readonly token: string; readonly session: WebToken } {
    const firstSecond = endedTs === null ? 0 : Math.floor(endedTs / 1000) + 1;
    const issuedAt = Math.max(Math.floor(this.nowMs() / 1000), firstSecond);
    const sessionId = randomUUID();
    const token = jwt.sign({ role, iat: issuedAt }, this.#secret, {
      algorithm: "HS256",
      header: { alg: "HS256", typ: TYPE },
      issuer: ISSUER,
      audience: AUDIENCE,
      subject: accountId,
      jwtid: sessionId,
      expiresIn: SESSION_SECONDS,
    });
    return {
      token,
      session: { accountId, role, sessionId, expiresAt: (issuedAt + SESSION_SECONDS) * 1000 },
    };
  }

  /**
   * Verifies a token. Returns `undefined` for one of another issuer or audience, and for an expired one. The algorithm is
   * fixed, and a header with more than `alg` and `typ`, such as a key id or an embedded key, is refused.
   */
  read(token: string): WebToken | undefined {
    let decoded: jwt.Jwt;
    try {
      decoded = jwt.verify(token, this.#secret, {
        algorithms: ["HS256"],
        issuer: ISSUER,
        audience: AUDIENCE,
        complete: true,
        clockTimestamp: Math.floor(this.nowMs() / 1000),
      });
    } catch {
      return undefined;
    }
    const claims = Claims.safeParse(decoded.payload);
    if (!Header.safeParse(decoded.header).success || !claims.success) return undefined;
    const { sub, role, jti, exp } = claims.data;
    return { accountId: sub, role, sessionId: jti, expiresAt: exp * 1000 };
  }
}
