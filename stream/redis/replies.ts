/** What Redis answers, in the words of `log.ts`. */

import type { ActorId } from "../../actors/actor.js";
import { type CommitOutcome, type Head, type Message, NO_CURSOR } from "../log/log.js";

export const HEAD_FIELDS = ["seq", "cursor", "relayed", "projected", "snapshot", "previous"] as const;

export function headOf(fields: readonly (string | null)[]): Head {
  const [seq, cursor, relayed, projected, snapshot, previous] = fields;
  return {
    seq: Number(seq ?? 0),
    cursor: cursor ?? NO_CURSOR,
    relayed: Number(relayed ?? 0),
    projected: Number(projected ?? 0),
    snapshot: Number(snapshot ?? 0),
    previous: Number(previous ?? 0),
  };
}

export type StreamReply = [key: string, messages: [id: string, fields: string[]][]][] | null;

export function messagesOf(
  messages: readonly (readonly [id: string, fields: string[]])[],
): readonly Message[] {
  return messages.map(([id, fields]) => ({ id, body: fields[1] ?? "" }));
}

/** The members of a sorted set with their scores. */
export function scoresOf(reply: readonly string[]): ReadonlyMap<string, number> {
  const scores = new Map<string, number>();
  for (let i = 0; i + 1 < reply.length; i += 2) scores.set(reply[i] ?? "", Number(reply[i + 1]));
  return scores;
}

/** The one place where the error codes of `commit.lua` are told apart. */
export function commitOutcome(reply: string): CommitOutcome {
  const [kind, which = ""] = reply.split(" ");
  if (kind === "ok") return { kind };
  if (kind === "fenced") return { kind, partition: which };
  return { kind: "conflict", actor: which as ActorId };
}

/** The results of a pipeline; throws its first error. */
export async function results(pipeline: {
  exec(): Promise<[Error | null, unknown][] | null>;
}): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

/** How much of its memory limit a server uses, from its own report; 0 without a limit. */
export function memoryUseOf(info: string): number {
  const used = Number(/used_memory:(\d+)/.exec(info)?.[1] ?? 0);
  const limit = Number(/maxmemory:(\d+)/.exec(info)?.[1] ?? 0);
  return limit === 0 ? 0 : used / limit;
}
