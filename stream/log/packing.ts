/**
 * The stored form of envelopes, entries, snapshots and replies. Parsing a malformed one throws.
 *
 * Envelopes, entries and snapshots carry their format; silence is format 1. A reader has one function for each format,
 * which returns the form in memory, and throws `NewerFormat` for a format that this build does not read. The build of
 * format 1 reads no format. A later form therefore contains something unknown to it, a tripwire, so that it stops
 * instead of reading half of the meaning. Replies have no format, because an actor answers only what a process asks.
 */

import { createHash } from "node:crypto";
import type { ActorId, Batch } from "../../actors/actor.js";
import { type Format, FORMATS, LATEST_FORMAT, OLDEST_FORMAT } from "../../actors/format.js";
import { packCommands, unpackCommands } from "../../actors/packed/commands.js";
import { packBatches, packReply, unpackBatches, unpackReply } from "../../actors/packed/packed.js";
import type { Snapshot, StoredEntry, Publication } from "./log.js";
import type { Answered, Entry } from "./ports.js";

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
  /** Format of the commands (default 1). */
  readonly format?: Format | undefined;
  /**
   * Removed actors of which no message up to these seqs can come any more. Older builds ignore the field: they remember
   * the actors.
   */
  readonly forgotten?: Readonly<Record<string, number>> | undefined;
}

/** A mailbox message is malformed. The runtime skips it. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

/** A stored entry or snapshot cannot be read. An operator must repair the log before the actor can run. */
export class CorruptLog extends Error {
  override readonly name: string = "CorruptLog";
}

/**
 * Data of a newer build. Its reader stops handling the actor concerned, and the operator must run a build that reads
 * the format.
 */
export class NewerFormat extends CorruptLog {
  override readonly name = "NewerFormat";

  constructor(what: string, format: unknown) {
    super(
      `${what} has format ${String(format)}, and this build reads formats up to ${LATEST_FORMAT}: ` +
        "run a build that reads it",
    );
  }
}

/** Returns the format that a stored value carries. Throws `NewerFormat`, in which `what` names the value. */
function formatOf(value: unknown, what: string): Format {
  if (value === undefined) return OLDEST_FORMAT;
  const format = FORMATS.find((known) => known === value);
  if (format === undefined) throw new NewerFormat(what, value);
  return format;
}

/** Commands at which a market and a ledger of the build of format 1 stop, and keep the message. */
const TRIPWIRE_COMMANDS: readonly unknown[] = [{ kind: "effects" }, { kind: "enter" }];

/** Packs an envelope. One between actors has a tripwire from format 2 on, because skipping it would lose money. */
export function packEnvelope(envelope: Envelope): string {
  const { format = OLDEST_FORMAT, source, commands } = envelope;
  if (format === OLDEST_FORMAT) return JSON.stringify({ ...envelope, format: undefined });
  if (source === undefined) return JSON.stringify(envelope);
  const sent = format === 2 ? commands : packCommands(commands);
  return JSON.stringify({ ...envelope, commands: TRIPWIRE_COMMANDS, sent });
}

type CommandsReader = (packed: Record<string, unknown>) => unknown;

const readTrippedCommands: CommandsReader = ({ source, commands, sent }) =>
  source === undefined ? commands : sent;

const readTuples: CommandsReader = (packed) => {
  const commands = readTrippedCommands(packed);
  return packed["source"] !== undefined && Array.isArray(commands) ? unpackCommands(commands) : commands;
};

/** Commands of a packed envelope, by format. */
const COMMANDS_OF: Readonly<Record<Format, CommandsReader>> = {
  1: ({ commands }) => commands,
  2: readTrippedCommands,
  3: readTuples,
  4: readTuples,
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isActor(value: unknown): boolean {
  return typeof value === "string" && /^(market|ledger):./.test(value);
}

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

/**
 * Parses a message, except for its commands, which the actor checks. Throws `MalformedMessage` for a message that may
 * be skipped, and `NewerFormat` for one that another build can read.
 */
export function parseEnvelope(body: string): Envelope {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new MalformedMessage("the message is not JSON");
  }
  if (!isObject(value)) throw new MalformedMessage("the message has no commands");
  const { source, seq, id, replyTo, rememberMs, notAfterMs, forgotten } = value;
  const what = typeof source === "string" ? `message ${String(seq)} of ${source}` : `command ${String(id)}`;
  const format = formatOf(value["format"], what);
  const commands = COMMANDS_OF[format](value);
  if (!Array.isArray(commands)) throw new MalformedMessage("the message has no commands");
  const isWellFormed =
    (source === undefined ? seq === undefined : isActor(source) && isCount(seq)) &&
    (id === undefined || isText(id)) &&
    (replyTo === undefined || isText(replyTo)) &&
    (rememberMs === undefined || isCount(rememberMs)) &&
    (notAfterMs === undefined || isCount(notAfterMs)) &&
    (forgotten === undefined || (isObject(forgotten) && Object.values(forgotten).every(isCount)));
  if (!isWellFormed) throw new MalformedMessage("a field of the message has the wrong type");
  return { source, seq, id, replyTo, rememberMs, notAfterMs, format, commands, forgotten } as Envelope;
}

type PackedBatch = [ts: number, deltas: unknown[]];
type PackedAnswer = [id: string, reply: unknown, untilMs: number];
type PackedEntry = [
  cursor: string,
  sources: Record<string, number>,
  answers: PackedAnswer[],
  batches: PackedBatch[],
  /** Keeps its place in every format. */
  format?: number,
  unfinished?: readonly unknown[] | null,
  resumed?: [after: number, lineage: string] | null,
  /** Older builds ignore the item: they halt the actor when this work fails. */
  unfinishedOf?: string,
];

/** First batch of an entry from format 2 on. No reader of the build of format 1 folds or projects its delta. */
const TRIPWIRE_BATCH: PackedBatch = [0, [{ type: "format" }]];

/** Packs an entry. Throws for unfinished work and a new incarnation in format 1, which has no form for them. */
export function packEntry(entry: Entry<unknown>): string {
  const { cursor, sources, format = OLDEST_FORMAT, unfinished, unfinishedOf, resumed } = entry;
  const [answers, batches] = PACKED_FACTS[format](entry);
  if (format === OLDEST_FORMAT) {
    if (unfinished !== undefined || resumed !== undefined)
      throw new Error(`entry ${entry.seq} of ${entry.actor} has no form in format ${format}`);
    return JSON.stringify([cursor, sources, answers, batches] satisfies PackedEntry);
  }
  const packed: PackedEntry = [cursor, sources, answers, [TRIPWIRE_BATCH, ...batches], format];
  if (unfinished !== undefined || resumed !== undefined) packed.push(unfinished ?? null);
  if (resumed !== undefined) packed.push([resumed.after, resumed.lineage]);
  else if (unfinishedOf !== undefined) packed.push(null);
  if (unfinishedOf !== undefined) packed.push(unfinishedOf);
  return JSON.stringify(packed);
}

/** The answers and the batches of an entry. */
type Facts = Pick<Entry<unknown>, "answers" | "batches">;
type PackedFacts = readonly [PackedAnswer[], PackedBatch[]];

/** Packs the answers and the batches of an entry, by format. */
const PACKED_FACTS: Readonly<Record<Format, (entry: Entry<unknown>) => PackedFacts>> = {
  1: inFull,
  2: inFull,
  3: asTuples,
  4: asTuples,
};

function asTuples({ actor, answers, batches }: Entry<unknown>): PackedFacts {
  return [
    answers.map(({ id, reply, untilMs }) => [id, packReply(actor, reply), untilMs]),
    packBatches(actor, batches),
  ];
}

function inFull({ answers, batches }: Facts): PackedFacts {
  return [
    answers.map(({ id, reply, untilMs }) => [id, reply, untilMs]),
    batches.map(({ ts, deltas }) => [ts, [...deltas]]),
  ];
}

/** Unpacks the answers and the batches of an entry, by format. */
const FACTS_OF: Readonly<Record<Format, (actor: ActorId, packed: PackedEntry) => Facts>> = {
  1: (_actor, [, , answers, batches]) => fromFull(answers, batches),
  2: (_actor, [, , answers, batches]) => fromFull(answers, batches.slice(1)),
  3: fromTuples,
  4: fromTuples,
};

function fromTuples(actor: ActorId, [, , answers, batches]: PackedEntry): Facts {
  return {
    answers: answers.map(([id, reply, untilMs]) => ({ id, reply: unpackReply(actor, reply), untilMs })),
    batches: unpackBatches(actor, batches.slice(1)),
  };
}

function fromFull(answers: readonly PackedAnswer[], batches: readonly PackedBatch[]): Facts {
  return {
    answers: answers.map(([id, reply, untilMs]) => ({ id, reply, untilMs })),
    batches: batches.map(([ts, deltas]): Batch<unknown> => ({ ts, deltas })),
  };
}

/** Parses an entry. Throws `CorruptLog`, or `NewerFormat`. */
export function parseEntry(actor: ActorId, { seq, body }: StoredEntry): Entry<unknown> {
  try {
    const packed = JSON.parse(body) as PackedEntry;
    const [cursor, sources, , , , unfinished, resumed, unfinishedOf] = packed;
    const format = formatOf(packed[4], `entry ${seq} of ${actor}`);
    return {
      actor,
      seq,
      cursor,
      sources,
      ...FACTS_OF[format](actor, packed),
      ...(resumed && { resumed: { after: resumed[0], lineage: resumed[1] } }),
      format,
      ...(unfinished && { unfinished }),
      ...(unfinishedOf !== undefined && { unfinishedOf }),
    };
  } catch (error) {
    if (error instanceof NewerFormat) throw error;
    throw new CorruptLog(`entry ${seq} of ${actor} cannot be read`, { cause: error });
  }
}

/** Returns true for the entry that follows the entry `afterSeq` of its actor. */
export function continues(
  { seq, resumed }: Pick<Entry<unknown>, "seq" | "resumed">,
  afterSeq: number,
): boolean {
  return (resumed?.after ?? seq - 1) === afterSeq;
}

/** Length of the hash of a part: 132 bits of SHA-256, because a snapshot may name thousands of parts. */
const PART_HASH_LENGTH = 22;

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Returns the hash under which a part of a snapshot is stored. */
export function partHash(body: string): string {
  return createHash("sha256").update(body).digest("base64url").slice(0, PART_HASH_LENGTH);
}

/**
 * Packs a saved state, with its hash. From format 2 on the state is in a field that the build of format 1 does not read.
 */
export function packSnapshot(seq: number, cursor: string, saved: unknown, format: Format): Snapshot {
  const body = JSON.stringify(format === OLDEST_FORMAT ? saved : { format, saved });
  return { seq, cursor, hash: sha256(body), body };
}

type SavedReader = (body: { readonly saved?: unknown }) => unknown;

const readSavedField: SavedReader = ({ saved }) => saved;

/** Saved state in the body of a snapshot, by format. */
const SAVED_OF: Readonly<Record<Format, SavedReader>> = {
  1: (body) => body,
  2: readSavedField,
  3: readSavedField,
  4: readSavedField,
};

/** Returns the saved state and its format. Throws `CorruptLog` when the hash does not match the body, or `NewerFormat`. */
export function parseSnapshot(
  actor: ActorId,
  { seq, hash, body }: Snapshot,
): { readonly format: Format; readonly saved: unknown } {
  if (sha256(body) !== hash)
    throw new CorruptLog(`the snapshot of ${actor} at ${seq} does not match its hash`);
  const packed = JSON.parse(body) as { readonly format?: unknown; readonly saved?: unknown };
  const format = formatOf(packed.format, `the snapshot of ${actor} at ${seq}`);
  return { format, saved: SAVED_OF[format](packed) };
}

export interface Reply {
  /** Feed of the process that sent the command. */
  readonly to: string;
  readonly id: string;
  readonly reply: unknown;
  /** Set on the answer to a repeat: an earlier command with the same id got it first. */
  readonly repeated?: true;
}

/** Packed answer. The builds before format 3 write and read the first two items. */
type PackedReply = [id: string, reply: unknown, repeated?: 1];

/**
 * Returns the feed on which a process receives its answers. When an answer is lost, the process sends the command again,
 * and the actor repeats the answer.
 */
export function replyFeed(process: string): string {
  return `replies:${process}`;
}

/** Packs answers into one publication for each feed. */
export function publicationsOf(replies: readonly Reply[]): readonly Publication[] {
  const byFeed = new Map<string, PackedReply[]>();
  for (const { to, id, reply, repeated } of replies) {
    const packed: PackedReply = repeated === true ? [id, reply, 1] : [id, reply];
    const sameFeed = byFeed.get(to);
    if (sameFeed === undefined) byFeed.set(to, [packed]);
    else sameFeed.push(packed);
  }
  return [...byFeed].map(([feed, packed]) => ({ feed, body: JSON.stringify(packed) }));
}

export function parseReplies(body: string): readonly (Answered<unknown> & { readonly id: string })[] {
  return (JSON.parse(body) as PackedReply[]).map(([id, reply, repeated]) => ({
    id,
    reply,
    repeated: repeated === 1,
  }));
}

/**
 * A command of a gateway, a job or an operator on which its actor has failed. The message leaves the mailbox without an
 * effect, so that the actor goes on. A message of another actor is never put into the quarantine: skipping it would lose
 * money, so its receiver is halted.
 */
export interface QuarantinedMessage {
  readonly actor: ActorId;
  /** Engine time of the failure, Unix ms. */
  readonly ts: number;
  /** Message of the error. */
  readonly reason: string;
  /** The message as the mailbox had it, or what is left to do of a command that has begun. */
  readonly body: string;
}

export function packQuarantined({ actor, ts, reason, body }: QuarantinedMessage): string {
  return JSON.stringify({ actor, ts, reason, body });
}

export function parseQuarantined(packed: string): QuarantinedMessage {
  return JSON.parse(packed) as QuarantinedMessage;
}

/** Answer to a command in quarantine. A repeat of the command gets it too, and is not executed. */
export const QUARANTINED_REPLY = { ok: false, quarantined: true } as const;

export function isQuarantinedReply(reply: unknown): boolean {
  return typeof reply === "object" && reply !== null && "quarantined" in reply;
}
