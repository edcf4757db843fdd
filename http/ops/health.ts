/** Readiness of the parts that this gateway needs (contract section 9.2). */

import { sql } from "drizzle-orm";
import { LEDGER_SHARDS, ledgerActor } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { countStrays } from "../../db/partitions/strays.js";
import { isProjecting, projectedPositions, reconciledSince } from "../../db/queries/projected.js";
import type { ClockReport, Log } from "../../stream/log/log.js";
import type { FormatReport } from "../../stream/log/formats.js";
import { entriesAfter, NOWHERE } from "../../stream/log/lineage.js";
import type { Exchange } from "../../stream/log/ports.js";
import type { LogGuard, Room } from "../../stream/services/log-guard.js";
import type { LogTail } from "../../stream/log/tail.js";
import { READ_ONLY } from "../trading/ledger-client.js";

/** Readiness report: `ready` is the verdict, the other fields are its reasons. */
export interface Readiness {
  readonly ready: boolean;
  readonly redis: boolean;
  readonly postgres: boolean;
  /** True while the replica of Postgres for lists answers; null when there is none. Without it, orders still pass. */
  readonly replica: boolean | null;
  /** Number of ledger shards that answer. */
  readonly ledgers: number;
  /**
   * Number of ledger entries that the projector has not written yet, or that the log has lost and the tables still have;
   * null when it cannot be read.
   */
  readonly projectorLag: number | null;
  /** False while no projector writes: none runs, or it has failed and waits to try again. */
  readonly projecting: boolean;
  /**
   * Number of repairs of the tables in the last day, after the log had lost entries that were in them; null when it
   * cannot be read. The table `reconciliations` names the actors.
   */
  readonly reconciled: number | null;
  /** Number of rows for whose month no partition exists; null when it cannot be read. */
  readonly strayRows: number | null;
  /**
   * Actors that stopped at a broken invariant. They leave the service ready, because no gateway can serve them and every
   * gateway serves all others.
   */
  readonly halted: readonly string[];
  /** Number of commands on which actors have failed; null when it cannot be read. */
  readonly quarantined: number | null;
  /** True while this gateway drains: it serves what arrives, and clients must go to another one. */
  readonly stopping: boolean;
  /** Actors that this gateway does not follow, because an entry of theirs is of a newer build or corrupt. */
  readonly unreadable: readonly string[];
  /**
   * Commands that are accepted, and the room that is left until new orders are refused; null when it cannot be read. A
   * lack of room leaves the service ready, because every gateway has the same log.
   */
  readonly room: (Room & { readonly diskPercent: number | null }) | null;
  /** Clocks that differ from engine time or from the clock of Redis; null when they cannot be read. */
  readonly clock: ClockReport | null;
  /**
   * Names of the processes that have reported within the last half minute, by role. A process that takes the place of
   * another one has its name.
   */
  readonly processes: Readonly<Record<string, readonly string[]>>;
  /** The format that is written, and the number of roles that announce each format. */
  readonly format: FormatReport;
}

export interface HealthParts {
  readonly db: Database;
  /** The replica from which lists are read, if there is one. */
  readonly replica?: Database | undefined;
  readonly exchange: Exchange;
  readonly tail: Pick<LogTail, "position" | "unreadable">;
  readonly formats: { report(): FormatReport };
  readonly clocks: Pick<Log, "clockReport">;
  readonly log: Pick<Log, "quarantineSize">;
  readonly guard: Pick<LogGuard, "room">;
  /** Returns the disk space that is left until new orders are refused, as a share; `undefined` when nobody reports it. */
  readonly diskRoom: () => number | undefined;
  readonly halted: () => Promise<ReadonlyMap<string, string>>;
  readonly processes: () => Readiness["processes"];
}

/** Longest wait for the answer of one part, in ms. */
const CHECK_MS = 1_000;
/** Time in ms for which a report is answered again; load balancers ask often. */
const REPORT_MS = 1_000;
/** Greatest accepted lag of the projector, in entries; beyond it, reads are minutes old. */
const MAX_LAG = 50_000;
/** Wallet that nobody owns; reading it costs the ledger nothing. */
const UNUSED_WALLET = "00000000-0000-0000-0000-000000000000";
const DAY_MS = 86_400_000;
const SHARDS = Array.from({ length: LEDGER_SHARDS }, (_, shard) => shard);

/**
 * Returns the result of a check, or `undefined` when it fails or takes too long; the report names the part that failed.
 */
export async function resultOf<Value>(check: () => Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CHECK_MS);
  });
  try {
    return await Promise.race([check(), late]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/** Returns a check that runs at most once a second, however often it is called. */
export function oncePerSecond<Report>(check: () => Promise<Report>): () => Promise<Report> {
  let report: Promise<Report> | undefined;
  return () => {
    if (report === undefined) {
      report = check();
      const forgetLater = (): void => void setTimeout(() => (report = undefined), REPORT_MS).unref();
      // The callers get the error of a check that fails.
      report.then(forgetLater, forgetLater);
    }
    return report;
  };
}

/** Checks all parts once. */
export async function readiness(parts: HealthParts): Promise<Readiness> {
  const { db, exchange, halted } = parts;
  const [stopped, row, replica] = await Promise.all([
    resultOf(halted),
    resultOf(async () => db.execute(sql`select 1`)),
    resultOf(async () => parts.replica?.execute(sql`select 1`)),
  ]);
  const redis = stopped !== undefined;
  const postgres = row !== undefined;
  const ask = (shard: number) =>
    exchange.ledger(shard, { kind: "wallet", wallet: UNUSED_WALLET }, { ...READ_ONLY, timeoutMs: CHECK_MS });
  const running = SHARDS.filter((shard) => stopped?.has(ledgerActor(shard)) !== true);
  const [answers, lag, found, reconciled, strays, clock, quarantined] = await Promise.all([
    redis ? Promise.all(running.map((shard) => resultOf(() => ask(shard)))) : [],
    redis && postgres ? resultOf(() => projectorLag(parts)) : undefined,
    postgres ? resultOf(() => isProjecting(db)) : undefined,
    postgres ? resultOf(() => reconciledSince(db, Date.now() - DAY_MS)) : undefined,
    postgres ? resultOf(() => countStrays(db)) : undefined,
    redis ? resultOf(() => parts.clocks.clockReport()) : undefined,
    redis ? resultOf(() => parts.log.quarantineSize()) : undefined,
  ]);
  const ledgers = answers.filter((answer) => answer !== undefined).length;
  const projecting = found === true;
  const complete = redis && postgres && ledgers === running.length;
  return {
    ready: complete && lag !== undefined && lag <= MAX_LAG,
    redis,
    postgres,
    replica: parts.replica === undefined ? null : replica !== undefined,
    ledgers,
    projectorLag: lag ?? null,
    projecting,
    reconciled: reconciled ?? null,
    strayRows: strays ?? null,
    halted: [...(stopped?.keys() ?? [])],
    quarantined: quarantined ?? null,
    stopping: false,
    unreadable: [...parts.tail.unreadable.keys()],
    room: redis ? roomOf(parts) : null,
    clock: clock ?? null,
    processes: parts.processes(),
    format: parts.formats.report(),
  };
}

function roomOf({ guard, diskRoom }: HealthParts): Readiness["room"] {
  const disk = diskRoom();
  return { ...guard.room, diskPercent: disk === undefined ? null : Math.round(1_000 * disk) / 10 };
}

async function projectorLag({ db, tail }: HealthParts): Promise<number> {
  const actors = SHARDS.map(ledgerActor);
  // The tables are read first: what they have beyond the heads, the log has lost.
  const projected = await projectedPositions(db, actors);
  const heads = await Promise.all(actors.map((actor) => tail.position(actor)));
  return heads.reduce((sum, head, index) => {
    const tables = projected.get(actors[index] ?? "") ?? NOWHERE;
    return sum + entriesAfter(tables, head) + entriesAfter(head, tables);
  }, 0);
}
