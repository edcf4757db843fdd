/** The append-only file of the running embedded Redis: its size, and its rewrites to the length of the live data. */

import { Redis } from "ioredis";

/** Growth of the file since its last rewrite, in per cent, at which Redis rewrites it. */
export const REWRITE_PERCENT = 100;

export interface AofUse {
  /** Memory that Redis uses; a rewrite writes at most as much. */
  readonly usedBytes: number;
  readonly fileBytes: number;
  /** Size of the file after its last rewrite. */
  readonly baseBytes: number;
  readonly isRewriting: boolean;
}

export class AppendOnlyFile {
  /** Data directory of Redis. */
  readonly directory: string;
  readonly #client: Redis;

  constructor(url: string, directory: string) {
    this.directory = directory;
    this.#client = new Redis(url, { maxRetriesPerRequest: 0, commandTimeout: 2_000 });
    // The commands of a lost connection fail.
    this.#client.on("error", () => undefined);
  }

  async use(): Promise<AofUse> {
    const info = `${await this.#client.info("memory")}${await this.#client.info("persistence")}`;
    const number = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
    return {
      usedBytes: number("used_memory"),
      fileBytes: number("aof_current_size"),
      baseBytes: number("aof_base_size"),
      isRewriting: number("aof_rewrite_in_progress") === 1,
    };
  }

  /** Starts a rewrite in a child of Redis. */
  async rewrite(): Promise<void> {
    await this.#client.bgrewriteaof();
  }

  /** Lets Redis start rewrites by itself, or not. */
  async setAutomatic(isAutomatic: boolean): Promise<void> {
    await this.#client.config("SET", "auto-aof-rewrite-percentage", isAutomatic ? REWRITE_PERCENT : 0);
  }

  close(): void {
    this.#client.disconnect();
  }
}
