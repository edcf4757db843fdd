/** The log to which the tables are bound: the one from which they were written. */

import type { Queries } from "../database.js";
import { installation } from "../schema/exchange.js";

/** The tables were written from another log than the one at hand. */
export class OtherLog extends Error {
  override readonly name = "OtherLog";

  constructor(bound: string, found: string | undefined) {
    super(
      `the tables were written from the log ${bound}, and this Redis has ${found ?? "none"}: check REDIS_URL and ` +
        "DATABASE_URL, or bring the data of that Redis back. To set the tables to the state of this log, which removes " +
        "the rows that it does not have, run in the database: " +
        `update installation set log_id = '${found ?? "the id of the log"}' where log_id = '${bound}'`,
    );
  }
}

async function boundLog(db: Queries): Promise<string | undefined> {
  const [row] = await db.select().from(installation);
  return row?.logId;
}

/** Throws `OtherLog` when the tables are bound to another log. Without a log id they must be bound to none. */
export async function requireLog(db: Queries, logId: string | undefined): Promise<void> {
  const bound = await boundLog(db);
  if (bound !== undefined && bound !== logId) throw new OtherLog(bound, logId);
}

/** Binds the tables to a log, if they are bound to none. Throws as `requireLog` does. */
export async function bindToLog(db: Queries, logId: string | undefined, nowTs: number): Promise<void> {
  if (logId !== undefined)
    await db.insert(installation).values({ logId, boundTs: nowTs }).onConflictDoNothing();
  await requireLog(db, logId);
}
