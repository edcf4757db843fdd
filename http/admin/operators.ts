/** Accounts of further operators; a settlement may need the approval of a second one (contract section 8.5). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { createTrader } from "../../db/queries/accounts/traders.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import type { Passwords } from "../auth/passwords.js";
import { OPERATOR } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";
import { RegisterBody, Registered } from "../surface-a/schemas/account.js";
import { auditedAction } from "./audit.js";

export function operatorRoutes({ db, passwords }: { readonly db: Database; readonly passwords: Passwords }) {
  const create = route("POST /admin/v1/operators", {
    access: OPERATOR,
    status: 201,
    body: RegisterBody,
    answer: Registered,
    docs: {
      summary: "Create an operator",
      description: "Creates an account with the role `operator`.",
      refuses: ["EMAIL_TAKEN"],
      exampleBody: { email: "second@example.com", password: "another long password" },
    },
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
  return [create];
}
