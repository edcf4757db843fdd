/** Registration, sign-in, password and second factor of an account (contract section 8.1). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../../db/database.js";
import { changePassword } from "../../../db/queries/accounts/sign-ins.js";
import { createTrader, findTrader, type Trader } from "../../../db/queries/accounts/traders.js";
import { recordAudit } from "../../../db/queries/operator/audit.js";
import type { SecondFactors } from "../../auth/second-factors.js";
import type { SignIns } from "../../auth/sign-ins.js";
import { endOfSessions, type WebTokens } from "../../auth/web-tokens.js";
import { auditedAction } from "../../admin/audit.js";
import type { Changes } from "../../reference/changes.js";
import { ANYBODY, ENROLLING, WEB_SESSION } from "../../request/access.js";
import { Refused } from "../../request/errors.js";
import { RATED_FREE } from "../../request/metering.js";
import { route } from "../../request/route.js";
import {
  CredentialsBody,
  PasswordBody,
  RegisterBody,
  Registered,
  SessionToken,
  TotpAnswer,
  TotpBody,
} from "../schemas/account.js";

interface SignInRouteParts {
  readonly db: Database;
  readonly signIns: SignIns;
  readonly secondFactors: SecondFactors;
  readonly tokens: WebTokens;
  readonly changes: Changes;
}

/** Codes with which a proof of the account's holder is refused. */
const PROOF = ["INVALID_CREDENTIALS", "TOTP_REQUIRED", "RATE_LIMIT_EXCEEDED"] as const;

export function signInRoutes({ db, signIns, secondFactors, tokens, changes }: SignInRouteParts) {
  const accountOf = async (accountId: string): Promise<Trader> => {
    const account = await findTrader(db, accountId);
    if (account === undefined) throw new Refused("UNAUTHENTICATED");
    return account;
  };
  const newSession = ({ traderId, role }: Trader, endedTs: number | null) => {
    const { token, session } = tokens.mint(traderId, role, endedTs);
    return { token, expiresAt: session.expiresAt };
  };

  const register = route("POST /v3/session/register", {
    access: ANYBODY,
    status: 201,
    body: RegisterBody,
    answer: Registered,
    docs: {
      summary: "Register an account",
      refuses: ["EMAIL_TAKEN", "RATE_LIMIT_EXCEEDED"],
      exampleBody: { email: "trader@example.com", password: "a long password" },
    },
    run: async ({ body, incoming }) => {
      const passwordHash = await signIns.register(body.password, incoming);
      const trader = await createTrader(db, {
        traderId: randomUUID(),
        email: body.email,
        passwordHash,
        role: "trader",
        nowTs: incoming.receivedMs,
      });
      if (trader === undefined) throw new Refused("EMAIL_TAKEN");
      return { body: { traderId: trader.traderId, email: trader.email } };
    },
  });

  const login = route("POST /v3/session", {
    access: ANYBODY,
    body: CredentialsBody,
    answer: SessionToken,
    docs: {
      summary: "Sign in",
      description:
        "Returns a bearer token that is valid for 12 hours. An account with a second factor sends `code` too: a one-time password, or a recovery code, which can be used once.",
      refuses: [...PROOF, "ACCOUNT_LOCKED"],
      exampleBody: { email: "trader@example.com", password: "a long password" },
    },
    run: async ({ body, incoming }) => {
      const account = await signIns.signIn(body.email, body, incoming);
      return { body: newSession(account, account.sessionsEndedTs) };
    },
  });

  const password = route("POST /v3/session/password", {
    access: WEB_SESSION,
    metering: RATED_FREE,
    body: PasswordBody,
    answer: SessionToken,
    docs: {
      summary: "Change the password",
      description: "Ends every session of the account, and returns the token of a new one.",
      refuses: PROOF,
      exampleBody: { password: "a long password", newPassword: "a longer password" },
    },
    run: async ({ body, ...call }) => {
      const { incoming } = call;
      const account = await signIns.confirm(await accountOf(call.caller.accountId), body, incoming);
      const { traderId } = account;
      const change = {
        traderId,
        checkedHash: account.passwordHash,
        passwordHash: await signIns.hash(body.newPassword, account.role, incoming),
        endedTs: endOfSessions(incoming.receivedMs),
      };
      const endedTs = await db.transaction(async (tx) => {
        const end = await changePassword(tx, change);
        if (end !== undefined && account.role === "operator")
          await recordAudit(tx, auditedAction(call, { action: "operator.password", subject: traderId }));
        return end;
      });
      // Another request has changed the password since this one checked it.
      if (endedTs === undefined) throw new Refused("INVALID_CREDENTIALS");
      await changes.publish("trader", traderId);
      return { body: newSession(account, endedTs) };
    },
  });

  const totp = route("POST /v3/session/totp", {
    access: ENROLLING,
    metering: RATED_FREE,
    body: TotpBody,
    answer: TotpAnswer,
    docs: {
      summary: "Enroll one-time passwords",
      description:
        "Takes two requests. `{ password }` offers a secret for an authenticator app; an operator who has a second factor sends its `code` too. `{ code }` with a one-time password of that secret enrolls it, ends every session of the account, and returns recovery codes, which are shown only once, and the token of a new session.",
      refuses: [...PROOF, "FORBIDDEN"],
      exampleBody: { password: "operator password" },
    },
    run: async ({ body, ...call }) => {
      const { caller, incoming } = call;
      if (caller.role !== "operator")
        throw new Refused("FORBIDDEN", "only operators enroll a second factor; sign in as an operator");
      const account = await accountOf(caller.accountId);
      const { traderId } = account;
      if ("password" in body)
        return { body: await secondFactors.offer(await signIns.confirm(account, body, incoming)) };
      const { recoveryCodes, endedTs } = await signIns.check(account, incoming, () =>
        db.transaction(async (tx) => {
          const enrolled = await secondFactors.enroll(tx, traderId, body.code, {
            from: incoming,
            endedTs: endOfSessions(incoming.receivedMs),
          });
          if (enrolled !== undefined)
            await recordAudit(tx, auditedAction(call, { action: "operator.totp", subject: traderId }));
          return enrolled;
        }),
      );
      await changes.publish("trader", traderId);
      return { body: { ...newSession(account, endedTs), recoveryCodes } };
    },
  });

  return [register, login, password, totp];
}
