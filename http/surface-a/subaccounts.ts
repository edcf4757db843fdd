/** Subaccounts: each is a wallet with its own keys (contract section 5.13). */

import { ledgerShardOf } from "../../actors/actor.js";
import type { Formats } from "../../actors/format.js";
import { RESTRICTIONS_FORMAT } from "../../actors/ledger/types.js";
import { formatMoney, subtract } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { hasLiveKey, mintKey } from "../../db/queries/accounts/keys.js";
import {
  closeSubaccount,
  findSubaccountByKey,
  listSubaccounts,
  MAX_SUBACCOUNTS,
  openSubaccount,
  relabelSubaccount,
  type Subaccount as SubaccountRecord,
} from "../../db/queries/accounts/subaccounts.js";
import type { Exchange } from "../../stream/log/ports.js";
import { PUBLIC_KEY } from "../docs/examples.js";
import { retryAfter } from "../edge/headers.js";
import type { Changes } from "../reference/changes.js";
import { ANY_SCOPE, MANAGING, signedBy, signedOrSession, verifiedOrSession } from "../request/access.js";
import { traderOf, type KeyCaller, type SessionCaller } from "../request/callers.js";
import { Refused, refusedBy } from "../request/errors.js";
import { ACCOUNT } from "../request/metering.js";
import { route } from "../request/route.js";
import { readBalances } from "../trading/ledger-client.js";
import type { Trader } from "../trading/ledger-client.js";
import { keyRow, mintOnce, newId, refusedKey, requireFuture, requireKey } from "./keys.js";
import {
  Balance,
  CurrencyQuery,
  MintedKey,
  NewSubaccountBody,
  NewSubaccountKeyBody,
  RelabelBody,
  Subaccount,
  Subaccounts,
} from "./schemas/account.js";
import { coin } from "./wire.js";

interface SubaccountParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly formats: Formats;
  readonly changes: Changes;
}

/** Time in s after which a request is tried again that waits for the end of an upgrade. */
const UPGRADE_S = 15;

/** Codes of `requireSubaccount`, besides 403 for another subaccount of the trader. */
export const SUBACCOUNT_REFUSALS = ["SUBACCOUNT_NOT_FOUND", "NOT_A_SUBACCOUNT_KEY"] as const;

/**
 * Returns the subaccount that the named key reaches. A management key and a web session reach every subaccount of their
 * trader, a trading key only its own. Refuses `SUBACCOUNT_NOT_FOUND`, `NOT_A_SUBACCOUNT_KEY`, and 403 for another subaccount.
 */
export async function requireSubaccount(
  db: Database,
  caller: KeyCaller | SessionCaller,
  keyId: string,
): Promise<SubaccountRecord> {
  const found = await findSubaccountByKey(db, traderOf(caller), keyId);
  if (found === undefined) throw new Refused("SUBACCOUNT_NOT_FOUND");
  if (found === "NOT_A_SUBACCOUNT_KEY") throw new Refused("NOT_A_SUBACCOUNT_KEY");
  const reached = caller.kind === "key" ? caller.key.subaccountId : undefined;
  if (reached !== undefined && reached !== found.subaccountId) {
    throw new Refused(
      "SCOPE_REJECTED",
      "a trading key reaches its own subaccount only; use a management key",
    );
  }
  return found;
}

/** Returns the wallet of a trading key. */
export function walletOf({ key }: KeyCaller): Trader {
  if (key.subaccountId === undefined) throw new Error(`the ${key.scope} key has no wallet`);
  return { traderId: key.traderId, wallet: key.subaccountId };
}

/**
 * Returns the wallet that a request reads: that of the subaccount which the parameter `subaccount` names, or else of the
 * signing key. Refuses as `requireSubaccount` does, and `INVALID_QUERY` for a web session that names none.
 */
export async function walletToRead(
  db: Database,
  caller: KeyCaller | SessionCaller,
  { subaccount }: { readonly subaccount?: string | undefined },
): Promise<Trader> {
  if (subaccount !== undefined) {
    const { traderId, subaccountId } = await requireSubaccount(db, caller, subaccount);
    return { traderId, wallet: subaccountId };
  }
  if (caller.kind === "key") return walletOf(caller);
  throw new Refused("INVALID_QUERY", "subaccount is missing; name a key of the subaccount to read");
}

export function subaccountRoutes({ db, exchange, formats, changes }: SubaccountParts) {
  const totalOf = async ({ traderId, subaccountId }: SubaccountRecord): Promise<string> =>
    formatMoney((await readBalances(exchange, traderId, subaccountId)).balances.CASH.total);

  const shown = async (subaccount: SubaccountRecord, keyId: string) => ({
    keyId,
    label: subaccount.label,
    balance: await totalOf(subaccount),
  });

  const open = route("POST /v3/account/subaccounts", {
    access: verifiedOrSession(["management"]),
    metering: ACCOUNT,
    status: 201,
    body: NewSubaccountBody,
    answer: Subaccount,
    docs: {
      summary: "Open a subaccount",
      description: `Opens a wallet together with its trading key, so that no wallet is without a key. A trader has at most ${MAX_SUBACCOUNTS} open subaccounts.`,
      refuses: ["KEY_EXISTS"],
      exampleBody: { label: "main", publicKey: PUBLIC_KEY, algorithm: "Ed25519" },
    },
    run: async ({ caller, body, incoming }) => {
      requireFuture(body.expiresAt, incoming.receivedMs);
      const accepted = requireKey(body);
      const traderId = traderOf(caller);
      const createdTs = incoming.receivedMs;
      const subaccount = {
        subaccountId: newId(caller, "subaccount"),
        traderId,
        label: body.label,
        createdTs,
        closedTs: null,
      };
      const row = keyRow(accepted, {
        keyId: newId(caller, "key"),
        traderId,
        subaccountId: subaccount.subaccountId,
        scope: "trading",
        name: body.label,
        createdTs,
        expiresAt: body.expiresAt,
      });
      await mintOnce(db, row, () => openSubaccount(db, subaccount, row));
      await changes.publish("key", row.keyId);
      return { body: await shown(subaccount, row.keyId) };
    },
  });

  const list = route("GET /v3/account/subaccounts", {
    access: signedOrSession(MANAGING),
    metering: ACCOUNT,
    answer: Subaccounts,
    docs: {
      summary: "List subaccounts",
      description: "Returns each subaccount with its balance and its oldest live key.",
    },
    run: async ({ caller, incoming }) => {
      const subaccounts = await listSubaccounts(db, traderOf(caller), incoming.receivedMs);
      return {
        body: await Promise.all(subaccounts.map((subaccount) => shown(subaccount, subaccount.keyId))),
      };
    },
  });

  const relabel = route("PATCH /v3/account/subaccounts/:keyId", {
    access: signedBy(["management"]),
    metering: ACCOUNT,
    body: RelabelBody,
    answer: Subaccount,
    docs: {
      summary: "Change the label of a subaccount",
      refuses: SUBACCOUNT_REFUSALS,
      exampleBody: { label: "spreads" },
    },
    run: async ({ caller, body, id }) => {
      const keyId = id("keyId");
      const subaccount = await requireSubaccount(db, caller, keyId);
      if (subaccount.closedTs !== null) throw new Refused("SUBACCOUNT_NOT_FOUND");
      await relabelSubaccount(db, subaccount.subaccountId, body.label);
      return { body: await shown({ ...subaccount, label: body.label }, keyId) };
    },
  });

  const close = route("DELETE /v3/account/subaccounts/:keyId", {
    access: signedOrSession(["management"]),
    metering: ACCOUNT,
    status: 204,
    docs: {
      summary: "Close a subaccount",
      description:
        "Closes a subaccount without money, positions and open orders. Its keys are revoked, and its clients of surface B end.",
      refuses: [...SUBACCOUNT_REFUSALS, "SUBACCOUNT_NOT_EMPTY"],
    },
    run: async ({ caller, id, incoming }) => {
      const { traderId, subaccountId, closedTs } = await requireSubaccount(db, caller, id("keyId"));
      if (closedTs !== null) throw new Refused("SUBACCOUNT_NOT_FOUND");
      if (formats.active() < RESTRICTIONS_FORMAT)
        throw new Refused(
          "UNAVAILABLE",
          "subaccounts cannot be closed while a process of an older version runs; try again later",
          {},
          retryAfter(UPGRADE_S),
        );
      const command = { kind: "closeWallet", wallet: subaccountId, trader: traderId } as const;
      const reply = await exchange.ledger(ledgerShardOf(traderId), command);
      if (!reply.ok) throw refusedBy(reply.refusal);
      const ended = await closeSubaccount(db, { subaccountId, traderId }, incoming.receivedMs);
      if (ended === undefined) throw new Refused("SUBACCOUNT_NOT_FOUND");
      for (const keyId of ended.keyIds) await changes.publish("key", keyId);
      for (const clientId of ended.clientIds) await changes.publish("client", clientId);
      return { body: undefined };
    },
  });

  const balance = route("GET /v3/account/subaccounts/:keyId/balance", {
    access: signedOrSession(ANY_SCOPE),
    metering: ACCOUNT,
    query: CurrencyQuery,
    answer: Balance,
    docs: {
      summary: "Retrieve the balance of a subaccount",
      description:
        "Returns the balance, the part that is available, and the part that open orders reserve. A trading key reaches its own subaccount only.",
      refuses: SUBACCOUNT_REFUSALS,
    },
    run: async ({ caller, query, id }) => {
      const keyId = id("keyId");
      const { traderId, subaccountId } = await requireSubaccount(db, caller, keyId);
      const wallet = await readBalances(exchange, traderId, subaccountId);
      const { total, reserved } = wallet.balances[query.currency];
      return {
        body: {
          keyId,
          balance: formatMoney(total),
          available: formatMoney(subtract(total, reserved)),
          reserved: formatMoney(reserved),
          ...coin(query.currency),
        },
      };
    },
  });

  const issueKey = route("POST /v3/account/subaccounts/:keyId/keys", {
    access: verifiedOrSession(["management"]),
    metering: ACCOUNT,
    status: 201,
    body: NewSubaccountKeyBody,
    answer: MintedKey,
    docs: {
      summary: "Create a key for a subaccount",
      description:
        "Creates a `trading::read` key, or another `trading` key once the previous one is revoked. A subaccount has one live `trading` key at a time.",
      refuses: [...SUBACCOUNT_REFUSALS, "KEY_EXISTS", "TRADING_KEY_EXISTS"],
      exampleBody: { name: "laptop", publicKey: PUBLIC_KEY, algorithm: "Ed25519", scope: "trading::read" },
    },
    run: async ({ caller, body, id, incoming }) => {
      const nowMs = incoming.receivedMs;
      const { traderId, subaccountId } = await requireSubaccount(db, caller, id("keyId"));
      requireFuture(body.expiresAt, nowMs);
      const accepted = requireKey(body);
      const row = keyRow(accepted, {
        keyId: newId(caller, "key"),
        traderId,
        subaccountId,
        scope: body.scope,
        name: body.name,
        createdTs: nowMs,
        expiresAt: body.expiresAt,
      });
      await mintOnce(db, row, async () => {
        const taken = body.scope === "trading" && (await hasLiveKey(db, subaccountId, "trading", nowMs));
        if (taken) throw refusedKey("TRADING_KEY_EXISTS");
        return mintKey(db, row);
      });
      await changes.publish("key", row.keyId);
      return { body: { keyId: row.keyId, fingerprint: accepted.fingerprint } };
    },
  });

  return [list, open, relabel, close, balance, issueKey];
}
