/**
 * The last hour of the health of the exchange. In each interval one gateway takes a sample, and all gateways share it, so
 * that any of them answers with the whole hour, also one that has just started.
 */

import { z } from "zod";
import type { Clock } from "../../stream/log/clock.js";
import type { ProcessReport } from "../../stream/services/process-reports.js";
import type { SharedSamples } from "../../stream/services/shared-samples.js";
import { MoneyText, Ms } from "../request/fields.js";
import type { Difference } from "./difference.js";
import type { Readiness } from "./health.js";

/** Interval of the samples, in ms. */
export const SAMPLE_MS = 30_000;
/** Time for which samples are kept, in ms. */
const HOUR_MS = 3_600_000;
/** Number of samples that are kept in Redis. */
export const KEPT_SAMPLES = HOUR_MS / SAMPLE_MS;
/** Time from the start of a gateway to its first sample, in ms: before, it does not follow every part yet. */
const FIRST_MS = 5_000;
/** Time in ms after a sample within which no gateway takes another one. */
const CLAIM_MS = 0.9 * SAMPLE_MS;

const Count = z.int().nullable();
/** Figures of the health at one time; a figure that could not be read is null. */
export const HealthSample = z.strictObject({
  ts: Ms,
  ready: z.boolean(),
  redis: z.boolean(),
  postgres: z.boolean(),
  replica: z.boolean().nullable(),
  processes: z.record(z.string(), z.int()),
  format: z.int(),
  ledgers: z.int(),
  halted: z.int(),
  projecting: z.boolean(),
  projectorLag: Count,
  difference: z.strictObject({ CASH: MoneyText, COIN: MoneyText }).nullable(),
  accepts: z.enum(["all", "cancels", "nothing"]).nullable(),
  memoryPercent: z.number().nullable(),
  diskPercent: z.number().nullable(),
  quarantined: Count,
  reconciled: Count,
  heldMs: z.number().nullable(),
  requestsPerSecond: z.number().nullable(),
});
export type HealthSample = z.infer<typeof HealthSample>;

/** Returns the sample of a report. `processes` counts the processes of each role. */
function sampleOf(
  ts: number,
  report: Readiness,
  difference: Difference,
  requestsPerSecond: number | null,
): HealthSample {
  const { ready, redis, postgres, replica, ledgers, projecting, projectorLag, quarantined, reconciled } =
    report;
  return {
    ts,
    ready,
    redis,
    postgres,
    replica,
    processes: Object.fromEntries(
      Object.entries(report.processes).map(([role, names]) => [role, names.length]),
    ),
    format: report.format.active,
    ledgers,
    halted: report.halted.length,
    projecting,
    projectorLag,
    difference,
    accepts: report.room?.accepts ?? null,
    memoryPercent: report.room?.memoryPercent ?? null,
    diskPercent: report.room?.diskPercent ?? null,
    quarantined,
    reconciled,
    heldMs: report.clock?.heldMs ?? null,
    requestsPerSecond,
  };
}

/** Returns a sample of any gateway. That of another build may have other figures, and counts for nothing. */
function readSample(body: string): HealthSample | undefined {
  try {
    return HealthSample.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/**
 * Returns a reader of the requests per second that all gateways have answered since its last call; null at the first
 * call, and while no gateway reports requests.
 */
export function requestRate(reports: () => readonly ProcessReport[]): (nowMs: number) => number | null {
  let before: { readonly ms: number; readonly totals: ReadonlyMap<string, number> } | undefined;
  return (nowMs) => {
    const totals = new Map<string, number>();
    for (const { process, figures } of reports())
      if (figures.requests_total !== undefined) totals.set(process, figures.requests_total);
    const last = before;
    before = { ms: nowMs, totals };
    if (last === undefined || nowMs <= last.ms || totals.size === 0) return null;
    // A process that was not known before counts from now on.
    const answered = [...totals].reduce(
      (sum, [id, total]) => sum + total - (last.totals.get(id) ?? total),
      0,
    );
    return Math.round((answered * 10_000) / (nowMs - last.ms)) / 10;
  };
}

export interface HealthHistoryOptions {
  readonly shared: Pick<SharedSamples, "claim" | "add" | "read">;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly readiness: () => Promise<Readiness>;
  readonly difference: (nowMs: number) => Promise<Difference>;
  readonly reports: () => readonly ProcessReport[];
  readonly onError: (error: unknown) => void;
}

export class HealthHistory {
  readonly #options: HealthHistoryOptions;
  readonly #rate: (nowMs: number) => number | null;
  /** Samples by their times. */
  readonly #samples = new Map<number, HealthSample>();
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(options: HealthHistoryOptions) {
    this.#options = options;
    this.#rate = requestRate(options.reports);
  }

  /** Reads the samples of other gateways, and samples from then on. Never rejects. */
  async start(): Promise<void> {
    await this.#receive();
    this.#schedule(FIRST_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Returns the samples of the last hour, oldest first. */
  async read(): Promise<readonly HealthSample[]> {
    await this.#receive();
    this.#forget();
    return [...this.#samples.values()].toSorted((a, b) => a.ts - b.ts);
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#sample()
        .catch(this.#options.onError)
        .finally(() => this.#schedule(SAMPLE_MS));
    });
  }

  async #sample(): Promise<void> {
    const { clock, readiness, difference, shared } = this.#options;
    await this.#receive();
    this.#forget();
    const nowMs = clock.now();
    const requests = this.#rate(nowMs);
    // Without Redis, this gateway samples for itself.
    if (!(await shared.claim(CLAIM_MS).catch(() => true))) return;
    const sample = sampleOf(nowMs, await readiness(), await difference(nowMs), requests);
    this.#samples.set(nowMs, sample);
    await shared.add(JSON.stringify(sample)).catch(() => undefined);
  }

  /** Reads what other gateways have sampled. While Redis does not answer, this gateway has its own samples. */
  async #receive(): Promise<void> {
    const bodies = await this.#options.shared.read().catch(() => []);
    for (const body of bodies) {
      const sample = readSample(body);
      if (sample !== undefined) this.#samples.set(sample.ts, sample);
    }
  }

  /** Forgets what is older than an hour, and what a clock that was ahead has dated later than now. */
  #forget(): void {
    const nowMs = this.#options.clock.now();
    for (const ts of this.#samples.keys())
      if (ts <= nowMs - HOUR_MS || ts > nowMs + SAMPLE_MS) this.#samples.delete(ts);
  }
}
