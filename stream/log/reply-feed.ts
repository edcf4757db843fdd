/** Answers on their way to whoever asked. Losing them is harmless: askers ask again. */

import type { Publication } from "./log.js";
import { packReplies, type Reply } from "./packing.js";

/** The feed that a process hears its answers on. */
export function replyFeed(process: string): string {
  return `replies:${process}`;
}

/** Answers, packed per asker. */
export function publicationsOf(replies: readonly Reply[]): readonly Publication[] {
  const byFeed = new Map<string, Reply[]>();
  for (const reply of replies) {
    const known = byFeed.get(reply.to);
    if (known === undefined) byFeed.set(reply.to, [reply]);
    else known.push(reply);
  }
  return [...byFeed].map(([feed, known]) => ({ feed, body: packReplies(known) }));
}
