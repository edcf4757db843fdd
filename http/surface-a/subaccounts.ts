/** Subaccounts: a wallet and its keys each (contract section 5). */

import { formatMoney, subtract } from "../../actors/units.js";
import type { Database } from "../../db/database.js";
import { hasLiveKey, mintKey } from "../../db/queries/accounts/keys.js";
import {
  findSubaccountByKey,
  listSubaccounts,
  openSubaccount,
  relabelSubaccount,
  type Subaccount as SubaccountRecord,
} from "../../db/queries/accounts/subaccounts.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { KeyCaller } from "../request/callers.js";
import type { Changes } from "../reference/changes.js";
import { Refused } from "../request/errors.js";
import { keyEndpoint } from "../request/route.js";
import {
  Balance,
  CurrencyOnly,
  MintedKey,
  NewSubaccountBody,
  NewSubaccountKeyBody,
  RelabelBody,
  Subaccount,
  Subaccounts,
} from "./schemas/account.js";
import { coin } from "./wire.js";
import { readWallet } from "../trading/ledger-client.js";
import { keyRow, mintOnce, newId, refusedKey, requireFuture, requireKey } from "./keys.js";

export interface SubaccountParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly changes: Changes;
}

/**
 * The subaccount that the key in the path reaches, for its own trader and, when the caller holds a trading key, only
 * their own. Refuses `SUBACCOUNT_NOT_FOUND`, `NOT_A_SUBACCOUNT_KEY`, and 403 for another subaccount.
 */
export async function requireSubaccount(
  db: Database,
  { key }: KeyCaller,
  keyId: string,
): Promise<SubaccountRecord> {
  const found = await findSubaccountByKey(db, key.traderId, keyId);
  if (found === undefined) throw new Refused("SUBACCOUNT_NOT_FOUND");
  if (found === "NOT_A_SUBACCOUNT_KEY") throw new Refused("NOT_A_SUBACCOUNT_KEY");
  if (key.subaccountId !== undefined && key.subaccountId !== found.subaccountId) {
    throw new Refused("SCOPE_REJECTED", "a trading key reaches its own subaccount only");
  }
  return found;
}

export function subaccountEndpoints({ db, exchange, changes }: SubaccountParts) {
  const totalOf = async ({ traderId, subaccountId }: SubaccountRecord): Promise<string> =>
    formatMoney((await readWallet(exchange, traderId, subaccountId)).balances.CASH.total);

  const shown = async (subaccount: SubaccountRecord, keyId: string) => ({
    keyId,
    label: subaccount.label,
    balance: await totalOf(subaccount),
  });

  const open = keyEndpoint({
    status: 201,
    body: NewSubaccountBody,
    answer: Subaccount,
    run: async ({ caller, body, incoming }) => {
      requireFuture(body.expiresAt, incoming.receivedMs);
      const accepted = requireKey(body);
      const { traderId } = caller.key;
      const createdTs = incoming.receivedMs;
      const subaccount = {
        subaccountId: newId(caller, "subaccount"),
        traderId,
        label: body.label,
        createdTs,
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

  const list = keyEndpoint({
    answer: Subaccounts,
    run: async ({ caller, incoming }) => {
      const subaccounts = await listSubaccounts(db, caller.key.traderId, incoming.receivedMs);
      return {
        body: await Promise.all(subaccounts.map((subaccount) => shown(subaccount, subaccount.keyId))),
      };
    },
  });

  const relabel = keyEndpoint({
    body: RelabelBody,
    answer: Subaccount,
    run: async ({ caller, body, id }) => {
      const keyId = id("keyId");
      const subaccount = await requireSubaccount(db, caller, keyId);
      await relabelSubaccount(db, subaccount.subaccountId, body.label);
      return { body: await shown({ ...subaccount, label: body.label }, keyId) };
    },
  });

  const balance = keyEndpoint({
    query: CurrencyOnly,
    answer: Balance,
    run: async ({ caller, query, id }) => {
      const keyId = id("keyId");
      const { traderId, subaccountId } = await requireSubaccount(db, caller, keyId);
      const wallet = await readWallet(exchange, traderId, subaccountId);
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

  const issueKey = keyEndpoint({
    status: 201,
    body: NewSubaccountKeyBody,
    answer: MintedKey,
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

  return { open, list, relabel, balance, issueKey };
}
