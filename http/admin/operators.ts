/** Further operators: a settlement may need the approval of a second one (contract section 8). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import { createTrader } from "../../db/queries/accounts/traders.js";
import { Refused } from "../request/errors.js";
import type { Passwords } from "../auth/passwords.js";
import { sessionEndpoint } from "../request/route.js";
import { RegisterBody, Registered } from "../surface-a/schemas/account.js";
import { auditedAction } from "./audit.js";

export function operatorEndpoints({
  db,
  passwords,
}: {
  readonly db: Database;
  readonly passwords: Passwords;
}) {
  const create = sessionEndpoint({
    status: 201,
    body: RegisterBody,
    answer: Registered,
    run: async ({ body, ...call }) => {
      const passwordHash = await passwords.hash(body.password);
      const made = await db.transaction(async (tx) => {
        const account = await createTrader(tx, {
          traderId: randomUUID(),
          email: body.email,
          passwordHash,
          role: "operator",
          nowTs: call.incoming.receivedMs,
        });
        if (account === undefined) throw new Refused("EMAIL_TAKEN");
        const { traderId, email } = account;
        await recordAudit(
          tx,
          auditedAction(call, { action: "operator.create", subject: traderId, after: { email } }),
        );
        return { traderId, email };
      });
      return { body: made };
    },
  });
  return { create };
}
