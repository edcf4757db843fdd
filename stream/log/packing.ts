/** The stored form of envelopes, entries, snapshots and replies. Parsing a malformed one throws. */

import { createHash } from "node:crypto";
import type { ActorId, Batch } from "../../actors/actor.js";
import type { Snapshot, StoredEntry } from "./log.js";
import type { Entry } from "./ports.js";

/**
 * Content of a mailbox message. A message from an actor has `source` and `seq`, the entry from which it follows. A
 * message from a process has `id`, the identity of the command, and `replyTo`, the feed for the answer.
 */
export interface Envelope {
  readonly commands: readonly unknown[];
  readonly source?: ActorId | undefined;
  readonly seq?: number | undefined;
  readonly id?: string | undefined;
  readonly replyTo?: string | undefined;
  /** Time for which the answer is remembered, in ms; 0 for a command that changes nothing. */
  readonly rememberMs?: number | undefined;
  /** End of the time to wait for the answer (Unix ms). The commands are not executed after it. */
  readonly notAfterMs?: number | undefined;
}

/** A mailbox message is malformed. The runtime skips it. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** A stored entry or snapshot cannot be read. An operator must repair the log before the actor can run. */
export class CorruptLog extends Error {
  override readonly name = "CorruptLog";
}

export function packEnvelope(envelope: Envelope): string {
  return JSON.stringify(envelope);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isActor(value: unknown): boolean {
  return typeof value === "string" && /^(market|ledger):./.test(value);
}

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/** Parses a message, except for its commands, which the actor checks. Throws `MalformedMessage`. */
export function parseEnvelope(body: string): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new MalformedMessage("the message is not JSON");
  }
  if (!isObject(value) || !Array.isArray(value["commands"]))
    throw new MalformedMessage("the message has no commands");
  const { source, seq, id, replyTo, rememberMs, notAfterMs } = value;
  const isWellFormed =
    (source === undefined ? seq === undefined : isActor(source) && isCount(seq)) &&
    (id === undefined || isText(id)) &&
    (replyTo === undefined || isText(replyTo)) &&
    (rememberMs === undefined || isCount(rememberMs)) &&
    (notAfterMs === undefined || isCount(notAfterMs));
  if (!isWellFormed) throw new MalformedMessage("a field of the message has the wrong type");
  return value as unknown as Envelope;
}

type PackedEntry = [
  cursor: string,
  sources: Record<string, number>,
  answers: [id: string, reply: unknown, untilMs: number][],
  batches: [ts: number, deltas: unknown[]][],
];

export function packEntry(entry: Entry<unknown>): string {
  const packed: PackedEntry = [
    entry.cursor,
    entry.sources,
    entry.answers.map(({ id, reply, untilMs }) => [id, reply, untilMs]),
    entry.batches.map(({ ts, deltas }) => [ts, [...deltas]]),
  ];
  return JSON.stringify(packed);
}

/** Parses an entry. Throws `CorruptLog`. */
export function parseEntry(actor: ActorId, { seq, body }: StoredEntry): Entry<unknown> {
  try {
    const [cursor, sources, answers, batches] = JSON.parse(body) as PackedEntry;
    return {
      actor,
      seq,
      cursor,
      sources,
      answers: answers.map(([id, reply, untilMs]) => ({ id, reply, untilMs })),
      batches: batches.map(([ts, deltas]): Batch<unknown> => ({ ts, deltas })),
    };
  } catch (error) {
    throw new CorruptLog(`entry ${seq} of ${actor} cannot be read`, { cause: error });
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Packs a saved state, with its hash. */
export function packSnapshot(seq: number, cursor: string, saved: unknown): Snapshot {
  const body = JSON.stringify(saved);
  return { seq, cursor, hash: sha256(body), body };
}

/** Returns the saved state. Throws `CorruptLog` when the hash does not match the body. */
export function parseSnapshot(actor: ActorId, { seq, hash, body }: Snapshot): unknown {
  if (sha256(body) !== hash)
    throw new CorruptLog(`the snapshot of ${actor} at ${seq} does not match its hash`);
  return JSON.parse(body) as unknown;
}

export interface Reply {
  /** Feed of the process that sent the command. */
  readonly to: string;
  readonly id: string;
  readonly reply: unknown;
}

export function packReplies(replies: readonly Reply[]): string {
  return JSON.stringify(replies.map(({ id, reply }) => [id, reply]));
}

export function parseReplies(body: string): readonly (readonly [id: string, reply: unknown])[] {
  return JSON.parse(body) as [string, unknown][];
}
