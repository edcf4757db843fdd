import { statfs } from "node:fs/promises";
import type { Log } from "../../stream/log/log.js";
import type { Figures } from "../../stream/services/process-reports.js";

/** Log that receives the reports. */
export interface DiskReports extends Pick<Log, "reportDisk"> {
  close(): Promise<void>;
}

export interface DiskGuardOptions {
  /** Opens the log. A failed attempt is repeated at the next check. */
  readonly open: () => Promise<DiskReports>;
  /** Directories of the embedded servers. */
  readonly directories: readonly string[];
  /** Free bytes of a disk below which the exchange accepts no new orders. */
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

/** Interval of reading the free space, in ms. */
const CHECK_MS = 1_000;
/** Time in ms after which a report expires whose guard has ended. */
const REPORT_MS = 10_000;
/** Multiple of `minFreeBytes` that must be free before orders are accepted again. */
const ENOUGH = 1.1;
const MEGABYTE = 1_048_576;

/**
 * Watches the disks of the embedded servers. Reports to the log when one is nearly full, so that the gateways refuse new
 * orders while the servers can still write what cancels and settlements need.
 */
export class DiskGuard {
  readonly #options: DiskGuardOptions;
  #timer: NodeJS.Timeout | undefined;
  #isLow = false;
  #disks: readonly DiskSpace[] = [];
  #log: DiskReports | undefined;
  #stopped = false;

  constructor(options: DiskGuardOptions) {
    this.#options = options;
    void this.#watch();
  }

  /** Returns the figures of a process report; none before the first check. */
  figures(): Figures {
    if (this.#disks.length === 0) return {};
    const { minFreeBytes } = this.#options;
    const left = this.#disks.map(({ free, total }) => Math.max(0, free - minFreeBytes) / total);
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
    const disks = await Promise.all(
      directories.map(async (directory) => ({ directory, ...(await spaceOf(directory)) })),
    );
    this.#disks = disks;
    const low = disks.find(({ free }) => free < (this.#isLow ? ENOUGH * minFreeBytes : minFreeBytes));
    if (low !== undefined && !this.#isLow) {
      const freeMb = Math.floor(low.free / MEGABYTE);
      say(
        `only ${freeMb} MB are free at ${low.directory}: no new orders are accepted until ` +
          `${Math.ceil((ENOUGH * minFreeBytes) / MEGABYTE)} MB are (MIN_FREE_DISK_MB)`,
      );
    }
    if (low === undefined && this.#isLow) say("the disk has room again: orders are accepted");
    const wasLow = this.#isLow;
    this.#isLow = low !== undefined;
    this.#log ??= await this.#options.open();
    if (this.#stopped) await this.#log.close();
    else if (this.#isLow) await this.#log.reportDisk("the disk of its servers is nearly full", REPORT_MS);
    else if (wasLow) await this.#log.reportDisk(undefined, REPORT_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#log?.close();
  }
}

async function spaceOfDisk(directory: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { free: bavail * bsize, total: blocks * bsize };
}
