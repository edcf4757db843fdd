/** The rules of `heartbeat.lua` for the log in memory, which has no workers of earlier builds. */

import type { Heartbeat, LiveWorker } from "../../../stream/log/log.js";
import { Keys } from "../../../stream/redis/keys.js";
import type { MemoryStore } from "./memory-store.js";

const SILENCE_MS = 3_000;
const RECONNECT_MS = 1_000;
const INTERVALS = 3;
const LONGEST = 10;
const DECAY = 0.99;
const FORGET_MS = 60_000;
const KEYS = new Keys("");
const RECORDS = KEYS.workerRecords();
const WORKERS = KEYS.workers();
const SERVICE = KEYS.timeInService();

interface WorkerRecord {
  readonly lastMs: number;
  /** Begin of the life; absent for a dead worker. */
  readonly sinceMs?: number | undefined;
  readonly longestMs: number;
  readonly takes: boolean;
}

/** Time between two heartbeats; a class, so that a planted bug can replace its method. */
export class HeartbeatGap {
  constructor(readonly ms: number) {}

  /** Returns the part of the time that counts as time in service. */
  counted(leaseMs: number): number {
    return Math.max(0, Math.min(this.ms, Math.ceil(leaseMs / 3)));
  }
}

/** Advances the time in service to `nowMs`, and returns it. */
function timeInService(store: MemoryStore, nowMs: number, leaseMs: number): number {
  const known = (field: string, otherwise: number): number => Number(store.get(SERVICE, field) ?? otherwise);
  const gapMs = nowMs - known("at", nowMs);
  let resumeMs = known("resume", 0);
  if (gapMs < 0) resumeMs = Math.min(resumeMs, nowMs);
  if (gapMs > SILENCE_MS) resumeMs = nowMs + RECONNECT_MS;
  const counted = nowMs >= resumeMs ? new HeartbeatGap(gapMs).counted(leaseMs) : 0;
  const servedMs = known("served", 0) + counted;
  for (const [field, value] of Object.entries({ served: servedMs, at: nowMs, resume: resumeMs }))
    store.set(SERVICE, field, String(value));
  return servedMs;
}

/** Records a heartbeat at `nowMs` of the log's clock, and returns the live workers. */
export function recordHeartbeat(
  store: MemoryStore,
  nowMs: number,
  { worker, leaseMs, takes }: Heartbeat,
): readonly LiveWorker[] {
  const servedMs = timeInService(store, nowMs, leaseMs);
  const save = (name: string, record: WorkerRecord): void => store.set(RECORDS, name, JSON.stringify(record));
  const before = store.get(RECORDS, worker);
  const own = before === undefined ? undefined : (JSON.parse(before) as WorkerRecord);
  const intervalMs = own === undefined ? 0 : Math.min(servedMs - own.lastMs, (LONGEST * leaseMs) / INTERVALS);
  save(worker, {
    lastMs: servedMs,
    sinceMs: own?.sinceMs ?? servedMs,
    longestMs: Math.max(intervalMs, (own?.longestMs ?? 0) * DECAY),
    takes,
  });
  const live: LiveWorker[] = [];
  for (const [name, saved] of [...store.fields(RECORDS)]) {
    const record = JSON.parse(saved) as WorkerRecord;
    const silentMs = servedMs - record.lastMs;
    const ownLeaseMs = Math.max(leaseMs, Math.min(INTERVALS * record.longestMs, LONGEST * leaseMs));
    if (record.sinceMs === undefined) {
      if (silentMs <= FORGET_MS) continue;
      store.set(RECORDS, name, undefined);
      store.set(WORKERS, name, undefined);
    } else if (silentMs > ownLeaseMs) save(name, { ...record, sinceMs: undefined });
    else live.push({ name, liveMs: servedMs - record.sinceMs, takes: record.takes });
  }
  return live;
}
