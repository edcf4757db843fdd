/** Public status of the service, for people: what works, how far the lists are behind, and what is announced. */

import { LEDGER_SHARDS } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { listChanges, type Change } from "../../db/queries/operator/changelog.js";
import type { Reference } from "../reference/reference.js";
import type { Readiness } from "./health.js";
import { resultOf } from "./health.js";

/** Verdicts on the whole service, from the best to the worst. */
export const SERVICE_STATES = ["UP", "DEGRADED", "MAINTENANCE", "DOWN"] as const;
export type ServiceState = (typeof SERVICE_STATES)[number];

/** Commands that pass: all of them, those of some traders or markets, cancels, or none. */
export const TRADING_STATES = ["OPEN", "PARTLY", "CANCELS", "CLOSED"] as const;
export type TradingState = (typeof TRADING_STATES)[number];

/** Lists of orders, fills, transactions and markets: current, behind, or away. */
export const LIST_STATES = ["CURRENT", "BEHIND", "AWAY"] as const;
export type ListState = (typeof LIST_STATES)[number];

export interface ServiceStatus {
  readonly state: ServiceState;
  readonly trading: TradingState;
  readonly lists: ListState;
  /** True while people can sign in, and change keys and accounts. */
  readonly accounts: boolean;
  /** Number of ledger entries that the lists are behind; null when it cannot be read. */
  readonly lag: number | null;
  /** Current maintenance; null when there is none, or when none is known. */
  readonly maintenance: { readonly message: string | null; readonly sinceTs: number } | null;
  /** Announcements, the last to take effect first, as they were read at `announcementsTs`. */
  readonly announcements: readonly Change[];
  /** Time of the last successful read of the announcements, in Unix ms; null when there was none. */
  readonly announcementsTs: number | null;
  readonly ts: number;
}

export interface StatusParts {
  readonly db: Database;
  readonly reference: Pick<Reference, "maintenance">;
  readonly readiness: () => Promise<Readiness>;
}

/** Number of announcements in the status. */
const ANNOUNCEMENTS = 20;
/** Number of ledger entries from which the lists count as behind; a busy exchange is always a few entries behind. */
const BEHIND_ENTRIES = 1_000;

/**
 * Returns a function that reads the status. It never rejects, and needs neither Redis nor Postgres: without them, it
 * answers with their absence, and with the announcements that it has read before.
 */
export function serviceStatus({ db, reference, readiness }: StatusParts): () => Promise<ServiceStatus> {
  let known: { readonly announcements: readonly Change[]; readonly announcementsTs: number | null } = {
    announcements: [],
    announcementsTs: null,
  };
  return async () => {
    const report = await readiness();
    const [window, read] = await Promise.all([
      resultOf(() => reference.maintenance()),
      report.postgres ? resultOf(() => listChanges(db, { limit: ANNOUNCEMENTS })) : undefined,
    ]);
    const ts = Date.now();
    if (read !== undefined) known = { announcements: read.items, announcementsTs: ts };
    const maintenance = window === undefined ? null : { message: window.message, sinceTs: window.begunTs };
    const trading = tradingOf(report, maintenance !== null);
    const lists = listsOf(report);
    return {
      state: stateOf(trading, lists, maintenance !== null),
      trading,
      lists,
      accounts: report.postgres && report.redis,
      lag: report.projectorLag,
      maintenance,
      ...known,
      ts,
    };
  };
}

function tradingOf({ redis, ledgers, room, halted }: Readiness, isMaintained: boolean): TradingState {
  if (!redis || ledgers === 0 || room?.accepts === "nothing") return "CLOSED";
  if (isMaintained || room?.accepts === "cancels") return "CANCELS";
  return ledgers < LEDGER_SHARDS || halted.length > 0 ? "PARTLY" : "OPEN";
}

function listsOf({ redis, postgres, replica, projecting, projectorLag }: Readiness): ListState {
  if (!redis || !postgres || replica === false) return "AWAY";
  return projecting && projectorLag !== null && projectorLag < BEHIND_ENTRIES ? "CURRENT" : "BEHIND";
}

function stateOf(trading: TradingState, lists: ListState, isMaintained: boolean): ServiceState {
  if (trading === "CLOSED") return "DOWN";
  if (isMaintained) return "MAINTENANCE";
  return trading === "OPEN" && lists === "CURRENT" ? "UP" : "DEGRADED";
}
