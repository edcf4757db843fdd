/** Conversion of Redis replies into the types of `log/log.ts`. */

import type { ActorId } from "../../actors/actor.js";
import {
  type CommitOutcome,
  type Head,
  type Heartbeat,
  type LiveWorker,
  type Message,
  NO_CURSOR,
} from "../log/log.js";
import type { Keys } from "./keys.js";

export const HEAD_FIELDS = [
  "seq",
  "cursor",
  "relayed",
  "projected",
  "snapshot",
  "previous",
  "lineage",
] as const;

export function headOf(fields: readonly (string | null)[]): Head {
  const [seq, cursor, relayed, projected, snapshot, previous, lineage] = fields;
  return {
    seq: Number(seq ?? 0),
    cursor: cursor ?? NO_CURSOR,
    relayed: Number(relayed ?? 0),
    projected: Number(projected ?? 0),
    snapshot: Number(snapshot ?? 0),
    previous: Number(previous ?? 0),
    lineage: lineage ?? "",
  };
}

export type StreamReply = [key: string, messages: [id: string, fields: string[]][]][] | null;

export function messagesOf(
  messages: readonly (readonly [id: string, fields: string[]])[],
): readonly Message[] {
  return messages.map(([id, fields]) => ({ id, body: fields[1] ?? "" }));
}

/** Returns the members of a sorted set with their scores. */
export function scoresOf(reply: readonly string[]): ReadonlyMap<string, number> {
  const scores = new Map<string, number>();
  for (let i = 0; i + 1 < reply.length; i += 2) scores.set(reply[i] ?? "", Number(reply[i + 1]));
  return scores;
}

/** Returns the keys and the arguments of `heartbeat.lua`. */
export function heartbeatCall(keys: Keys, { worker, leaseMs, takes }: Heartbeat) {
  return {
    keys: [keys.workers(), keys.workerRecords(), keys.timeInService()],
    args: [worker, leaseMs, takes ? "1" : "0"],
  };
}

/** Converts the reply of `heartbeat.lua`. */
export function liveWorkers(reply: readonly string[]): readonly LiveWorker[] {
  const workers: LiveWorker[] = [];
  for (let i = 0; i + 2 < reply.length; i += 3) {
    workers.push({ name: reply[i] ?? "", liveMs: Number(reply[i + 1]), takes: reply[i + 2] === "1" });
  }
  return workers;
}

/** Converts the reply of `commit.lua`. */
export function commitOutcome(reply: string): CommitOutcome {
  const [kind, name = ""] = reply.split(" ");
  if (kind === "ok") return { kind };
  if (kind === "fenced") return { kind, partition: name };
  return { kind: "conflict", actor: name as ActorId };
}

/** Returns the results of a pipeline. Throws its first error. */
export async function results(pipeline: {
  exec(): Promise<[Error | null, unknown][] | null>;
}): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, result]) => {
    if (error !== null) throw error;
    return result;
  });
}

/** Returns the used share of the memory limit from the `INFO memory` of a server; 0 without a limit. */
export function memoryUseOf(info: string): number {
  const used = Number(/used_memory:(\d+)/.exec(info)?.[1] ?? 0);
  const limit = Number(/maxmemory:(\d+)/.exec(info)?.[1] ?? 0);
  return limit === 0 ? 0 : used / limit;
}
