/** Wallets, balances, positions, transfers and double entries, from the ledgers' deltas. */

import type pg from "pg";
import type {
  BalanceDelta,
  Counterparty,
  EntryDelta,
  RestrictedDelta,
  TransferDelta,
  WalletDelta,
  WalletPositionDelta,
} from "../../actors/ledger/deltas.js";
import { add, ZERO } from "../../actors/units.js";
import {
  balances,
  entries,
  entryTotals,
  positions,
  traderRestrictions,
  transfers,
  wallets,
} from "../schema/wallets.js";
import type { Origin } from "./origin.js";
import { insertInto, writeRows } from "./rows.js";

const INSERT_WALLETS = insertInto(wallets);
const UPSERT_POSITIONS = insertInto(positions, "replace");
const UPSERT_BALANCES = insertInto(balances, "replace");
const INSERT_ENTRIES = insertInto(entries);
const ADD_ENTRY_TOTALS = insertInto(entryTotals, "add");
const INSERT_TRANSFERS = insertInto(transfers);
const UPSERT_RESTRICTIONS = insertInto(traderRestrictions, "replace");

type EntryTotalsRow = typeof entryTotals.$inferSelect;
/** The facts of entries that the totals need. */
export type EntryAmount = Pick<EntryDelta, "counterparty" | "kind" | "currency" | "amount">;

/** The wallets of one batch of entries, and the movements of their money. */
export class WalletRows {
  readonly #wallets: (typeof wallets.$inferSelect)[] = [];
  readonly #positions = new Map<string, typeof positions.$inferSelect>();
  readonly #balances = new Map<string, typeof balances.$inferSelect>();
  readonly #entries: (typeof entries.$inferSelect)[] = [];
  /** Amounts to add to the totals of a shard. */
  readonly #entryTotals = new Map<string, EntryTotalsRow>();
  readonly #transfers: (typeof transfers.$inferSelect)[] = [];
  readonly #restrictions = new Map<string, typeof traderRestrictions.$inferSelect>();

  wallet({ wallet, trader }: WalletDelta, shard: number): void {
    this.#wallets.push({ wallet, traderId: trader, shard });
  }

  position(delta: WalletPositionDelta, { ts }: Origin): void {
    const { wallet, marketId, currency, outcome, qty, cost } = delta;
    const key = `${wallet} ${marketId} ${currency} ${outcome}`;
    this.#positions.set(key, { wallet, marketId, currency, outcome, qty, cost, updatedTs: ts });
  }

  balance({ wallet, currency, total, reserved }: BalanceDelta, { ts }: Origin): void {
    this.#balances.set(`${wallet} ${currency}`, { wallet, currency, total, reserved, updatedTs: ts });
  }

  entry(delta: EntryDelta, shard: number, { ts, place, seq }: Origin): void {
    const { transactionId, wallet, counterparty, kind, currency, amount, ref } = delta;
    const clientRef = delta.clientRef ?? null;
    this.#entries.push({
      wallet,
      ts,
      place,
      seq,
      transactionId,
      counterparty,
      kind,
      currency,
      amount,
      ref,
      clientRef,
    });
    this.addToTotals(delta, shard);
  }

  /** Adds to the totals of a shard what entries put into wallets. */
  addToTotals({ counterparty, kind, currency, amount }: EntryAmount, shard: number): void {
    const side = sideOf(counterparty);
    const key = `${shard} ${currency} ${kind} ${side}`;
    const totals = this.#entryTotals.get(key) ?? { shard, currency, kind, side, amount: ZERO };
    totals.amount = add(totals.amount, amount);
    this.#entryTotals.set(key, totals);
  }

  transfer({ transfer }: TransferDelta, { ts, seq }: Origin): void {
    const { transferId, trader, wallet, direction, amount, status } = transfer;
    this.#transfers.push({
      transferId,
      traderId: trader,
      wallet,
      direction,
      currency: transfer.currency ?? "CASH",
      amount,
      status,
      available: transfer.available ?? null,
      clientTransferId: transfer.clientTransferId ?? null,
      ts,
      seq,
    });
  }

  restricted({ trader, restriction }: Omit<RestrictedDelta, "type">, shard: number): void {
    this.#restrictions.set(trader, { traderId: trader, shard, restriction: restriction ?? null });
  }

  async write(client: pg.ClientBase): Promise<void> {
    await writeRows(client, INSERT_WALLETS, this.#wallets);
    await writeRows(client, UPSERT_POSITIONS, [...this.#positions.values()]);
    await writeRows(client, UPSERT_BALANCES, [...this.#balances.values()]);
    await writeRows(client, INSERT_ENTRIES, this.#entries);
    await writeRows(client, ADD_ENTRY_TOTALS, [...this.#entryTotals.values()]);
    await writeRows(client, INSERT_TRANSFERS, this.#transfers);
    await writeRows(client, UPSERT_RESTRICTIONS, [...this.#restrictions.values()]);
  }
}

function sideOf(counterparty: Counterparty): EntryTotalsRow["side"] {
  if (counterparty === "house" || counterparty === "external") return counterparty;
  return counterparty.startsWith("market:") ? "market" : "wallet";
}

/** Returns the market on the other side of an entry, or `undefined` for any other counterparty. */
export function marketOf(counterparty: Counterparty): string | undefined {
  return counterparty.startsWith("market:") ? counterparty.slice("market:".length) : undefined;
}
