/**
 * Keys of the management scopes, and the revocation of any key (contract section 5.12; key life cycle of the
 * specification).
 */

import { randomUUID } from "node:crypto";
import type { Restriction } from "../../actors/ledger/types.js";
import { violatedConstraint, type Database } from "../../db/database.js";
import {
  findKey,
  liveKeys,
  MAX_LIVE_READ_KEYS,
  mintKey,
  revokeKey,
  type Key as KeyRecord,
  type KeyRefusal,
  type NewKey,
} from "../../db/queries/accounts/keys.js";
import { MAX_SUBACCOUNTS } from "../../db/queries/accounts/subaccounts.js";
import { acceptKey, type AcceptedKey } from "../auth/keys.js";
import type { KeyAlgorithm } from "../auth/canonical.js";
import { PUBLIC_KEY } from "../docs/examples.js";
import type { Changes } from "../reference/changes.js";
import { MANAGING, signedOrSession } from "../request/access.js";
import type { KeyCaller, SessionCaller } from "../request/callers.js";
import { traderOf } from "../request/callers.js";
import { idFrom } from "../request/command-ids.js";
import { Refused } from "../request/errors.js";
import { ACCOUNT } from "../request/metering.js";
import { route } from "../request/route.js";
import { Key, Keys, MintedKey, NewKeyBody } from "./schemas/account.js";

interface KeyRouteParts {
  readonly db: Database;
  readonly changes: Changes;
}

/** Returns a key as the routes write it; `label` is that of its subaccount. */
export function keyOnWire(key: KeyRecord, label: string | null) {
  return {
    keyId: key.keyId,
    name: key.name,
    fingerprint: key.fingerprint,
    algorithm: key.algorithm,
    scope: key.scope,
    restriction: label,
    createdAt: key.createdTs,
    lastUsedAt: key.lastUsedTs,
    expiresAt: key.expiresTs,
  };
}

/** Returns a submitted public key, checked. Refuses `INVALID_BODY` with the reason when it is not acceptable. */
export function requireKey(body: { publicKey: string; algorithm: KeyAlgorithm }): AcceptedKey {
  const judged = acceptKey(body.publicKey, body.algorithm);
  if (!judged.ok) throw new Refused("INVALID_BODY", judged.message);
  return judged;
}

/** Refuses an expiry that is not in the future. */
export function requireFuture(expiresAt: number | undefined, nowMs: number): void {
  if (expiresAt !== undefined && expiresAt <= nowMs) {
    throw new Refused("INVALID_BODY", "expiresAt must be in the future");
  }
}

/** Returns the id of a resource that a request creates. The same signed bytes always give the same id. */
export function newId(caller: KeyCaller | SessionCaller, name: string): string {
  return caller.kind === "key" ? idFrom(caller.commandId, name) : randomUUID();
}

/** Returns the row of a new key. */
export function keyRow(
  accepted: AcceptedKey,
  fields: Pick<NewKey, "keyId" | "traderId" | "subaccountId" | "scope" | "name" | "createdTs"> & {
    expiresAt: number | undefined;
  },
): NewKey {
  const { expiresAt, ...rest } = fields;
  return {
    ...rest,
    algorithm: accepted.algorithm,
    publicKeyPem: accepted.pem,
    publicKeyDer: accepted.der,
    fingerprint: accepted.fingerprint,
    expiresTs: expiresAt ?? null,
  };
}

/** Returns the answer to a refusal of the key tables. */
export function refusedKey(refusal: KeyRefusal | Restriction | "TOO_MANY_SUBACCOUNTS"): Refused {
  switch (refusal) {
    case "TOO_MANY_KEYS":
      return new Refused(
        "INVALID_REQUEST",
        `${MAX_LIVE_READ_KEYS} keys of this scope are live; revoke one before creating another`,
      );
    case "TOO_MANY_SUBACCOUNTS":
      return new Refused(
        "INVALID_REQUEST",
        `the trader has ${MAX_SUBACCOUNTS} open subaccounts, which is the maximum; use one of them, or close one`,
      );
    default:
      return new Refused(refusal);
  }
}

/** Writes a key, unless the same request has written it before. */
export async function mintOnce(
  db: Database,
  row: NewKey,
  write: () => Promise<{ ok: true } | { ok: false; refusal: Parameters<typeof refusedKey>[0] }>,
): Promise<void> {
  const isRepeat = async (): Promise<boolean> =>
    (await findKey(db, row.keyId))?.key.traderId === row.traderId;
  if (await isRepeat()) return;
  try {
    const written = await write();
    if (!written.ok && !(await isRepeat())) throw refusedKey(written.refusal);
  } catch (error) {
    if (violatedConstraint(error) === undefined || !(await isRepeat())) throw error;
  }
}

export function keyRoutes({ db, changes }: KeyRouteParts) {
  const find = async (traderId: string, keyId: string, nowMs: number) => {
    const owned = await findKey(db, keyId);
    const live =
      owned?.key.traderId === traderId &&
      owned.key.revokedTs === null &&
      (owned.key.expiresTs === null || owned.key.expiresTs > nowMs);
    if (!live) throw new Refused("KEY_NOT_FOUND");
    return owned;
  };

  const list = route("GET /v3/keys", {
    access: signedOrSession(MANAGING),
    metering: ACCOUNT,
    answer: Keys,
    docs: {
      summary: "List keys",
      description: "Returns the live keys of the trader, of every scope.",
    },
    run: async ({ caller, incoming }) => {
      const keys = await liveKeys(db, traderOf(caller), incoming.receivedMs);
      return { body: keys.map(({ key, label }) => keyOnWire(key, label)) };
    },
  });

  const one = route("GET /v3/keys/:keyId", {
    access: signedOrSession(MANAGING),
    metering: ACCOUNT,
    answer: Key,
    docs: {
      summary: "Retrieve a key",
      refuses: ["KEY_NOT_FOUND"],
    },
    run: async ({ caller, id, incoming }) => {
      const { key, label } = await find(traderOf(caller), id("keyId"), incoming.receivedMs);
      return { body: keyOnWire(key, label) };
    },
  });

  const create = route("POST /v3/keys", {
    access: signedOrSession(["management"]),
    metering: ACCOUNT,
    status: 201,
    body: NewKeyBody,
    answer: MintedKey,
    docs: {
      summary: "Create a key",
      description:
        "A management key creates a `management::read` key. A web session creates the `management` key; a trader has one at a time, and it never expires. The private key stays with the caller.",
      refuses: ["KEY_EXISTS", "MANAGEMENT_KEY_EXISTS", "KYC_REQUIRED"],
      exampleBody: { name: "laptop", publicKey: PUBLIC_KEY, algorithm: "Ed25519" },
    },
    run: async ({ caller, body, incoming }) => {
      const scope = caller.kind === "session" ? "management" : "management::read";
      if (scope === "management" && body.expiresAt !== undefined) {
        throw new Refused(
          "INVALID_REQUEST",
          "expiresAt is not allowed for a management key, which never expires; leave it out",
        );
      }
      requireFuture(body.expiresAt, incoming.receivedMs);
      const accepted = requireKey(body);
      const row = keyRow(accepted, {
        keyId: newId(caller, "key"),
        traderId: traderOf(caller),
        subaccountId: null,
        scope,
        name: body.name,
        createdTs: incoming.receivedMs,
        expiresAt: body.expiresAt,
      });
      await mintOnce(db, row, () => mintKey(db, row));
      await changes.publish("key", row.keyId);
      return { body: { keyId: row.keyId, fingerprint: accepted.fingerprint } };
    },
  });

  const revoke = route("DELETE /v3/keys/:keyId", {
    access: signedOrSession(["management"]),
    metering: ACCOUNT,
    status: 204,
    docs: {
      summary: "Revoke a key",
      description:
        "Revokes a key for ever. The revocation takes effect within 5 s, and the open sockets of the key are closed. Resting orders stay on the book until they are canceled.",
      refuses: ["KEY_NOT_FOUND"],
    },
    run: async ({ caller, id, incoming }) => {
      const keyId = id("keyId");
      const revoked = await revokeKey(db, traderOf(caller), keyId, incoming.receivedMs);
      if (!revoked) throw new Refused("KEY_NOT_FOUND");
      await changes.publish("key", keyId);
      return { body: undefined };
    },
  });

  return [list, create, one, revoke];
}
