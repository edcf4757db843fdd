/** Creates the first operator of an installation (contract section 8.5). */

import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import type { Database } from "../../db/database.js";
import { changeOperator, hasOwner } from "../../db/queries/accounts/operators.js";
import { createTrader, findTraderByEmail, type Trader } from "../../db/queries/accounts/traders.js";
import { MACHINE, recordAudit } from "../../db/queries/operator/audit.js";
import type { Passwords } from "../../http/auth/passwords/passwords.js";
import type { Config } from "../config.js";
import { generatedPassword } from "../operators/accounts.js";

const Login = z.object({ email: z.string(), password: z.string() });
type Login = z.infer<typeof Login>;

const DEV_EMAIL = "operator@localhost";

/**
 * Creates the first owner when there is none: the configured operator, or in `dev` one with a generated password, which
 * is kept in `DATA_DIR/operator.json` for its owner only. Returns the generated login, to be printed once. `warn`
 * receives why a configured login has no effect.
 */
export async function ensureOperator(
  db: Database,
  passwords: Passwords,
  config: Pick<Config, "operator" | "exchangeEnv" | "dataDir">,
  warn: (line: string) => void,
): Promise<Login | undefined> {
  const isOwned = await hasOwner(db);
  const generated = config.operator === undefined && config.exchangeEnv === "dev";
  if (generated && isOwned) return undefined;
  const login = generated ? keptLogin(path.join(config.dataDir, "operator.json")) : config.operator;
  if (login === undefined) return undefined;
  const known = await findTraderByEmail(db, login.email);
  if (known !== undefined) {
    if (!isOwned) await makeOwner(db, known);
    const fault = await faultOf(passwords, known, login);
    if (fault !== undefined) warn(fault);
    return undefined;
  }
  if (isOwned) {
    warn(
      `OPERATOR_EMAIL: ${login.email} is not created, because the exchange has an owner; an owner can create it, or npm run operator -- create`,
    );
    return undefined;
  }
  const created = await createTrader(db, {
    traderId: randomUUID(),
    email: login.email,
    passwordHash: await passwords.hash(login.password),
    role: "operator",
    operatorRole: "owner",
    nowTs: Date.now(),
  });
  // Of gateways that start together, one has created it.
  return generated && created !== undefined ? login : undefined;
}

/** Makes the configured operator an owner, in a database whose operators a build without roles has created. */
async function makeOwner(db: Database, { traderId, operatorRole }: Trader): Promise<void> {
  if (operatorRole !== null) return;
  const nowTs = Date.now();
  await db.transaction(async (tx) => {
    if ((await changeOperator(tx, traderId, { role: "owner" }, nowTs)) === undefined) return;
    const author = { ts: nowTs, operatorId: MACHINE };
    const change = { action: "operator.role", subject: traderId, before: null, after: { role: "owner" } };
    await recordAudit(tx, { ...author, ...change });
  });
}

/** Returns why the configured login does not sign in; `undefined` when it does. A check that fails ends no start. */
async function faultOf(passwords: Passwords, known: Trader, login: Login): Promise<string | undefined> {
  const reset = `npm run operator -- reset ${login.email} sets a new one`;
  if (known.role !== "operator")
    return `OPERATOR_EMAIL: ${login.email} is a trader and does not become an operator; name another address`;
  if (known.state !== "ACTIVE")
    return `OPERATOR_EMAIL: ${login.email} is ${known.state} and cannot sign in; ${reset}`;
  try {
    if (await passwords.matches(login.password, known.passwordHash)) return undefined;
    return `OPERATOR_PASSWORD: ${login.email} has another password, which stays; ${reset}`;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return `OPERATOR_PASSWORD: not compared with the stored one of ${login.email}: ${reason}`;
  }
}

/** Returns the login in the file, or writes a new one. Gateways that start together agree on one login. */
function keptLogin(file: string): Login {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  if (!fs.existsSync(file)) {
    const fresh: Login = { email: DEV_EMAIL, password: generatedPassword() };
    const draft = `${file}.${process.pid}`;
    fs.writeFileSync(draft, JSON.stringify(fresh), { mode: 0o600 });
    try {
      fs.linkSync(draft, file);
    } catch (error) {
      if (!fs.existsSync(file)) throw error;
    } finally {
      fs.rmSync(draft);
    }
  }
  return Login.parse(JSON.parse(fs.readFileSync(file, "utf8")));
}
