/** Creates the first operator of an installation (contract section 8.5). */

import { randomBytes, randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import type { Database } from "../../db/database.js";
import { createTrader, hasOperator } from "../../db/queries/accounts/traders.js";
import type { Passwords } from "../../http/auth/passwords.js";
import type { Config } from "../config.js";

const Login = z.object({ email: z.string(), password: z.string() });
type Login = z.infer<typeof Login>;

const DEV_EMAIL = "operator@localhost";

/**
 * Creates the first operator when there is none: the configured one, or in `dev` one with a generated password, which
 * is kept in `DATA_DIR/operator.json` for its owner only. Returns the generated login, to be printed once.
 */
export async function ensureOperator(
  db: Database,
  passwords: Passwords,
  config: Pick<Config, "operator" | "exchangeEnv" | "dataDir">,
): Promise<Login | undefined> {
  if (await hasOperator(db)) return undefined;
  const generated = config.operator === undefined && config.exchangeEnv === "dev";
  const login = generated ? keptLogin(path.join(config.dataDir, "operator.json")) : config.operator;
  if (login === undefined) return undefined;
  const created = await createTrader(db, {
    traderId: randomUUID(),
    email: login.email,
    passwordHash: await passwords.hash(login.password),
    role: "operator",
    nowTs: Date.now(),
  });
  // Of gateways that start together, one has created it.
  return generated && created !== undefined ? login : undefined;
}

/** Returns the login in the file, or writes a new one. Gateways that start together agree on one login. */
function keptLogin(file: string): Login {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  if (!fs.existsSync(file)) {
    const fresh: Login = { email: DEV_EMAIL, password: randomBytes(12).toString("base64url") };
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
