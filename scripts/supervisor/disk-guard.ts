import { statfs } from "node:fs/promises";
import type { Log } from "../../stream/log/log.js";
import type { Figures } from "../../stream/services/process-reports.js";
import type { AofUse, AppendOnlyFile } from "../embedded/append-only-file.js";

/** Log that receives the reports. */
export interface DiskReports extends Pick<Log, "reportDisk"> {
  /** Append-only file of the embedded Redis; undefined when that server is not embedded. */
  readonly aof?: Pick<AppendOnlyFile, "directory" | "use" | "rewrite" | "setAutomatic"> | undefined;
  close(): Promise<void>;
}

export interface DiskGuardOptions {
  /** Opens the log. A failed attempt is repeated at the next check. */
  readonly open: () => Promise<DiskReports>;
  /** Directories of the embedded servers. */
  readonly directories: readonly string[];
  /**
   * Free bytes of a disk below which the exchange accepts no new orders; 0 turns the guard off. The disk of Redis must also
   * have what a rewrite of the append-only file needs.
   */
  readonly minFreeBytes: number;
  readonly say: (line: string) => void;
  /** Returns the space of the disk of a directory; only tests set it. */
  readonly spaceOf?: ((directory: string) => Promise<DiskSpace>) | undefined;
}

/** Space of a disk, in bytes. */
interface DiskSpace {
  readonly free: number;
  readonly total: number;
}

/** Disk of a directory; orders are refused when less than `bound` bytes are free. */
interface WatchedDisk extends DiskSpace {
  readonly directory: string;
  readonly bound: number;
}

/** Interval of reading the free space, in ms. */
const CHECK_MS = 1_000;
/** Time in ms after which a report expires whose guard has ended. */
const REPORT_MS = 10_000;
/** Multiple of `minFreeBytes` that must be free before orders are accepted again. */
const ENOUGH = 1.1;
/** Multiple of its last rewrite at which the append-only file is rewritten on a disk that is nearly full. */
const LONG = 1.25;
/** Shortest time in ms between two such rewrites: one that fails may fail again. */
const REWRITE_MS = 600_000;
const MEGABYTE = 1_048_576;

/**
 * Watches the disks of the embedded servers. Reports to the log when one is nearly full, so that the gateways refuse new
 * orders while the servers can still write what cancels and settlements need. A rewrite of the append-only file needs the
 * length of the live data beside the file, and is what makes room: orders are refused while there is still enough for one,
 * a long file is rewritten then, and Redis starts none for which there is no room, because each would fill the disk and fail.
 */
export class DiskGuard {
  readonly #options: DiskGuardOptions;
  #timer: NodeJS.Timeout | undefined;
  #isLow = false;
  #disks: readonly WatchedDisk[] = [];
  #use: AofUse | undefined;
  /** False while Redis may start no rewrite; undefined until the first check. */
  #isAutomatic: boolean | undefined;
  #rewroteMs = -Infinity;
  #log: DiskReports | undefined;
  #stopped = false;

  constructor(options: DiskGuardOptions) {
    this.#options = options;
    void this.#watch();
  }

  /** Returns the figures of a process report; none before the first check. */
  figures(): Figures {
    if (this.#disks.length === 0) return {};
    const left = this.#disks.map(({ free, total, bound }) => Math.max(0, free - bound) / total);
    return {
      disk_free_bytes: Math.min(...this.#disks.map(({ free }) => free)),
      disk_headroom_ratio: this.#isLow ? 0 : Math.min(...left),
    };
  }

  async #watch(): Promise<void> {
    try {
      await this.#check();
    } catch {
      // A server that restarts is asked again; the gateways notice by themselves that Redis cannot write.
    }
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#watch(), CHECK_MS);
  }

  async #check(): Promise<void> {
    const { directories, minFreeBytes, say, spaceOf = spaceOfDisk } = this.#options;
    this.#use = (await this.#log?.aof?.use().catch(() => undefined)) ?? this.#use;
    const disks = await Promise.all(
      directories.map(async (directory) => ({
        directory,
        bound: this.#boundOf(directory),
        ...(await spaceOf(directory)),
      })),
    );
    this.#disks = disks;
    const margin = this.#isLow ? (ENOUGH - 1) * minFreeBytes : 0;
    const low = disks.find(({ free, bound }) => free < bound + margin);
    if (low !== undefined && !this.#isLow) {
      say(
        `only ${megabytes(low.free)} MB are free at ${low.directory}: no new orders are accepted until ` +
          `${megabytes(low.bound + (ENOUGH - 1) * minFreeBytes)} MB are (MIN_FREE_DISK_MB, and for Redis the room for a ` +
          "rewrite of its append-only file)",
      );
    }
    if (low === undefined && this.#isLow) say("the disk has room again: orders are accepted");
    const wasLow = this.#isLow;
    this.#isLow = low !== undefined;
    this.#log ??= await this.#options.open();
    if (this.#stopped) await this.#log.close();
    else if (this.#isLow) await this.#log.reportDisk("the disk of its servers is nearly full", REPORT_MS);
    else if (wasLow) await this.#log.reportDisk(undefined, REPORT_MS);
    await this.#keepAof();
  }

  /** Returns the free bytes that the disk of a directory must have. */
  #boundOf(directory: string): number {
    const { minFreeBytes } = this.#options;
    if (minFreeBytes === 0 || directory !== this.#log?.aof?.directory) return minFreeBytes;
    const { usedBytes, isRewriting } = this.#use ?? { usedBytes: 0, isRewriting: false };
    // A rewrite that runs uses the room that was kept for it.
    return minFreeBytes + (isRewriting && !this.#isLow ? 0 : usedBytes);
  }

  /** Rewrites a long append-only file on a disk that is nearly full, and prevents rewrites that have no room. */
  async #keepAof(): Promise<void> {
    const { minFreeBytes, say } = this.#options;
    const aof = this.#log?.aof;
    const disk = this.#disks.find(({ directory }) => directory === aof?.directory);
    const use = this.#use;
    if (aof === undefined || disk === undefined || use === undefined || minFreeBytes === 0) return;
    if (use.isRewriting || this.#stopped) return;
    const hasRoom = disk.free > use.usedBytes;
    // A Redis that has restarted starts rewrites again.
    if (!hasRoom || this.#isAutomatic !== true) await aof.setAutomatic(hasRoom);
    if (this.#isAutomatic === true && !hasRoom)
      say(
        `Redis does not rewrite its append-only file until ${megabytes(use.usedBytes)} MB are free at ${disk.directory}`,
      );
    this.#isAutomatic = hasRoom;
    const isDue = performance.now() - this.#rewroteMs >= REWRITE_MS;
    if (disk.free >= disk.bound || !hasRoom || !isDue || use.fileBytes < LONG * use.baseBytes) return;
    this.#rewroteMs = performance.now();
    say(`Redis rewrites its append-only file of ${megabytes(use.fileBytes)} MB to free space`);
    await aof.rewrite();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#log?.close();
  }
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / MEGABYTE);
}

async function spaceOfDisk(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { free: bavail * bsize, total: blocks * bsize };
}
