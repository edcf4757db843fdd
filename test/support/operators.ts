/** Creates operators of the tests in the database, as `npm run operator` does: without an author. */

import { randomUUID } from "node:crypto";
import { connect, disconnect, type Database } from "../../db/database.js";
import { createTrader } from "../../db/queries/accounts/traders.js";
import type { OperatorRole } from "../../db/schema/operator-roles.js";
import type { Credentials } from "../../http/client/rest/session.js";
import { Passwords } from "../../http/auth/passwords/passwords.js";
import type { Stack } from "./stack.js";

export interface TestOperator extends Credentials {
  readonly traderId: string;
}

/** Runs queries on the database of a stack. */
export async function queried<Result>(
  { databaseUrl }: Pick<Stack, "databaseUrl">,
  query: (db: Database) => Promise<Result>,
): Promise<Result> {
  const db = connect(databaseUrl, { maxConnections: 1 });
  try {
    return await query(db);
  } finally {
    await disconnect(db);
  }
}

/** Creates an operator of a role; `createdBy` names its author. */
export async function addOperator(
  stack: Pick<Stack, "databaseUrl">,
  role: OperatorRole,
  {
    createdBy,
    createdTs = Date.now() - 1,
  }: { readonly createdBy?: string; readonly createdTs?: number } = {},
): Promise<TestOperator> {
  const traderId = randomUUID();
  const login = { email: `${role}.${traderId}@example.com`, password: "the password of an operator" };
  const passwordHash = await new Passwords({ log2N: 10, p: 1 }).hash(login.password);
  const account = {
    traderId,
    email: login.email,
    passwordHash,
    role: "operator",
    operatorRole: role,
    createdBy,
    nowTs: createdTs,
  } as const;
  await queried(stack, (db) => createTrader(db, account));
  return { traderId, ...login };
}
