/** Whether the parts that this gateway needs are there (contract section 9). */

import { sql } from "drizzle-orm";
import { LEDGER_SHARDS, ledgerActor } from "../actors/actor.js";
import type { Database } from "../db/database.js";
import { projectedSeqs } from "../db/queries/projected.js";
import type { Exchange, Tail } from "../stream/log/types.js";
import { ONLY_LOOKING } from "./wallets.js";

/** `ready` is the whole verdict; the rest says why. */
export interface Readiness {
  readonly ready: boolean;
  readonly redis: boolean;
  readonly postgres: boolean;
  /** Ledger shards that answer, of all. */
  readonly ledgers: number;
  /** Entries of the ledgers that the projector has not written yet. */
  readonly projectorLag: number | null;
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

async function holds(check: () => Promise<unknown>): Promise<boolean> {
  try {
    await check();
    return true;
  } catch {
    // That it fails is the answer; which part it was stands beside it.
    return false;
  }
}

/** Looks at everything once. */
export async function readiness({ db, exchange, tail, halted }: HealthParts): Promise<Readiness> {
  let stopped: readonly string[] = [];
  let lag: number | null = null;
  const redis = await holds(async () => {
    stopped = [...(await halted()).keys()];
  });
  const postgres = await holds(() => db.execute(sql`select 1`));
  const answers = redis
    ? await Promise.all(
        SHARDS.map((shard) =>
          holds(() =>
            exchange.ledger(
              shard,
              { kind: "wallet", wallet: NOBODY },
              { ...ONLY_LOOKING, timeoutMs: ASK_TIMEOUT_MS },
            ),
          ),
        ),
      )
    : [];
  if (redis && postgres) {
    await holds(async () => {
      const actors = SHARDS.map(ledgerActor);
      const projected = await projectedSeqs(db, actors);
      const heads = await Promise.all(actors.map((actor) => tail.head(actor)));
      lag = heads.reduce((sum, head, index) => sum + head - (projected.get(actors[index] ?? "") ?? 0), 0);
    });
  }
  const ledgers = answers.filter(Boolean).length;
  const ready =
    redis && postgres && ledgers === LEDGER_SHARDS && lag !== null && lag <= MAX_LAG && stopped.length === 0;
  return { ready, redis, postgres, ledgers, projectorLag: lag, halted: stopped };
}
