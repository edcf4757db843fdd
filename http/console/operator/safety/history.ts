/** The last hour of the figures of the exchange, which this page keeps for as long as it is open. */

import { signal } from "@preact/signals";
import type { z } from "zod";
import type { Health } from "../../../ops/health-route.js";
import { call } from "../../data/api.js";
import { session } from "../../data/session.js";

type HealthAnswer = z.infer<typeof Health>;

/** Figures at one time; null where a figure could not be read. */
export interface Sample {
  readonly ms: number;
  /** Shares of memory and disk that are left until new orders are refused, in per cent. */
  readonly memory: number | null;
  readonly disk: number | null;
  /** Number of ledger entries that the tables are behind. */
  readonly lag: number | null;
  /** Difference of the money report in dollars. */
  readonly difference: number | null;
  readonly quarantined: number | null;
  /** Number of repairs in the last day. */
  readonly repairs: number | null;
  /** Time by which the clock is held, in ms. */
  readonly held: number | null;
  /** Requests per second of the gateway that answers `/metrics`. */
  readonly requests: number | null;
}

const EVERY_MS = 5_000;
/** Time for which samples are kept, in ms. */
export const HOUR_MS = 60 * 60 * 1_000;
const COUNT = /^overround_http_request_seconds_count\{[^}]*\} (\S+)$/gm;

/** Samples of the last hour, the oldest first. */
export const samples = signal<readonly Sample[]>([]);

let counted: { readonly ms: number; readonly total: number } | undefined;
let isSampling = false;

/** Begins to sample, and goes on while an operator is signed in. Does nothing when it has begun. */
export function keepSampling(): void {
  if (isSampling) return;
  isSampling = true;
  void run();
}

/** Samples until no operator is signed in. A slow answer delays the next sample. */
async function run(): Promise<void> {
  while (session.peek()?.role === "operator") {
    await sample();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  isSampling = false;
  samples.value = [];
}

async function sample(): Promise<void> {
  const [health, requests] = await Promise.all([readHealth(), readRate()]);
  const ms = Date.now();
  const added = {
    ms,
    memory: health?.room?.memoryPercent ?? null,
    disk: health?.room?.diskPercent ?? null,
    lag: health?.projectorLag ?? null,
    difference: differenceOf(health),
    quarantined: health?.quarantined ?? null,
    repairs: health?.reconciled ?? null,
    held: health?.clock?.heldMs ?? null,
    requests,
  };
  samples.value = [...samples.peek().filter((old) => old.ms > ms - HOUR_MS), added];
}

function differenceOf(health: HealthAnswer | undefined): number | null {
  const difference = health?.difference ?? null;
  return difference === null ? null : Number(difference.CASH) + Number(difference.COIN);
}

async function readHealth(): Promise<HealthAnswer | undefined> {
  try {
    return await call("GET", "/admin/v1/health");
  } catch {
    // The plot shows a gap.
    return undefined;
  }
}

/** Returns the requests per second since the last sample; null where this port does not serve `/metrics`. */
async function readRate(): Promise<number | null> {
  try {
    const response = await fetch("/metrics", { cache: "no-store", signal: AbortSignal.timeout(EVERY_MS) });
    if (!response.ok) return null;
    const text = await response.text();
    const ms = Date.now();
    let total = 0;
    for (const [, value] of text.matchAll(COUNT)) total += Number(value);
    const before = counted;
    counted = { ms, total };
    // A gateway that has restarted, or another one, counts from another number.
    if (before === undefined || total < before.total) return null;
    return ((total - before.total) * 1_000) / (ms - before.ms);
  } catch {
    return null;
  }
}
