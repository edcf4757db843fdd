/**
 * Reports of the processes about themselves. Every role publishes its figures on a feed of the log, and every gateway
 * shows the latest report of each process in its metrics. Nothing is stored.
 */

import { hostname } from "node:os";
import type { Clock } from "../log/clock.js";
import { idOfLog } from "../log/installation.js";
import type { Log, Subscription } from "../log/log.js";
import { type LongestPauses, LoopPauses } from "./loop-pauses.js";

/** Figures of a process, with their descriptions. A name has the unit of its figure last. */
export const FIGURES = {
  cpu_seconds_total: "Processor time that the process has used",
  rss_bytes: "Memory of the process in RAM (RSS)",
  heap_bytes: "Memory of the JavaScript heap in use",
  heap_total_bytes: "Memory of the JavaScript heap, its free room included",
  external_bytes: "Memory of buffers and typed arrays outside the JavaScript heap",
  event_loop_pause_seconds: "Longest pause of the event loop within the last minute",
  event_loop_guest_pause_seconds:
    "Longest pause of the event loop within the last minute, without the time that the host of a virtual machine took",
  event_loop_own_pause_seconds:
    "Longest pause of the event loop within the last minute, also without the time in which its thread waited for a core",
  ws_sockets: "Open websockets of a gateway",
  requests_total: "Requests that a gateway has answered since its start",
  partitions: "Partitions that a worker owns",
  partitions_taken_total: "Partitions that a worker has taken since its start",
  snapshots_total: "Snapshots that a worker has taken since its start",
  snapshot_written_bytes_total: "Bytes of snapshots that a worker has written since its start",
  snapshot_bytes: "Largest snapshot that a worker has taken within the last ten minutes",
  snapshot_seconds: "Longest time that a snapshot has taken within the last ten minutes",
  unsnapshotted_bytes: "Entries since its last snapshot of the actor of a worker that has most, in bytes",
  resume_window_bytes: "Entries of a worker's actors in memory that clients may resume from",
  oldest_snapshot_seconds: "Age of the oldest snapshot of an actor that has entries after it",
  delta_bytes: "Delta streams of a worker's partitions in Redis",
  delta_entries: "Entries of the delta streams of a worker's partitions",
  mailbox_bytes: "Mailboxes of a worker's partitions in Redis",
  mailbox_messages: "Messages in the mailboxes of a worker's partitions",
  kept_snapshot_bytes: "Snapshots of a worker's partitions in Redis, with their parts",
  id_filter_bytes: "Filters of the ids of a day in the memory of a worker",
  id_filter_snapshot_bytes: "The same filters in the snapshots in Redis",
  heads: "Actors of which Redis has a head, removed markets included, as a jobs process counts them",
  head_bytes: "Heads of actors in Redis, removed markets included",
  first_answer_bytes: "First answers to requests in Redis",
  token_bucket_bytes: "Token buckets in Redis",
  quarantine_bytes: "Quarantines in Redis",
  job_bytes: "Queues of jobs in Redis",
  other_key_bytes: "Keys in Redis that no other figure counts",
  disk_free_bytes: "Free space of the disk of the embedded servers that has least",
  disk_headroom_ratio:
    "Least share of a disk of the embedded servers that is left until new orders are refused",
  projected_entries_total: "Entries that a projector has written since its start",
  projector_lag_seconds:
    "Longest time from the decision of an actor to its rows in Postgres, since the last report of a projector",
  reconciliations_total:
    "Repairs of the tables of an actor whose log had lost entries, since the start of a projector",
} as const;

export type Figures = Readonly<Partial<Record<keyof typeof FIGURES, number>>>;

/** The figures of one process. */
export interface ProcessReport {
  readonly role: string;
  /** Name of the process, unique on its host. The process that replaces another one has the same name. */
  readonly name: string;
  readonly host: string;
  /** Unique to the process. */
  readonly process: string;
  readonly pid: number;
  readonly figures: Figures;
}

const FEED = "process-reports";
/** Interval of the reports of a process. */
const REPORT_MS = 5_000;
/** Interval of the looks at a busy event loop. Each wakes the process, which took 4 % of a core at 5 ms on a virtual machine. */
const OBSERVE_MS = 20;
/** Number of intervals in a minute, over which the longest pause is reported. */
const MINUTE = 60_000 / REPORT_MS;
/** Age above which a report is dropped: its process has ended or hangs. */
const FORGET_MS = 6 * REPORT_MS;

export interface ReporterOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly role: string;
  readonly name: string;
  readonly process: string;
  /** Interval at which the event loop is observed while it is busy, in ms (default 20): the error of its pauses then. */
  readonly observeMs?: number | undefined;
  /** Returns the figures of the role itself. */
  readonly figures?: (() => Figures) | undefined;
}

/** Publishes the figures of this process until it is stopped. */
export class ProcessReporter {
  readonly #options: ReporterOptions;
  readonly #loop: LoopPauses;
  /** The longest pauses of each interval within the last minute. */
  readonly #pauses: LongestPauses[] = [];
  #logId: string | undefined;
  #cancel: () => void = () => undefined;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#loop = new LoopPauses(options.observeMs ?? OBSERVE_MS);
    this.#publish();
    this.#schedule();
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.after(REPORT_MS, () => {
      this.#publish();
      this.#schedule();
    });
  }

  #publish(): void {
    const { log, role, name, process: id, figures } = this.#options;
    this.#pauses.push(this.#loop.take());
    if (this.#pauses.length > MINUTE) this.#pauses.shift();
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    const report: ProcessReport = {
      role,
      name,
      host: hostname(),
      process: id,
      pid: process.pid,
      figures: {
        cpu_seconds_total: (user + system) / 1e6,
        rss_bytes: rss,
        heap_bytes: heapUsed,
        heap_total_bytes: heapTotal,
        external_bytes: external,
        event_loop_pause_seconds: Math.max(...this.#pauses.map(({ pauseMs }) => pauseMs)) / 1_000,
        event_loop_guest_pause_seconds:
          Math.max(...this.#pauses.map(({ guestPauseMs }) => guestPauseMs)) / 1_000,
        event_loop_own_pause_seconds: Math.max(...this.#pauses.map(({ ownPauseMs }) => ownPauseMs)) / 1_000,
        ...figures?.(),
      },
    };
    // A lost report is followed by the next one.
    void this.#idOfLog()
      .then((logId) => log.publish({ feed: FEED, body: JSON.stringify({ ...report, logId }) }))
      .catch(() => undefined);
  }

  /** Returns the id of the log, `undefined` before its first start and while it cannot be read. */
  async #idOfLog(): Promise<string | undefined> {
    this.#logId ??= await idOfLog(this.#options.log).catch(() => undefined);
    return this.#logId;
  }

  stop(): void {
    this.#cancel();
    this.#loop.stop();
  }
}

/** Report as received: earlier builds send neither names nor the id of the log. */
type ReceivedReport = Omit<ProcessReport, "name" | "host"> &
  Partial<Pick<ProcessReport, "name" | "host">> & { readonly logId?: string };

/** The latest report of every process. */
export class ProcessReports {
  readonly #clock: Clock;
  /** By host and name, so that a process replaces the one whose place it takes. */
  readonly #latest = new Map<string, { readonly report: ProcessReport; readonly atMs: number }>();
  #subscription: Subscription | undefined;

  private constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Receives the reports that are published from now on. */
  static async subscribe(log: Log, clock: Clock): Promise<ProcessReports> {
    const reports = new ProcessReports(clock);
    const ownId = await idOfLog(log);
    reports.#subscription = await log.subscribe(FEED, {
      onBody: (body) => {
        const { logId = ownId, ...received } = JSON.parse(body) as ReceivedReport;
        // Redis publishes to all of its databases, another of which may be the log of another exchange.
        if (ownId !== undefined && logId !== ownId) return;
        const { name = received.process, host = "" } = received;
        reports.#latest.set(`${host} ${name}`, { report: { ...received, name, host }, atMs: clock.now() });
      },
      onMissed: () => undefined,
    });
    return reports;
  }

  /** Returns the latest report of each process that has published one within the last half minute. */
  latest(): readonly ProcessReport[] {
    const oldest = this.#clock.now() - FORGET_MS;
    for (const [id, { atMs }] of this.#latest) if (atMs < oldest) this.#latest.delete(id);
    return [...this.#latest.values()].map(({ report }) => report);
  }

  /** Returns the names of the processes of each role, in order. */
  names(): Readonly<Record<string, readonly string[]>> {
    const names: Record<string, string[]> = {};
    for (const { role, name } of this.latest()) (names[role] ??= []).push(name);
    return Object.fromEntries(
      Object.entries(names)
        .map(([role, list]) => [role, list.toSorted()] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    );
  }

  /** Returns the least value that any process reports for a figure. */
  least(name: keyof Figures): number | undefined {
    const values = this.latest().flatMap(({ figures }) => figures[name] ?? []);
    return values.length === 0 ? undefined : Math.min(...values);
  }

  async close(): Promise<void> {
    await this.#subscription?.close();
  }
}
