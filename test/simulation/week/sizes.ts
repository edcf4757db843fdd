/** Sizes of a simulated exchange: the bytes in the log by kind, and the cold take-over of every actor in it. */

import { type ActorId, PARTITIONS, partitionOf } from "../../../actors/actor.js";
import type { LedgerState } from "../../../actors/ledger/state.js";
import type { MarketState } from "../../../actors/market/state.js";
import { CURRENCIES } from "../../../actors/market/types.js";
import { silentLogger } from "../../../stream/log/logger.js";
import type { EntriesOf, EntryRead, Snapshot } from "../../../stream/log/log.js";
import { actorOf } from "../../../stream/runtime/actors.js";
import { loadActor } from "../../../stream/runtime/recovery.js";
import { checkLedger, checkMarket, checkMoney } from "../../actors/invariants.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import type { MemoryStore } from "../../support/log/memory-store.js";
import { isMarket } from "../journal.js";

/** Kinds of data in the log. Those of a market and of a ledger differ in what makes them grow. */
export const LOG_KINDS = [
  "mailboxes",
  "market entries",
  "ledger entries",
  "market snapshots",
  "ledger snapshots",
  "heads in the log",
  "heads of removed markets",
  "leases, fences, roles",
] as const;
export type LogKind = (typeof LOG_KINDS)[number];

export type LogSizes = Record<LogKind, number>;

/** Returns the bytes of keys and values in the log. Redis adds its own structures to each. */
export function logSizes(store: MemoryStore): LogSizes {
  const sizes = Object.fromEntries(LOG_KINDS.map((kind) => [kind, 0])) as LogSizes;
  for (const [key, texts] of store.contents())
    sizes[kindOf(key, texts)] += texts.reduce((sum, { length }) => sum + length, key.length);
  return sizes;
}

/** Returns the mean of several sizes. */
export function meanOf(sizes: readonly LogSizes[]): LogSizes {
  const mean = Object.fromEntries(LOG_KINDS.map((kind) => [kind, 0])) as LogSizes;
  for (const size of sizes) for (const kind of LOG_KINDS) mean[kind] += size[kind] / sizes.length;
  return mean;
}

function kindOf(key: string, texts: readonly string[]): LogKind {
  const name = key.slice(key.indexOf("}:") + 2);
  const isOfMarket = name.includes("market:");
  if (name.startsWith("mailbox:")) return "mailboxes";
  if (name.startsWith("deltas:")) return isOfMarket ? "market entries" : "ledger entries";
  if (name.startsWith("snapshot:") || name.startsWith("parts:"))
    return isOfMarket ? "market snapshots" : "ledger snapshots";
  if (name.startsWith("head:"))
    return texts.includes("removed") ? "heads of removed markets" : "heads in the log";
  return name === "actors" ? "heads in the log" : "leases, fences, roles";
}

/** Parts of saved ledgers, by what they hold. */
export const LEDGER_PARTS = [
  "wallets and orders",
  "client ids of ten minutes",
  "client ids of format 1",
  "filters of a day",
  "filter for ever",
  "transfers and references of a day",
  "answers",
  "sources",
  "other",
] as const;
export type LedgerPart = (typeof LEDGER_PARTS)[number];

/** State of every actor in the log, after a cold take-over. */
export interface TakeOver {
  readonly ms: number;
  /** Bytes of the snapshots, and of the entries after them. */
  readonly snapshotBytes: number;
  readonly entryBytes: number;
  readonly markets: number;
  readonly openOrders: number;
  readonly accounts: number;
  readonly wallets: number;
  readonly ledgerParts: Record<LedgerPart, number>;
  readonly largest: { readonly actor: string; readonly bytes: number; readonly parts: number };
}

/** A connection to the log that counts what a take-over reads. */
class CountingLog extends MemoryLog {
  snapshotBytes = 0;
  entryBytes = 0;

  override async readSnapshot(
    partition: string,
    actor: ActorId,
    which: "latest" | "previous",
  ): Promise<Snapshot | undefined> {
    const snapshot = await super.readSnapshot(partition, actor, which);
    this.snapshotBytes += snapshot?.body.length ?? 0;
    return snapshot;
  }

  override async readParts(
    partition: string,
    actor: ActorId,
    hashes: readonly string[],
  ): Promise<readonly (string | undefined)[]> {
    const parts = await super.readParts(partition, actor, hashes);
    for (const part of parts) this.snapshotBytes += part?.length ?? 0;
    return parts;
  }

  override async readEntries(reads: readonly EntryRead[], limit: number): Promise<readonly EntriesOf[]> {
    const found = await super.readEntries(reads, limit);
    for (const { entries } of found) for (const { body } of entries) this.entryBytes += body.length;
    return found;
  }
}

/**
 * Recovers every actor in the log, and checks the money, the contracts and the wallets of all of them (invariants 1 to
 * 4). Nothing may be in flight between actors.
 */
export async function takeOver(store: MemoryStore, mayBeNegative: ReadonlySet<string>): Promise<TakeOver> {
  const log = new CountingLog(store);
  const beganMs = performance.now();
  const instances = [];
  for (const partition of PARTITIONS) {
    for (const { actor } of await log.scan(partition)) {
      const { instance } = await loadActor({ log, actorOf, logger: silentLogger }, partitionOf(actor), actor);
      instances.push(instance);
    }
  }
  const ms = performance.now() - beganMs;
  const ledgerParts = Object.fromEntries(LEDGER_PARTS.map((part) => [part, 0])) as Record<LedgerPart, number>;
  const markets: MarketState[] = [];
  const ledgers: LedgerState[] = [];
  let largest = { actor: "", bytes: 0, parts: 0 };
  for (const instance of instances) {
    if (isMarket(instance.id)) {
      markets.push(instance.state as MarketState);
      continue;
    }
    ledgers.push(instance.state as LedgerState);
    const parts = [...instance.parts("inbox"), ...instance.parts("state")];
    for (const part of parts) ledgerParts[ledgerPartOf(part)] += part.length;
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    if (bytes > largest.bytes) largest = { actor: instance.id, bytes, parts: parts.length };
  }
  for (const state of markets) checkMarket(state);
  for (const state of ledgers) checkLedger(state, mayBeNegative);
  for (const currency of CURRENCIES) checkMoney(markets, ledgers, currency, 0);
  await log.close();
  return {
    ...{ ms, snapshotBytes: log.snapshotBytes, entryBytes: log.entryBytes, markets: markets.length },
    ...{ ledgerParts, largest },
    openOrders: markets.reduce((sum, { resting, held }) => sum + resting.size + held.size, 0),
    accounts: ledgers.reduce((sum, state) => sum + accountsOf(state), 0),
    wallets: ledgers.reduce((sum, { wallets }) => sum + wallets.size, 0),
  };
}

function accountsOf({ wallets }: LedgerState): number {
  let accounts = 0;
  for (const wallet of wallets.values()) accounts += wallet.accounts.size;
  return accounts;
}

const PART_NAMES: readonly (readonly [prefix: string, part: LedgerPart])[] = [
  ['["wallets"', "wallets and orders"],
  ['["orders"', "wallets and orders"],
  ['["recent"', "client ids of ten minutes"],
  ['["clientIds"', "client ids of format 1"],
  ['["filter",-1', "filter for ever"],
  ['["filter"', "filters of a day"],
  ['["transfers"', "transfers and references of a day"],
  ['["clientRefs"', "transfers and references of a day"],
  ['["answers"', "answers"],
  ['["sources"', "sources"],
];

function ledgerPartOf(part: string): LedgerPart {
  return PART_NAMES.find(([prefix]) => part.startsWith(prefix))?.[1] ?? "other";
}
