/** What goes wrong between a process and Redis. */

import { Redis } from "ioredis";

/** Ends every connection that works on the database of a test. */
export async function cutConnections(url: string): Promise<void> {
  const admin = new Redis(url);
  const database = new URL(url).pathname.slice(1);
  for (const line of String(await admin.client("LIST")).split("\n")) {
    const id = /\bid=(\d+)/.exec(line)?.[1];
    if (id === undefined || !new RegExp(`\\bdb=${database}\\b`).test(line)) continue;
    await admin.client("KILL", "ID", id, "SKIPME", "yes").catch(() => undefined);
  }
  admin.disconnect();
}
