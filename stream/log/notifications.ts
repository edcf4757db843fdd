/**
 * The text of a notification of one partition, as the Lua files publish it. The first line is the number of the
 * notification, which is one more than that of the previous one in its channel and database. Two lines follow for each
 * record: `<partition> <actor> <position>` and the body. When the bodies are too long, two lines follow for each actor:
 * `<partition> <actor>` and an empty one. The last line is the number of the database. Earlier builds write none, and
 * ignore it.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Notification, ActorNotice } from "./log.js";

/**
 * Most bytes of bodies in the notifications of one append or commit. A subscriber that is slow has them in the memory of
 * Redis, so they must be short.
 */
export const MAX_INLINE_BYTES = 16_384;

/** A message or an entry that was appended. */
export interface Appended {
  readonly partition: string;
  readonly actor: ActorId;
  readonly position: number;
  readonly body: string;
}

/** Returns true when the notifications of one append or commit contain the bodies. */
export function isShort(appended: readonly Appended[]): boolean {
  const bytes = appended.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  return bytes <= MAX_INLINE_BYTES && appended.every(({ body }) => !body.includes("\n"));
}

/** Returns the notification of records in one partition, with the bodies or with the actors alone. */
export function packNotification(
  number: number,
  database: number,
  appended: readonly Appended[],
  isInline: boolean,
): string {
  const lines = isInline
    ? appended.map(({ partition, actor, position, body }) => `${partition} ${actor} ${position}\n${body}`)
    : [...new Set(appended.map(({ partition, actor }) => `${partition} ${actor}\n`))];
  return [number, ...lines, database].join("\n");
}

/**
 * Parses the number of a notification, and its notices in the watched partitions. Returns `undefined` for one of another
 * database. One of an earlier build names no database, so its bodies are left out, and the streams are read.
 */
export function parseNotification(
  text: string,
  watched: ReadonlySet<string>,
  ownDatabase: number,
): { readonly number: number; readonly notifications: readonly Notification[] } | undefined {
  const lines = text.split("\n");
  const database = lines.length % 2 === 0 ? Number(lines.at(-1)) : undefined;
  if (database !== undefined && database !== ownDatabase) return undefined;
  const byPartition = new Map<string, ActorNotice[]>();
  for (let i = 1; i + 1 < lines.length; i += 2) {
    const [partition = "", actor = "", position] = (lines[i] ?? "").split(" ");
    if (!watched.has(partition)) continue;
    const inline =
      position === undefined || database === undefined
        ? undefined
        : { position: Number(position), body: lines[i + 1] ?? "" };
    const notice = { actor: actor as ActorId, inline };
    const notices = byPartition.get(partition);
    if (notices === undefined) byPartition.set(partition, [notice]);
    else notices.push(notice);
  }
  const notifications = [...byPartition].map(([partition, notices]) => ({
    partition,
    notices,
    scanAll: false,
  }));
  return { number: Number(lines[0]), notifications };
}
