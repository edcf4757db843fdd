/** OAuth clients of external market makers. Each client calls surface B for one subaccount (contract section 8.11). */

import { randomBytes, randomUUID } from "node:crypto";
import { z } from "zod";
import type { Database } from "../../db/database.js";
import {
  createEmmClient,
  deleteEmmClient,
  findEmmClient,
  listEmmClients,
  rotateEmmSecret,
} from "../../db/queries/accounts/emm-clients.js";
import { findKey } from "../../db/queries/accounts/keys.js";
import { findSubaccounts } from "../../db/queries/accounts/subaccounts.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import type { Passwords } from "../auth/passwords/passwords.js";
import { IDS } from "../docs/examples.js";
import type { Changes } from "../reference/changes.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { pageOf, PageQuery } from "../request/fields.js";
import { route } from "../request/route.js";
import { auditedAction } from "./audit.js";
import { EmmClient, EmmClientBody, EmmClientSecret } from "./schemas/makers.js";

interface EmmClientParts {
  readonly db: Database;
  readonly changes: Changes;
  readonly passwords: Passwords;
}

/** Returns 256 random bits in characters that need no escaping in a form or a header. */
function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

export function emmClientRoutes({ db, changes, passwords }: EmmClientParts) {
  const create = route("POST /admin/v1/emm-clients", {
    access: operatorWith("accounts"),
    status: 201,
    body: EmmClientBody,
    answer: EmmClientSecret,
    docs: {
      summary: "Create a client",
      description: "Creates a client of surface B for a subaccount. The secret is shown in this answer only.",
      refuses: ["SUBACCOUNT_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"],
      exampleBody: { subaccountKeyId: IDS.keyId, name: "maker" },
    },
    run: async ({ body, ...call }) => {
      const { subaccountKeyId, name } = body;
      const owned = await findKey(db, subaccountKeyId);
      if (owned === undefined) throw new Refused("SUBACCOUNT_NOT_FOUND");
      const { subaccountId } = owned.key;
      if (subaccountId === null) throw new Refused("NOT_A_SUBACCOUNT_KEY");
      if (owned.closedTs !== null) throw new Refused("SUBACCOUNT_NOT_FOUND");
      const clientId = randomUUID();
      const clientSecret = newSecret();
      const secretHash = await passwords.hash(clientSecret);
      await db.transaction(async (tx) => {
        await createEmmClient(tx, {
          clientId,
          subaccountId,
          name,
          secretHash,
          nowTs: call.incoming.receivedMs,
        });
        await recordAudit(
          tx,
          auditedAction(call, { action: "emm-client.create", subject: clientId, after: body }),
        );
      });
      return { body: { clientId, clientSecret } };
    },
  });

  const list = route("GET /admin/v1/emm-clients", {
    access: operatorWith("read"),
    query: z.strictObject(PageQuery),
    answer: pageOf(EmmClient),
    docs: {
      summary: "List clients",
    },
    run: async ({ query, incoming }) => {
      const { items, next } = await listEmmClients(db, query);
      const subaccountIds = items.map(({ subaccountId }) => subaccountId);
      const named = new Map(
        (await findSubaccounts(db, subaccountIds, incoming.receivedMs)).map((one) => [one.subaccountId, one]),
      );
      const shown = items.flatMap(
        ({ clientId, name, traderId, subaccountId, label, createdTs, rotatedTs }) => {
          const keyId = named.get(subaccountId)?.keyId;
          if (keyId === undefined) return [];
          return [{ clientId, name, traderId, subaccountKeyId: keyId, label, createdTs, rotatedTs }];
        },
      );
      return { body: { items: shown, next } };
    },
  });

  const rotate = route("POST /admin/v1/emm-clients/:clientId/rotate", {
    access: operatorWith("accounts"),
    answer: EmmClientSecret,
    docs: {
      summary: "Rotate the secret of a client",
      description:
        "Returns a new secret. The old secret and the tokens that were created with it are no longer valid.",
      refuses: ["CLIENT_NOT_FOUND"],
    },
    run: async ({ id, ...call }) => {
      const clientId = id("clientId");
      if ((await findEmmClient(db, clientId)) === undefined) throw new Refused("CLIENT_NOT_FOUND");
      const clientSecret = newSecret();
      const secretHash = await passwords.hash(clientSecret);
      await db.transaction(async (tx) => {
        const rotated = await rotateEmmSecret(tx, { clientId, secretHash, nowTs: call.incoming.receivedMs });
        if (!rotated) throw new Refused("CLIENT_NOT_FOUND");
        await recordAudit(tx, auditedAction(call, { action: "emm-client.rotate", subject: clientId }));
      });
      await changes.publish("client", clientId);
      return { body: { clientId, clientSecret } };
    },
  });

  const remove = route("DELETE /admin/v1/emm-clients/:clientId", {
    access: operatorWith("accounts"),
    status: 204,
    docs: {
      summary: "Delete a client",
      description: "Deletes the client. Its tokens are no longer valid.",
      refuses: ["CLIENT_NOT_FOUND"],
    },
    run: async ({ id, ...call }) => {
      const clientId = id("clientId");
      await db.transaction(async (tx) => {
        if (!(await deleteEmmClient(tx, clientId, call.incoming.receivedMs)))
          throw new Refused("CLIENT_NOT_FOUND");
        await recordAudit(tx, auditedAction(call, { action: "emm-client.delete", subject: clientId }));
      });
      await changes.publish("client", clientId);
      return { body: undefined };
    },
  });

  return [list, create, rotate, remove];
}
