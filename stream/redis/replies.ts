/** Conversion of Redis replies into the types of `log/log.ts`. */

import { Redis } from "ioredis";
import type { ActorId } from "../../actors/actor.js";
import {
  type AppendOutcome,
  type CommitOutcome,
  type ConfirmedJump,
  type Head,
  type Heartbeat,
  type LiveWorker,
  type ActorSize,
  type LogCondition,
  type LogTime,
  type Message,
  type Unprojected,
  NO_CURSOR,
  WriteRefused,
} from "../log/log.js";
import type { Connection } from "./connection.js";
import type { Keys } from "./keys.js";

export const HEAD_FIELDS = [
  "seq",
  "cursor",
  "relayed",
  "projected",
  "snapshot",
  "previous",
  "lineage",
  "removed",
] as const;

export function headOf(fields: readonly (string | null)[]): Head {
  const [seq, cursor, relayed, projected, snapshot, previous, lineage, removed] = fields;
  return {
    seq: Number(seq ?? 0),
    cursor: cursor ?? NO_CURSOR,
    relayed: Number(relayed ?? 0),
    projected: Number(projected ?? 0),
    snapshot: Number(snapshot ?? 0),
    previous: Number(previous ?? 0),
    lineage: lineage ?? "",
    ...(removed === null || removed === undefined ? {} : { removed }),
  };
}

/** Converts a character of the reply of `append.lua`. */
export function appendOutcome(character: string | undefined): AppendOutcome {
  if (character === "2") return "removed";
  if (character === "3") return "fenced";
  return character === "1" ? "appended" : "full";
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

/** Converts the reply of `unprojected.lua`. */
export function unprojectedActors(reply: unknown): readonly Unprojected[] {
  const fields = reply as string[];
  return Array.from({ length: fields.length / 3 }, (_, n) => ({
    actor: fields[3 * n] as ActorId,
    seq: Number(fields[3 * n + 1]),
    projected: Number(fields[3 * n + 2]),
  }));
}

/** Converts the reply of `time.lua`. */
export function logTime(reply: unknown): LogTime {
  const [logMs, heldMs, confirmed, engineMs, lastJump] = reply as [string, string, string, string, string];
  return {
    logMs: Number(logMs),
    heldMs: Number(heldMs),
    confirmed: Number(confirmed),
    engineMs: engineMs === "" ? undefined : Number(engineMs),
    lastJump: confirmedJump(lastJump),
  };
}

/** Reads the record of the last confirmation. */
export function confirmedJump(record: string): ConfirmedJump | undefined {
  if (record === "") return undefined;
  const [atMs, heldMs] = record.split(" ").map(Number);
  return { atMs: atMs ?? 0, heldMs: heldMs ?? 0 };
}

/** Age in ms after which the record of a process about its host counts no more. */
const HOST_RECORD_MS = 10_000;

/** Returns the differences that processes have recorded of late. */
export function recentDifferences(
  records: Readonly<Record<string, string>>,
  nowMs: number,
): Readonly<Record<string, number>> {
  const differences: Record<string, number> = {};
  for (const [name, record] of Object.entries(records)) {
    const [differenceMs = 0, atMs = 0] = record.split(" ").map(Number);
    if (Math.abs(nowMs - atMs) <= HOST_RECORD_MS) differences[name] = differenceMs;
  }
  return differences;
}

/** Returns the nodes of a reply of `CLUSTER SLOTS`, which names each primary and its replicas with their slots. */
export function nodesOf(
  reply: readonly unknown[],
): readonly (readonly [host: string | null, port: number])[] {
  return reply.flatMap(
    (range) =>
      (range as [number, number, ...[string | null, number][]]).slice(2) as [string | null, number][],
  );
}

/** Converts the reply of `commit.lua`. */
export function commitOutcome(reply: string): CommitOutcome {
  const [kind, name = ""] = reply.split(" ");
  if (kind === "ok") return { kind };
  if (kind === "fenced") return { kind, partition: name };
  return { kind: kind === "removed" ? kind : "conflict", actor: name as ActorId };
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

/**
 * Sends commands that read keys of one partition, and returns their replies. Throws the first error. On a cluster each is
 * sent by itself: while a slot moves, the client would send a whole pipeline to the node of one key, and get nothing for
 * the keys on the other node.
 */
export async function readAll(
  connection: Connection,
  commands: readonly (readonly [name: string, ...args: string[]])[],
): Promise<readonly unknown[]> {
  if (connection instanceof Redis)
    return results(connection.pipeline(commands.map((command) => [...command])));
  return Promise.all(commands.map(([name, ...args]) => connection.call(name, ...args)));
}

/** Number of replies for the size of one actor. */
const SIZE_REPLIES = 7;

/** Converts the replies for the sizes of actors. A key that is absent has no size. */
export function actorSizes(replies: readonly (number | null)[]): readonly ActorSize[] {
  const sizes: ActorSize[] = [];
  for (let i = 0; i < replies.length; i += SIZE_REPLIES) {
    const [entries = 0, messages = 0, deltaBytes = 0, mailboxBytes = 0, latest = 0, previous = 0, parts = 0] =
      replies.slice(i, i + SIZE_REPLIES).map((reply) => reply ?? 0);
    sizes.push({
      deltas: { entries, bytes: deltaBytes },
      mailbox: { entries: messages, bytes: mailboxBytes },
      snapshotBytes: latest + previous + parts,
    });
  }
  return sizes;
}

/** Returns the room that a server has left, from its `INFO memory` and `INFO persistence`. */
export function conditionOf(info: string): LogCondition {
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1] ?? 0);
  const limit = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0);
  const canWrite = !/^aof_last_write_status:(?!ok)/m.test(info);
  return {
    memoryUse: limit === 0 ? 0 : used / limit,
    memoryBytes: used,
    memoryLimitBytes: limit,
    fault: canWrite ? undefined : "Redis cannot write its append-only file; free space on its disk",
  };
}

/** Errors with which Redis refuses a write before it has any effect, and their causes. */
const REFUSALS: readonly (readonly [code: string, cause: string])[] = [
  ["OOM", "the memory of Redis is full"],
  ["MISCONF", "Redis cannot write to its disk"],
  ["READONLY", "Redis is a replica, which takes no writes"],
  ["NOREPLICAS", "Redis has too few replicas to take writes"],
];

/** Returns an error of an append as `WriteRefused` if Redis refused the write, and any other error unchanged. */
export function appendError(error: unknown): unknown {
  const text = error instanceof Error ? error.message : "";
  const cause = REFUSALS.find(([code]) => text.startsWith(`${code} `))?.[1];
  return cause === undefined ? error : new WriteRefused(cause, { cause: error });
}
