/**
 * Feeds of answers to commands, one for each process that sends commands. When an answer is lost, the process sends the
 * command again, and the actor repeats the answer.
 */

import type { Publication } from "./log.js";
import { packReplies, type Reply } from "./packing.js";

/** Returns the feed on which a process receives its answers. */
export function replyFeed(process: string): string {
  return `replies:${process}`;
}

/** Packs answers into one publication for each feed. */
export function publicationsOf(replies: readonly Reply[]): readonly Publication[] {
  const byFeed = new Map<string, Reply[]>();
  for (const reply of replies) {
    const sameFeed = byFeed.get(reply.to);
    if (sameFeed === undefined) byFeed.set(reply.to, [reply]);
    else sameFeed.push(reply);
  }
  return [...byFeed].map(([feed, sameFeed]) => ({ feed, body: packReplies(sameFeed) }));
}
