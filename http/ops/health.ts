/** Whether the parts that this gateway needs are there (contract section 9). */

import { sql } from "drizzle-orm";
import { LEDGER_SHARDS, ledgerActor } from "../../actors/actor.js";
import type { Database } from "../../db/database.js";
import { isProjecting, projectedSeqs } from "../../db/queries/projected.js";
import type { Exchange, Tail } from "../../stream/log/ports.js";
import { READ_ONLY } from "../trading/ledger-client.js";

/** `ready` is the whole verdict; the rest says why. */
export interface Readiness {
  readonly ready: boolean;
  readonly redis: boolean;
  readonly postgres: boolean;
  /** Ledger shards that answer, of all. */
  readonly ledgers: number;
  /** Entries of the ledgers that the projector has not written yet. */
  readonly projectorLag: number | null;
  /** False while no projector writes: none runs, or it has failed and waits to try again. */
  readonly projecting: boolean;
  /** Actors that were stopped because of a broken invariant. */
  readonly halted: readonly string[];
}

export interface HealthParts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly tail: Pick<Tail, "head">;
  readonly halted: () => Promise<ReadonlyMap<string, string>>;
}

const ASK_TIMEOUT_MS = 1_000;
/** A projector that is further behind than this serves reads that are minutes old. */
const MAX_LAG = 50_000;
/** Nobody's wallet: asking for it costs the ledger nothing. */
const NOBODY = "00000000-0000-0000-0000-000000000000";
const SHARDS = Array.from({ length: LEDGER_SHARDS }, (_, shard) => shard);

/** What a check finds, or `undefined` when it fails: which part failed is what the report tells. */
async function found<Value>(check: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await check();
  } catch {
    return undefined;
  }
}

/** Looks at everything once. */
export async function readiness(parts: HealthParts): Promise<Readiness> {
  const { db, exchange, halted } = parts;
  const stopped = await found(halted);
  const redis = stopped !== undefined;
  const postgres = (await found(() => db.execute(sql`select 1`))) !== undefined;
  const ask = (shard: number) =>
    exchange.ledger(shard, { kind: "wallet", wallet: NOBODY }, { ...READ_ONLY, timeoutMs: ASK_TIMEOUT_MS });
  const answers = redis ? await Promise.all(SHARDS.map((shard) => found(() => ask(shard)))) : [];
  const ledgers = answers.filter((answer) => answer !== undefined).length;
  const lag = redis && postgres ? await found(() => projectorLag(parts)) : undefined;
  const projecting = postgres && (await found(() => isProjecting(db))) === true;
  const complete = redis && postgres && ledgers === LEDGER_SHARDS && stopped.size === 0;
  return {
    ready: complete && lag !== undefined && lag <= MAX_LAG,
    redis,
    postgres,
    ledgers,
    projectorLag: lag ?? null,
    projecting,
    halted: [...(stopped?.keys() ?? [])],
  };
}

async function projectorLag({ db, tail }: HealthParts): Promise<number> {
  const actors = SHARDS.map(ledgerActor);
  const projected = await projectedSeqs(db, actors);
  const heads = await Promise.all(actors.map((actor) => tail.head(actor)));
  return heads.reduce((sum, head, index) => sum + head - (projected.get(actors[index] ?? "") ?? 0), 0);
}
