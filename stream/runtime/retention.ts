/**
 * Retention of the delta streams of one worker: which entries stay for a reader that resumes (contract section 6.10). An
 * actor keeps the entries of the last minutes, or the last thousand if those are more. The entries of all actors
 * together have a budget of bytes, and the budget comes first: the actors with the most bytes then keep less.
 */

import { type ActorId, PARTITIONS } from "../../actors/actor.js";
import type { Clock } from "../log/clock.js";
import type { Head, StreamSize } from "../log/log.js";

/** Limits of the resume window. */
export interface RetentionLimits {
  /** Entries that an actor keeps however old they are. An entry has at least one batch. */
  readonly resumeEntries: number;
  /** Age up to which an actor keeps every entry, in ms. */
  readonly resumeMs: number;
  /** Bytes that the entries of all actors of the exchange may take; never more than a fifth of the log's memory. */
  readonly resumeBytes: number;
}

/** Number of recorded positions in a window that is as long, or as large, as it may be. */
const SAMPLES = 20;
/** Bytes that an entry takes in Redis beside its body. */
const ENTRY_BYTES = 64;
/** Share of the log's memory that the budget may take. */
const MEMORY_SHARE = 0.2;
/** Interval of dividing the budget between the actors. */
const DIVIDE_MS = 1_000;

/** A position in a delta stream. */
interface Sample {
  readonly atMs: number;
  readonly seq: number;
  /** Bytes of the entries up to this position. */
  readonly total: number;
}

/** The entries of one actor. */
class RetainedEntries {
  /** Positions in the resume window, oldest first. The window begins after the first one. */
  readonly #samples: Sample[];
  #seq: number;
  #total: number;
  #totalAtSnapshot: number;
  /** Time of the last snapshot, or of the load of the actor. */
  #snapshotAtMs: number;
  /** Bytes and time when the snapshot began that is being taken. */
  #beginning = { total: 0, atMs: 0 };
  /** Beginning of the window when it was last taken. */
  #taken = 0;

  constructor({ seq, snapshot }: Head, { entries, bytes }: StreamSize, nowMs: number) {
    // The times and sizes of entries that an earlier owner has written are not known. They count as new and of one size.
    const samples = entries === 0 ? 0 : SAMPLES;
    this.#samples = Array.from({ length: samples + 1 }, (_, n) => ({
      atMs: nowMs,
      seq: seq - Math.round((entries * (samples - n)) / SAMPLES),
      total: (bytes * n) / SAMPLES,
    }));
    this.#seq = seq;
    this.#total = bytes;
    this.#snapshotAtMs = nowMs;
    this.#totalAtSnapshot =
      bytes - (entries === 0 ? 0 : (bytes * Math.min(entries, seq - snapshot)) / entries);
  }

  /** Bytes of the entries in the resume window. */
  get bytes(): number {
    return this.#total - (this.#samples[0]?.total ?? 0);
  }

  /** Bytes of the entries since the last snapshot. */
  get bytesSinceSnapshot(): number {
    return this.#total - this.#totalAtSnapshot;
  }

  committed(seq: number, bytes: number, nowMs: number, sampleMs: number, sampleBytes: number): void {
    this.#seq = seq;
    this.#total += bytes + ENTRY_BYTES;
    const last = this.#samples.at(-1);
    if (last !== undefined && nowMs - last.atMs < sampleMs && this.#total - last.total < sampleBytes) return;
    this.#samples.push({ atMs: nowMs, seq, total: this.#total });
  }

  /** Time of the last snapshot if there are entries after it; otherwise the present time. */
  unsavedSinceMs(nowMs: number): number {
    return this.bytesSinceSnapshot > 0 ? this.#snapshotAtMs : nowMs;
  }

  snapshotBegins(nowMs: number): void {
    this.#beginning = { total: this.#total, atMs: nowMs };
  }

  snapshotTaken(): void {
    this.#totalAtSnapshot = this.#beginning.total;
    this.#snapshotAtMs = this.#beginning.atMs;
  }

  /** Moves the beginning of the window forward to its limits. */
  advance({ resumeEntries, resumeMs }: RetentionLimits, maxBytes: number, nowMs: number): void {
    const isOld = ({ atMs, seq }: Sample): boolean =>
      atMs <= nowMs - resumeMs && seq <= this.#seq - resumeEntries;
    let begin = 0;
    for (let next = this.#samples[1]; next !== undefined; next = this.#samples[begin + 1]) {
      const bytes = this.#total - (this.#samples[begin]?.total ?? 0);
      if (!isOld(next) && bytes <= maxBytes) break;
      begin += 1;
    }
    this.#samples.splice(0, begin);
  }

  /** Returns the first seq of the window if it has moved since the last call. */
  takeBeginning(): number | undefined {
    const beginning = (this.#samples[0]?.seq ?? 0) + 1;
    if (beginning === this.#taken) return undefined;
    this.#taken = beginning;
    return beginning;
  }
}

/** The entries of the actors of one partition that are in memory. */
export class RetainedPartition {
  readonly #retention: Retention;
  readonly #actors = new Map<ActorId, RetainedEntries>();
  /** Sums over the actors, kept up to date because a worker can have tens of thousands of actors. */
  #bytes = 0;
  #bytesSinceSnapshot = 0;

  constructor(retention: Retention) {
    this.#retention = retention;
  }

  /** Bytes of the resume windows of all actors. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the entries of all actors since the last snapshot of each. */
  get totalSinceSnapshot(): number {
    return this.#bytesSinceSnapshot;
  }

  get actors(): Iterable<RetainedEntries> {
    return this.#actors.values();
  }

  /** Begins with the entries that are in the log. */
  add(actor: ActorId, head: Head, size: StreamSize): void {
    this.remove(actor);
    const entries = new RetainedEntries(head, size, this.#retention.nowMs);
    this.#actors.set(actor, entries);
    this.#count(entries, 1);
  }

  remove(actor: ActorId): void {
    const entries = this.#actors.get(actor);
    if (entries === undefined) return;
    this.#count(entries, -1);
    this.#actors.delete(actor);
  }

  #count({ bytes, bytesSinceSnapshot }: RetainedEntries, sign: 1 | -1): void {
    this.#bytes += sign * bytes;
    this.#bytesSinceSnapshot += sign * bytesSinceSnapshot;
  }

  /** Records a committed entry. */
  committed(actor: ActorId, seq: number, bytes: number): void {
    const { nowMs, sampleMs, sampleBytes } = this.#retention;
    const entries = this.#actors.get(actor);
    if (entries === undefined) return;
    this.#count(entries, -1);
    entries.committed(seq, bytes, nowMs, sampleMs, sampleBytes);
    this.#count(entries, 1);
  }

  snapshotBegins(actor: ActorId): void {
    this.#actors.get(actor)?.snapshotBegins(this.#retention.nowMs);
  }

  /** Records that the snapshot that has begun is in the log. */
  snapshotTaken(actor: ActorId): void {
    const entries = this.#actors.get(actor);
    if (entries === undefined) return;
    this.#count(entries, -1);
    entries.snapshotTaken();
    this.#count(entries, 1);
  }

  /** Returns the bytes of the entries since the last snapshot. */
  bytesSinceSnapshot(actor: ActorId): number {
    return this.#actors.get(actor)?.bytesSinceSnapshot ?? 0;
  }

  /** Returns true when an actor needs a snapshot, because the entries of all actors since their last take too much memory. */
  needsSnapshot(actor: ActorId): boolean {
    return this.bytesSinceSnapshot(actor) > this.#retention.maxBytesSinceSnapshot;
  }

  /** Returns the first seq of the resume window of each of some actors, if it has moved since the last call. */
  takeMoved(actors: readonly ActorId[]): ReadonlyMap<ActorId, number> {
    const { limits, maxBytes, nowMs } = this.#retention;
    const moved = new Map<ActorId, number>();
    for (const actor of actors) {
      const entries = this.#actors.get(actor);
      if (entries === undefined) continue;
      this.#count(entries, -1);
      entries.advance(limits, maxBytes, nowMs);
      this.#count(entries, 1);
      const beginning = entries.takeBeginning();
      if (beginning !== undefined) moved.set(actor, beginning);
    }
    return moved;
  }

  /** Ends with the ownership of the partition. */
  close(): void {
    this.#retention.close(this);
  }
}

/** The entries of all actors of a worker, which share the budget of the partitions that the worker owns. */
export class Retention {
  readonly limits: RetentionLimits;
  readonly #clock: Clock;
  /** Budget of all actors of the exchange, in bytes. */
  #resumeBytes: number;
  readonly #partitions = new Set<RetainedPartition>();
  #dividedAtMs = -Infinity;
  #maxBytes = Infinity;
  #maxBytesSinceSnapshot = Infinity;

  constructor(limits: RetentionLimits, clock: Clock) {
    this.limits = limits;
    this.#clock = clock;
    this.#resumeBytes = limits.resumeBytes;
  }

  get nowMs(): number {
    return this.#clock.monotonic();
  }

  /** Bytes of the resume windows of all actors. */
  get bytes(): number {
    return sum([...this.#partitions].map(({ bytes }) => bytes));
  }

  /** Returns the figures of a process report. */
  figures(): { resume_window_bytes: number; oldest_snapshot_seconds: number } {
    const { nowMs } = this;
    let oldestMs = nowMs;
    for (const { actors } of this.#partitions)
      for (const actor of actors) oldestMs = Math.min(oldestMs, actor.unsavedSinceMs(nowMs));
    return {
      resume_window_bytes: this.bytes,
      oldest_snapshot_seconds: (nowMs - oldestMs) / 1_000,
    };
  }

  /** Interval of time, and of bytes, at which the seq of an actor is recorded. */
  get sampleMs(): number {
    return this.limits.resumeMs / SAMPLES;
  }

  get sampleBytes(): number {
    return Math.min(this.#maxBytes, this.#budget) / SAMPLES;
  }

  /** Most bytes of the resume window of one actor. */
  get maxBytes(): number {
    this.#divide();
    return this.#maxBytes;
  }

  /** Most bytes of the entries of one actor since its last snapshot. */
  get maxBytesSinceSnapshot(): number {
    this.#divide();
    return this.#maxBytesSinceSnapshot;
  }

  /** Fits the budget to the memory limit of the log, in bytes; 0 is no limit. */
  fit(memoryLimitBytes: number): void {
    const share = memoryLimitBytes === 0 ? Infinity : MEMORY_SHARE * memoryLimitBytes;
    this.#resumeBytes = Math.min(this.limits.resumeBytes, share);
  }

  open(): RetainedPartition {
    const partition = new RetainedPartition(this);
    this.#partitions.add(partition);
    return partition;
  }

  close(partition: RetainedPartition): void {
    this.#partitions.delete(partition);
  }

  get #budget(): number {
    return (this.#resumeBytes * this.#partitions.size) / PARTITIONS.length;
  }

  #all(): RetainedEntries[] {
    return [...this.#partitions].flatMap(({ actors }) => [...actors]);
  }

  /**
   * Divides the budget. The log has the entries since the snapshot before the last, so half of the budget is for those
   * since the last.
   */
  #divide(): void {
    const { nowMs } = this;
    if (Math.abs(nowMs - this.#dividedAtMs) < DIVIDE_MS) return;
    this.#dividedAtMs = nowMs;
    const share = (
      demanded: number,
      demandOf: (entries: RetainedEntries) => number,
      budget: number,
    ): number => (demanded <= budget ? Infinity : largestShare(this.#all().map(demandOf), budget));
    this.#maxBytes = share(this.bytes, ({ bytes }) => bytes, this.#budget);
    this.#maxBytesSinceSnapshot = share(
      sum([...this.#partitions].map(({ totalSinceSnapshot }) => totalSinceSnapshot)),
      ({ bytesSinceSnapshot }) => bytesSinceSnapshot,
      this.#budget / 2,
    );
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Returns the limit of each demand with which their sum fits the budget; `Infinity` when it fits without one. */
export function largestShare(demands: readonly number[], budget: number): number {
  if (sum(demands) <= budget) return Infinity;
  let left = budget;
  const sorted = demands.toSorted((a, b) => a - b);
  for (const [index, demand] of sorted.entries()) {
    const share = left / (sorted.length - index);
    if (demand > share) return share;
    left -= demand;
  }
  return Infinity;
}
