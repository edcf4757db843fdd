/** Times of the last use of keys, collected and written every few seconds (contract section 5.12, `lastUsedAt`). */

import type { Database } from "../../db/database.js";
import { recordKeyUse } from "../../db/queries/accounts/keys.js";

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

  /** Notes that a key was used at a time, in Unix ms. */
  note(keyId: string, atMs: number): void {
    this.used.set(keyId, atMs);
  }

  /** Writes the remaining times and stops. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.write();
  }

  private async write(): Promise<void> {
    const { used } = this;
    this.used = new Map();
    try {
      await recordKeyUse(this.db, used);
    } catch (error) {
      // The times may be lost; every request that needs Postgres reports its outage by itself.
      this.onError(error);
    }
  }
}
