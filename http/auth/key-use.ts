/** Notes when keys were used, and writes it down every few seconds (contract section 5, `lastUsedAt`). */

import type { Database } from "../../db/database.js";
import { touchKeys } from "../../db/queries/accounts/keys.js";

const WRITE_MS = 3_000;

export class KeyUse {
  private used = new Map<string, number>();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly db: Database,
    private readonly onError: (error: unknown) => void,
  ) {
    this.timer = setInterval(() => void this.write(), WRITE_MS);
    this.timer.unref();
  }

  /** A key was used at a time, Unix ms. */
  note(keyId: string, atMs: number): void {
    this.used.set(keyId, atMs);
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.write();
  }

  private async write(): Promise<void> {
    const { used } = this;
    this.used = new Map();
    try {
      await touchKeys(this.db, used);
    } catch (error) {
      // A time of last use that is lost is no loss; that Postgres is away is told by whatever needs it.
      this.onError(error);
    }
  }
}
