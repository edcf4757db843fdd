import { statfs } from "node:fs/promises";
import type { Log } from "../../stream/log/log.js";

/** Log that receives the reports. */
export interface DiskReports extends Pick<Log, "reportDisk"> {
  close(): Promise<void>;
}

export interface DiskGuardOptions {
  /** Opens the log when there is a first report. A failed attempt is repeated at the next check. */
  readonly open: () => Promise<DiskReports>;
  /** Directories of the embedded servers. */
  readonly directories: readonly string[];
  /** Free bytes of a disk below which the exchange accepts no new orders. */
  readonly minFreeBytes: number;
  readonly say: (line: string) => void;
  /** Returns the free bytes of the disk of a directory; only tests set it. */
  readonly freeBytes?: ((directory: string) => Promise<number>) | undefined;
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
  #log: DiskReports | undefined;
  #stopped = false;

  constructor(options: DiskGuardOptions) {
    this.#options = options;
    void this.#watch();
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
    const { directories, minFreeBytes, say, freeBytes = freeBytesOf } = this.#options;
    const disks = await Promise.all(
      directories.map(async (directory) => ({ directory, free: await freeBytes(directory) })),
    );
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
    if (this.#isLow) await this.#report("the disk of its servers is nearly full");
    else if (wasLow) await this.#report(undefined);
  }

  async #report(reason: string | undefined): Promise<void> {
    this.#log ??= await this.#options.open();
    if (this.#stopped) await this.#log.close();
    else await this.#log.reportDisk(reason, REPORT_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#log?.close();
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
