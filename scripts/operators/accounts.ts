/** Operators as the owner of the machine creates, disables and resets them, without an author (contract section 8.5). */

import { randomBytes, randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { changeOperator } from "../../db/queries/accounts/operators.js";
import { removeTotp } from "../../db/queries/accounts/sign-ins.js";
import {
  createTrader,
  endSessions,
  findTraderByEmail,
  setPasswordHash,
  type Trader,
} from "../../db/queries/accounts/traders.js";
import { MACHINE, recordAudit } from "../../db/queries/operator/audit.js";
import type { OperatorRole } from "../../db/schema/operator-roles.js";
import type { Passwords } from "../../http/auth/passwords/passwords.js";
import { endOfSessions } from "../../http/auth/web-tokens.js";
import { StartError } from "../supervisor/start-error.js";

interface AccountParts {
  readonly db: Database;
  readonly passwords: Passwords;
  readonly nowMs: () => number;
}

/** Returns a password that nobody has chosen. */
export function generatedPassword(): string {
  return randomBytes(12).toString("base64url");
}

/** Creates an operator with a generated password, and returns that password. Throws `StartError`. */
export async function createOperator(
  { db, passwords, nowMs }: AccountParts,
  email: string,
  role: OperatorRole,
): Promise<string> {
  const known = await findTraderByEmail(db, email);
  if (known !== undefined) {
    throw new StartError(
      known.role === "operator"
        ? `${email} is an operator already; reset gives the operator a new password`
        : `${email} belongs to a trader; name another address`,
    );
  }
  const password = generatedPassword();
  const account = {
    traderId: randomUUID(),
    email,
    passwordHash: await passwords.hash(password),
    role: "operator",
    operatorRole: role,
    nowTs: nowMs(),
  } as const;
  await db.transaction(async (tx) => {
    if ((await createTrader(tx, account)) === undefined) throw new StartError(`${email} is taken`);
    await recordAudit(tx, record("operator.create", account.traderId, { email, role }, account.nowTs));
  });
  return password;
}

/** Locks an operator and ends all sessions. Throws `StartError`. */
export async function disableOperator({ db, nowMs }: AccountParts, email: string): Promise<void> {
  const { traderId } = await existing(db, email);
  const nowTs = nowMs();
  await db.transaction(async (tx) => {
    await changeOperator(tx, traderId, { state: "LOCKED" }, nowTs);
    await endSessions(tx, traderId, endOfSessions(nowTs));
    await recordAudit(tx, record("operator.state", traderId, { state: "LOCKED" }, nowTs));
  });
}

/**
 * Makes an operator active with a generated password, which it returns, and without a second factor, and ends all
 * sessions. `role` replaces the role. Throws `StartError`.
 */
export async function resetOperator(
  { db, passwords, nowMs }: AccountParts,
  email: string,
  role: OperatorRole | undefined,
): Promise<string> {
  const { traderId } = await existing(db, email);
  const password = generatedPassword();
  const passwordHash = await passwords.hash(password);
  const nowTs = nowMs();
  await db.transaction(async (tx) => {
    await setPasswordHash(tx, traderId, passwordHash);
    await removeTotp(tx, traderId);
    await changeOperator(tx, traderId, { role, state: "ACTIVE" }, nowTs);
    await endSessions(tx, traderId, endOfSessions(nowTs));
    await recordAudit(tx, record("operator.reset", traderId, { role, state: "ACTIVE" }, nowTs));
  });
  return password;
}

async function existing(db: Database, email: string): Promise<Trader> {
  const account = await findTraderByEmail(db, email);
  if (account?.role === "operator") return account;
  throw new StartError(`no operator has the address ${email}`);
}

function record(action: string, subject: string, after: object, ts: number) {
  return { ts, operatorId: MACHINE, action, subject, before: null, after };
}
