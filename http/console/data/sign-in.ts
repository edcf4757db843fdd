/** Signing in and out (contract section 8.1). */

import type { z } from "zod";
import type { SessionAnswer, SessionToken } from "../../surface-a/schemas/account.js";
import { call } from "./api.js";
import { keepSession, type Session } from "./session.js";

/** Begins a session with a token of the service, as sign-in, a new password and a second factor answer it. */
export async function beginSession({ token, expiresAt }: z.infer<typeof SessionToken>): Promise<Session> {
  const account = await call<z.infer<typeof SessionAnswer>>("GET", "/v3/session", {
    headers: { Authorization: `Bearer ${token}` },
  });
  const { traderId: accountId, role, operatorRole, email } = account;
  const begun = { token, expiresAt, accountId, role, operatorRole, email };
  keepSession(begun);
  return begun;
}

/** Signs in. `code` is the one-time password of an account with a second factor. Throws `Refusal`. */
export async function logIn(email: string, password: string, code?: string): Promise<Session> {
  const body = { email, password, ...(code === undefined || code === "" ? {} : { code }) };
  return beginSession(await call("POST", "/v3/session", { body }));
}

/** Signs out. The token ends at the service too, if it can be reached. */
export async function logOut(): Promise<void> {
  const ended = call("DELETE", "/v3/session").catch(() => undefined);
  keepSession(undefined);
  await ended;
}
