/**
 * The read model of a simulated week. It counts the rows that the projector writes, keeps what the exchange asks
 * Postgres for (client ids, settled markets), and checks every entry: seqs without a gap or a repeat, and each accepted
 * order once.
 */

import type { ActorId } from "../../../actors/actor.js";
import type { AcceptedOrder } from "../../../actors/ledger/commands.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import type { Transfer } from "../../../actors/ledger/types.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import type { RemovalList, RemovalPage, RemovalPlace } from "../../../stream/jobs/removal.js";
import type { Position } from "../../../stream/log/lineage.js";
import { continues } from "../../../stream/log/packing.js";
import type { AnyDelta, Entry } from "../../../stream/log/ports.js";
import { Seqs } from "../../actors/invariants.js";
import { isMarket } from "../journal.js";
import { Tally } from "./tally.js";

const HOUR_MS = 3_600_000;
/** Hours for which the first order of a client id is kept: longer than a client id belongs to its order. */
const CLIENT_ID_HOURS = 26;

/** Tables of the exchange that grow with its history. */
const TABLES = [
  "wallets",
  "orders",
  "fills",
  "entries",
  "transfers",
  "positions",
  "markets",
  "trades",
  "settlements",
  "projector_cursors",
] as const;
type Table = (typeof TABLES)[number];

export class ReadModel {
  readonly rows: Record<Table, number>;
  readonly cursors = new Map<ActorId, Position>();
  /** Accepted orders, operator's transactions and transfers in the log. */
  readonly effects = new Tally();
  /** Wallets that a reversal may have left with less than nothing. */
  readonly mayBeNegative = new Set<string>();
  readonly #seqs = new Seqs();
  /** First orders of client ids, by the hour of their acceptance, oldest first. */
  readonly #orders = new Map<number, Map<string, AcceptedOrder>>();
  readonly #transfers = new Map<string, Transfer>();
  readonly #transactions = new Map<string, string>();
  /** Keys of the positions in each market that is not settled. */
  readonly #positions = new Map<string, Set<string>>();
  /** Settled markets that were never removed, by the time of their settlement, and those that were restored. */
  readonly #settled = new Map<string, number>();
  readonly #restored = new Map<string, number>();
  readonly #removed = new Set<string>();

  constructor() {
    this.rows = Object.fromEntries(TABLES.map((table) => [table, 0])) as Record<Table, number>;
  }

  /** Writes the rows of some entries. Throws when an entry is missing, or contradicts those before. */
  write(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const { actor, seq, resumed } = entry;
      const last = this.cursors.get(actor);
      if (seq <= (last?.seq ?? 0)) continue;
      if (!continues(entry, last?.seq ?? 0))
        throw new Error(`${actor}: entry ${seq} after ${last?.seq ?? 0} in the read model`);
      if (last === undefined) this.rows.projector_cursors += 1;
      this.cursors.set(actor, { seq, lineage: resumed?.lineage ?? last?.lineage ?? "" });
      for (const batch of entry.batches) {
        this.#seqs.check(actor, batch);
        for (const delta of batch.deltas) this.#take(actor, delta, batch.ts);
      }
    }
  }

  #take(actor: ActorId, delta: AnyDelta, ts: number): void {
    if (isMarket(actor)) this.#takeMarket(actor.slice("market:".length), delta as MarketDelta, ts);
    else this.#takeLedger(delta as LedgerDelta, ts);
  }

  #takeMarket(marketId: string, delta: MarketDelta, ts: number): void {
    switch (delta.type) {
      case "created":
        this.rows.markets += 1;
        return;
      case "trade":
        this.rows.trades += 1;
        return;
      case "graded":
        this.rows.settlements += 1;
        return;
      case "reversal":
        this.mayBeNegative.add(delta.wallet);
        return;
      case "lifecycle":
        if (delta.status === "SETTLED") this.#positions.delete(marketId);
        if (this.#restored.has(marketId)) return;
        if (delta.status === "SETTLED") this.#settled.set(marketId, ts);
        else this.#settled.delete(marketId);
        return;
      default:
    }
  }

  #takeLedger(delta: LedgerDelta, ts: number): void {
    switch (delta.type) {
      case "wallet":
        this.rows.wallets += 1;
        return;
      case "accepted": {
        const { wallet, clientId, order, replaces, digest = "" } = delta;
        this.rows.orders += 1;
        this.effects.add(order.orderId);
        if (clientId === undefined || replaces !== undefined) return;
        this.#idsOf(ts).set(`${wallet} ${clientId}`, { orderId: order.orderId, digest, ts });
        return;
      }
      case "order":
        if (delta.kind === "fill") this.rows.fills += 1;
        return;
      case "position": {
        if (delta.settled === true) return;
        const { marketId, wallet, currency, outcome } = delta;
        const known = this.#positions.get(marketId) ?? new Set();
        this.#positions.set(marketId, known);
        const { size } = known;
        known.add(`${wallet} ${currency} ${outcome}`);
        this.rows.positions += known.size - size;
        return;
      }
      case "entry":
        this.rows.entries += 1;
        if (delta.clientRef === undefined) return;
        this.effects.add(delta.transactionId);
        this.#transactions.set(`${delta.wallet} ${delta.clientRef}`, delta.transactionId);
        return;
      case "transfer": {
        const { transfer } = delta;
        this.rows.transfers += 1;
        this.effects.add(transfer.transferId);
        this.#transfers.set(`${transfer.trader} ${transfer.clientTransferId ?? ""}`, transfer);
        return;
      }
      default:
    }
  }

  #idsOf(ts: number): Map<string, AcceptedOrder> {
    const hour = Math.floor(ts / HOUR_MS);
    let ids = this.#orders.get(hour);
    if (ids === undefined) {
      ids = new Map();
      this.#orders.set(hour, ids);
      for (const other of this.#orders.keys()) if (other < hour - CLIENT_ID_HOURS) this.#orders.delete(other);
    }
    return ids;
  }

  firstOrder(wallet: string, clientId: string): AcceptedOrder | undefined {
    const key = `${wallet} ${clientId}`;
    for (const ids of [...this.#orders.values()].reverse()) {
      const first = ids.get(key);
      if (first !== undefined) return first;
    }
    return undefined;
  }

  firstTransfer(trader: string, clientTransferId: string): Transfer | undefined {
    return this.#transfers.get(`${trader} ${clientTransferId}`);
  }

  firstTransaction(wallet: string, clientRef: string): string | undefined {
    return this.#transactions.get(`${wallet} ${clientRef}`);
  }

  /** Returns the first markets of a list after a place and before a time, as the query of Postgres does. */
  removable(list: RemovalList, after: RemovalPlace, beforeTs: number, limit: number): RemovalPage {
    const markets = list === "settled" ? this.#settled : this.#restored;
    const places: RemovalPlace[] = [];
    for (const [marketId, ts] of markets) {
      const place = { ts, marketId };
      if (ts < beforeTs && compare(after, place) < 0) places.push(place);
    }
    const page = places.sort(compare).slice(0, limit);
    return { markets: page, next: page.length < places.length ? page.at(-1) : undefined };
  }

  /** Records that a market is removed, or, with `undefined`, that it is about to be restored. */
  mark(marketId: string, removed: string | undefined, nowMs: number): void {
    this.#settled.delete(marketId);
    if (removed === undefined) {
      this.#removed.delete(marketId);
      this.#restored.set(marketId, nowMs);
    } else {
      this.#removed.add(marketId);
      this.#restored.delete(marketId);
    }
  }

  isRemoved(marketId: string): boolean {
    return this.#removed.has(marketId);
  }

  get removed(): number {
    return this.#removed.size;
  }
}

function compare(a: RemovalPlace, b: RemovalPlace): number {
  return a.ts - b.ts || (a.marketId < b.marketId ? -1 : a.marketId > b.marketId ? 1 : 0);
}
