/**
 * The ids by which a ledger recognizes repeats (contract section 5.7). The ledger itself answers a repeat of the last ten
 * minutes for a client id of an order, and of the last day for a transfer or an operator's transaction. Of older ids it
 * keeps filters: a surely new id needs no further question, and any other id is looked up in the tables by the caller.
 */

import type { FilterBytes } from "../../actor.js";
import { CLIENT_ID_MS } from "../../limits.js";
import { unreachable } from "../../unreachable.js";
import type { ForgottenDelta } from "../deltas.js";
import type { Transfer } from "../types.js";
import { type IdKey, keyOf } from "./digest.js";
import { type FilterPage, IdFilter } from "./filter.js";
import { type FirstOrder, MINUTE_MS, RecentIds } from "./recent.js";

const HOUR_MS = 60 * MINUTE_MS;
/** Time for which the ledger itself answers the repeat of an order. */
const RECENT_MS = 10 * MINUTE_MS;
/** Part of that time for which it does so even if the order is sent again a while after its id was looked up. */
const SURELY_RECENT_MS = RECENT_MS / 2;
/** Maximum size of the filters of one hour. At 10,000 accepted orders a second over the 16 shards, a shard has as much. */
const MAX_HOUR_BYTES = 6 * 1_024 * 1_024;
/** Maximum size of the filters of transfers and operator's transactions, which are kept for ever. */
const MAX_LASTING_BYTES = 4 * 1_024 * 1_024;

/** Room that a page of a filter takes in Redis, as a ratio to its bytes: base64, and the rounding of the allocator. */
const STORED_RATIO = 1.35;

/** A value that was remembered at `ts` (Unix ms), 0 if a snapshot of format 1 does not say when. */
interface Remembered<Value> {
  readonly value: Value;
  readonly ts: number;
}

/** Knowledge of an id: the first use of it, or `new` for surely none, or `uncertain`. */
export type Known<First> = First | "new" | "uncertain";

/** Hour of the filter that is kept for ever, in saved parts. */
const LASTING = -1;

export type SavedIdPart =
  readonly ["recent", minute: number, page: string] | readonly ["filter", hour: number, ...page: FilterPage];

/** Values by key in the order in which they were remembered. */
class RememberedValues<Value> {
  readonly #values = new Map<string, Remembered<Value>>();

  get(key: string): Value | undefined {
    return this.#values.get(key)?.value;
  }

  set(key: string, value: Value, ts: number): void {
    this.#values.set(key, { value, ts });
  }

  get oldestTs(): number | undefined {
    const [oldest] = this.#values.values();
    return oldest?.ts;
  }

  forgetBefore(before: number): void {
    for (const [key, { ts }] of this.#values) {
      if (ts >= before) return;
      this.#values.delete(key);
    }
  }

  *[Symbol.iterator](): Generator<readonly [key: string, value: Value, ts: number]> {
    for (const [key, { value, ts }] of this.#values) yield [key, value, ts];
  }
}

export class KnownIds {
  readonly #recent = new RecentIds();
  /** Filters of the client ids of orders by hour since the epoch, oldest first. */
  readonly #hours = new Map<number, IdFilter>();
  /** Transfers by trader and clientTransferId. */
  readonly transfers = new RememberedValues<Transfer>();
  /** Ids of operator transactions, by trader and clientRef. */
  readonly clientRefs = new RememberedValues<string>();
  readonly #lasting = new IdFilter(MAX_LASTING_BYTES);
  /** True once ids have left the memory: an id that is not in it may still be known. */
  forgets = false;

  /** Returns the first order of a client id of the last hours. */
  orderOf(wallet: string, clientId: string): Known<FirstOrder> {
    if (this.#hours.size === 0) return "new";
    const key = keyOf(wallet, clientId);
    for (const filter of this.#hours.values())
      if (filter.mayHave(key)) return this.#recent.find(key) ?? (this.forgets ? "uncertain" : "new");
    return "new";
  }

  /** Returns the time (Unix ms) since which `orderOf` has every order, also for the next minutes. */
  ordersSince(nowMs: number): number {
    return nowMs - SURELY_RECENT_MS;
  }

  addOrder(wallet: string, clientId: string, first: FirstOrder, ts: number): void {
    const key = keyOf(wallet, clientId);
    this.#recent.add(key, first, ts);
    this.#filterOf(Math.floor(ts / HOUR_MS)).add(key);
  }

  transferOf(trader: string, clientTransferId: string): Known<Transfer> {
    const key = pairKey(trader, clientTransferId);
    return this.transfers.get(key) ?? this.#ofLasting(keyOf("transfer", key));
  }

  /** Adds a transfer with a clientTransferId under its `pairKey`. */
  addTransfer(key: string, transfer: Transfer, ts: number): void {
    this.transfers.set(key, transfer, ts);
    this.#lasting.add(keyOf("transfer", key));
  }

  /** Restores a transfer of a snapshot; the time is absent in format 1, and the filter may be restored later. */
  restoreTransfer(key: string, transfer: Transfer, ts?: number): void {
    if (ts === undefined) this.addTransfer(key, transfer, 0);
    else this.transfers.set(key, transfer, ts);
  }

  transactionOf(trader: string, clientRef: string): Known<string> {
    const key = pairKey(trader, clientRef);
    return this.clientRefs.get(key) ?? this.#ofLasting(keyOf("transaction", key));
  }

  /** Adds a transaction of an operator with a clientRef under its `pairKey`. */
  addTransaction(key: string, transactionId: string, ts: number): void {
    this.clientRefs.set(key, transactionId, ts);
    this.#lasting.add(keyOf("transaction", key));
  }

  restoreTransaction(key: string, transactionId: string, ts?: number): void {
    if (ts === undefined) this.addTransaction(key, transactionId, 0);
    else this.clientRefs.set(key, transactionId, ts);
  }

  #ofLasting(key: IdKey): "new" | "uncertain" {
    return this.forgets && this.#lasting.mayHave(key) ? "uncertain" : "new";
  }

  /** Returns the time at which the next ids leave the memory (Unix ms), if there are any. At most once a minute. */
  get deadline(): number | undefined {
    const oldestMinute = this.#recent.oldestMs;
    const ends = oldestMinute === undefined ? [] : [oldestMinute + MINUTE_MS + RECENT_MS];
    if (this.forgets) {
      const [hour] = this.#hours.keys();
      const oldestHour = hour === undefined ? undefined : hour * HOUR_MS;
      const hours = [this.transfers.oldestTs, this.clientRefs.oldestTs, oldestHour];
      for (const ts of hours)
        if (ts !== undefined) ends.push((Math.floor(ts / HOUR_MS) + 1) * HOUR_MS + CLIENT_ID_MS);
    }
    return ends.length === 0 ? undefined : Math.min(...ends);
  }

  /** Returns the delta that forgets what the memory need not have at `nowMs`, in whole minutes and hours. */
  forgottenAt(nowMs: number): ForgottenDelta {
    return {
      type: "forgotten",
      recentBefore: Math.floor(nowMs / MINUTE_MS) * MINUTE_MS - RECENT_MS,
      rememberedBefore: Math.floor(nowMs / HOUR_MS) * HOUR_MS - CLIENT_ID_MS,
    };
  }

  /** Forgets the ids from before these times. The filter of an hour goes when the whole hour is over. */
  forget({ recentBefore, rememberedBefore }: Omit<ForgottenDelta, "type">): void {
    this.forgets = true;
    this.#recent.forgetBefore(recentBefore);
    this.transfers.forgetBefore(rememberedBefore);
    this.clientRefs.forgetBefore(rememberedBefore);
    for (const hour of this.#hours.keys()) {
      if ((hour + 1) * HOUR_MS > rememberedBefore) break;
      this.#hours.delete(hour);
    }
  }

  get filterBytes(): FilterBytes {
    const filters = [this.#lasting, ...this.#hours.values()];
    const memory = filters.reduce((sum, { bytes }) => sum + bytes, 0);
    const changing = filters.reduce((sum, { changingBytes }) => sum + changingBytes, 0);
    return { memory, snapshots: (memory + changing) * STORED_RATIO };
  }

  /** Yields the recent ids and the filters; the transfers and transactions in memory are saved by themselves. */
  *parts(): Generator<SavedIdPart> {
    for (const [minute, page] of this.#recent.pages()) yield ["recent", minute, page];
    for (const [hour, filter] of this.#hours)
      for (const page of filter.pages()) yield ["filter", hour, ...page];
    for (const page of this.#lasting.pages()) yield ["filter", LASTING, ...page];
  }

  addPart(part: SavedIdPart): void {
    switch (part[0]) {
      case "recent":
        this.#recent.addPage(part[1], part[2]);
        return;
      case "filter": {
        const [, hour, ...page] = part;
        this.#filterOf(hour).addPage(page);
        return;
      }
      default:
        unreachable(part);
    }
  }

  #filterOf(hour: number): IdFilter {
    if (hour === LASTING) return this.#lasting;
    let filter = this.#hours.get(hour);
    if (filter === undefined) {
      filter = new IdFilter(MAX_HOUR_BYTES, this.#hours.get(hour - 1)?.ids);
      this.#hours.set(hour, filter);
    }
    return filter;
  }
}

export function pairKey(owner: string, clientId: string): string {
  return `${owner}:${clientId}`;
}
