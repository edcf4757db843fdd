/** How envelopes, entries, snapshots and replies are written down. Reading one that is not well formed throws. */

import { createHash } from "node:crypto";
import type { ActorId, Batch } from "../../actors/actor.js";
import type { Snapshot, StoredEntry } from "./log.js";
import type { Entry } from "./ports.js";

/**
 * A message in a mailbox. From an actor: `source` and `seq`, the entry it follows from. From anybody else: `id`, the
 * command's identity, and `replyTo`, the feed that the answer goes to.
 */
export interface Envelope {
  readonly commands: readonly unknown[];
  readonly source?: ActorId | undefined;
  readonly seq?: number | undefined;
  readonly id?: string | undefined;
  readonly replyTo?: string | undefined;
  /** How long the answer is remembered; 0 for a question that changes nothing. */
  readonly rememberMs?: number | undefined;
  /** Nobody waits for the answer after this time (Unix ms): then the commands are not carried out. */
  readonly notAfterMs?: number | undefined;
}

/** What came off the wire is not what it should be. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** What was saved cannot be read back; the data has to be mended before the actor can run. */
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

/** Reads a message; throws `MalformedMessage`. What the commands are is for the actor to judge. */
export function parseEnvelope(body: string): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new MalformedMessage("not JSON");
  }
  if (!isObject(value) || !Array.isArray(value["commands"])) throw new MalformedMessage("no commands");
  const { source, seq, id, replyTo, rememberMs, notAfterMs } = value;
  const sound =
    (source === undefined ? seq === undefined : isActor(source) && isCount(seq)) &&
    (id === undefined || isText(id)) &&
    (replyTo === undefined || isText(replyTo)) &&
    (rememberMs === undefined || isCount(rememberMs)) &&
    (notAfterMs === undefined || isCount(notAfterMs));
  if (!sound) throw new MalformedMessage("fields of the wrong type");
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

/** Reads an entry of the log itself; throws `CorruptLog`. */
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

/** Writes down a saved state with its hash. */
export function packSnapshot(seq: number, cursor: string, saved: unknown): Snapshot {
  const body = JSON.stringify(saved);
  return { seq, cursor, hash: sha256(body), body };
}

/** Gives back what was saved; throws `CorruptLog` when the hash is not that of the body. */
export function parseSnapshot(actor: ActorId, { seq, hash, body }: Snapshot): unknown {
  if (sha256(body) !== hash)
    throw new CorruptLog(`the snapshot of ${actor} at ${seq} does not have its hash`);
  return JSON.parse(body) as unknown;
}

export interface Reply {
  /** The feed of whoever asked. */
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
