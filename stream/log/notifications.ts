/**
 * What a ring says, as the Lua files write it: its number, which is one more than that of the ring before it, and then
 * two lines for each thing that happened: `<partition> <actor> <position>` and the body, or `<partition> <actor>` and
 * nothing when only the actors are named.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Notification, ActorNotice } from "./log.js";

/** A ring with longer bodies, all together, only names the actors: everybody hears everything. */
export const MAX_INLINE_BYTES = 16_384;

/** One message or entry of an actor. */
export interface Appended {
  readonly partition: string;
  readonly actor: ActorId;
  readonly position: number;
  readonly body: string;
}

export function packNotification(number: number, appended: readonly Appended[]): string {
  const length = appended.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  const isCarried = length <= MAX_INLINE_BYTES && appended.every(({ body }) => !body.includes("\n"));
  const lines = isCarried
    ? appended.map(({ partition, actor, position, body }) => `${partition} ${actor} ${position}\n${body}`)
    : [...new Set(appended.map(({ partition, actor }) => `${partition} ${actor}\n`))];
  return [String(number), ...lines].join("\n");
}

/** The number of a ring, and what it says of each of the partitions that are `heard`. */
export function parseNotification(
  text: string,
  heard: ReadonlySet<string>,
): { readonly number: number; readonly notifications: readonly Notification[] } {
  const lines = text.split("\n");
  const byPartition = new Map<string, ActorNotice[]>();
  for (let i = 1; i + 1 < lines.length; i += 2) {
    const [partition = "", actor = "", position] = (lines[i] ?? "").split(" ");
    if (!heard.has(partition)) continue;
    const inline =
      position === undefined ? undefined : { position: Number(position), body: lines[i + 1] ?? "" };
    const notice = { actor: actor as ActorId, inline };
    const known = byPartition.get(partition);
    if (known === undefined) byPartition.set(partition, [notice]);
    else known.push(notice);
  }
  const notifications = [...byPartition].map(([partition, notices]) => ({
    partition,
    notices,
    scanAll: false,
  }));
  return { number: Number(lines[0]), notifications };
}
