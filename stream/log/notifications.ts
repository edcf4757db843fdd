/**
 * What a ring says, as the Lua files write it: its number, which is one more than that of the ring before it, and
 * then two lines for each thing that happened: `<partition> <actor> <position>` and the body, or `<partition> <actor>`
 * and nothing when only the actors are named.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Ring, Rung } from "./log.js";

/** A ring with longer bodies, all together, only names the actors: everybody hears everything. */
export const MAX_CARRIED = 16_384;

/** One message or entry of an actor. */
export interface Happened {
  readonly partition: string;
  readonly actor: ActorId;
  readonly position: number;
  readonly body: string;
}

export function packRing(number: number, happened: readonly Happened[]): string {
  const length = happened.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  const isCarried = length <= MAX_CARRIED && happened.every(({ body }) => !body.includes("\n"));
  const lines = isCarried
    ? happened.map(({ partition, actor, position, body }) => `${partition} ${actor} ${position}\n${body}`)
    : [...new Set(happened.map(({ partition, actor }) => `${partition} ${actor}\n`))];
  return [String(number), ...lines].join("\n");
}

/** The number of a ring, and what it says of each of the partitions that are `heard`. */
export function parseRing(
  text: string,
  heard: ReadonlySet<string>,
): { readonly number: number; readonly rings: readonly Ring[] } {
  const lines = text.split("\n");
  const byPartition = new Map<string, Rung[]>();
  for (let i = 1; i + 1 < lines.length; i += 2) {
    const [partition = "", actor = "", position] = (lines[i] ?? "").split(" ");
    if (!heard.has(partition)) continue;
    const carried =
      position === undefined ? undefined : { position: Number(position), body: lines[i + 1] ?? "" };
    const rung = { actor: actor as ActorId, carried };
    const known = byPartition.get(partition);
    if (known === undefined) byPartition.set(partition, [rung]);
    else known.push(rung);
  }
  const rings = [...byPartition].map(([partition, rung]) => ({ partition, rung, lookAtAll: false }));
  return { number: Number(lines[0]), rings };
}
