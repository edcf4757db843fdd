/**
 * The facts by which an actor applies every command once: the last seq applied from each other actor, the answers given
 * to command ids, each until its time, and the commands that finish what the last one began. An inbox is part of the
 * actor's state: its entries fold into it, and its snapshots contain it.
 */

import { type ActorId, fnv1a } from "../../actors/actor.js";
import { endsRunAt, runsOf } from "../../actors/runs.js";
import { unreachable } from "../../actors/unreachable.js";
import type { Entry } from "../log/ports.js";

/** An answer that is repeated to the same command id until `untilMs` (Unix ms). */
export interface Answer {
  readonly id: string;
  readonly reply: unknown;
  readonly untilMs: number;
}

/** Content of an inbox. */
interface Content<Reply> {
  readonly sources: Readonly<Record<string, number>>;
  readonly answers: readonly (readonly [id: string, reply: Reply, untilMs: number])[];
  readonly unfinished?: readonly unknown[] | undefined;
  readonly unfinishedOf?: string | undefined;
}

/** Content of an inbox in a snapshot that is one value. */
export type WholeInbox = Content<unknown>;

/** Content of an inbox, with the replies as JSON. */
export type SavedInbox = Content<string>;

/** Part of a saved inbox. */
type InboxPart =
  | readonly ["sources", sources: readonly (readonly [source: string, seq: number])[]]
  | readonly ["answers", answers: WholeInbox["answers"]]
  | readonly ["unfinished", commands: readonly unknown[], of?: string | undefined];

/** Returns a saved inbox as one value. */
export function wholeInbox({ answers, ...saved }: SavedInbox): WholeInbox {
  return {
    ...saved,
    answers: answers.map(([id, reply, untilMs]) => [id, JSON.parse(reply) as unknown, untilMs]),
  };
}

/** Average length of a part with answers. That of a batch takes 2 KB, so a number of them would bound no length. */
const PART_CHARS = 32 * 1024;

/** Yields a saved inbox in parts of bounded size. */
export function* inboxParts({ sources, answers, unfinished, unfinishedOf }: SavedInbox): Generator<string> {
  for (const run of runsOf(Object.entries(sources), ([source]) => endsRunAt(source)))
    yield JSON.stringify(["sources", run] satisfies InboxPart);
  const texts = answers.map(([id, reply, untilMs]) => ({
    id,
    text: `[${JSON.stringify(id)},${reply},${untilMs}]`,
  }));
  for (const run of runsOf(texts, ({ id, text }) => fnv1a(id) % Math.ceil(PART_CHARS / text.length) === 0))
    yield `["answers",[${run.map(({ text }) => text).join()}]]`;
  if (unfinished === undefined) return;
  const work: InboxPart = ["unfinished", unfinished];
  yield JSON.stringify(unfinishedOf === undefined ? work : [...work, unfinishedOf]);
}

/** Size of the first buffer of replies. The reply to one order takes about 256 bytes. */
const FIRST_REPLY_BYTES = 512;

/** Where a reply stands in the buffer of its group. */
interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * The answers that expire in one second. Their replies are JSON in one buffer: as texts, those to batches would be a quarter of
 * the heap of a busy worker, and every collection of garbage would visit them.
 */
class Group {
  readonly ids: string[] = [];
  #replies: Buffer;
  #length = 0;

  constructor(bytes: number) {
    this.#replies = Buffer.allocUnsafeSlow(Math.max(FIRST_REPLY_BYTES, bytes));
  }

  /** Bytes of the replies. */
  get length(): number {
    return this.#length;
  }

  add(id: string, reply: string): Place {
    const start = this.#length;
    const end = start + Buffer.byteLength(reply);
    if (end > this.#replies.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * this.#replies.length));
      this.#replies.copy(larger, 0, 0, start);
      this.#replies = larger;
    }
    this.#replies.write(reply, start);
    this.#length = end;
    this.ids.push(id);
    return { start, end };
  }

  /** Returns a reply as JSON. */
  replyAt({ start, end }: Place): string {
    return this.#replies.toString("utf8", start, end);
  }
}

/** An answer in memory. */
interface Remembered extends Place {
  readonly group: Group;
  readonly untilMs: number;
}

export class Inbox {
  readonly #sources: Map<string, number>;
  readonly #answers = new Map<string, Remembered>();
  /** The answers by the second in which they expire. */
  readonly #groups = new Map<number, Group>();
  /** The group that was begun last. The next one begins with as much room as it took, so that few buffers are outgrown. */
  #lastGroup: Group | undefined;
  /** Second up to which answers were forgotten. */
  #forgottenTo = 0;
  #unfinished: readonly unknown[];
  #unfinishedOf: string | undefined;

  constructor(saved: WholeInbox = { sources: {}, answers: [] }) {
    this.#sources = new Map(Object.entries(saved.sources).filter(([, seq]) => seq > 0));
    for (const [id, reply, untilMs] of saved.answers) this.remember({ id, reply, untilMs });
    this.#unfinished = saved.unfinished ?? [];
    this.#unfinishedOf = saved.unfinishedOf;
  }

  /** The commands that the actor takes before any other, in order. */
  get unfinished(): readonly unknown[] {
    return this.#unfinished;
  }

  /** Id of the command of a process that has begun the unfinished work; `undefined` for other work, and for none. */
  get unfinishedOf(): string | undefined {
    return this.#unfinishedOf;
  }

  /** Records the commands that are left, and the id of the command of a process that has begun them. */
  leave(unfinished: readonly unknown[], of?: string): void {
    this.#unfinished = unfinished;
    this.#unfinishedOf = unfinished.length > 0 ? of : undefined;
  }

  /** Adds a part of a saved inbox, in the order of `inboxParts`. */
  addPart(part: string): void {
    const saved = JSON.parse(part) as InboxPart;
    switch (saved[0]) {
      case "sources":
        for (const [source, seq] of saved[1]) this.recordApplied(source, seq);
        return;
      case "answers":
        for (const [id, reply, untilMs] of saved[1]) this.remember({ id, reply, untilMs });
        return;
      case "unfinished":
        this.leave(saved[1], saved[2]);
        return;
      default:
        unreachable(saved);
    }
  }

  /** Returns the last seq applied from an actor, 0 before the first. */
  lastSeqOf(source: ActorId): number {
    return this.#sources.get(source) ?? 0;
  }

  /** Returns true for a message that was applied already. */
  hasApplied(source: ActorId, seq: number): boolean {
    return seq <= this.lastSeqOf(source);
  }

  /** Records the last seq applied from an actor. The seq 0 forgets the actor. */
  recordApplied(source: string, seq: number): void {
    if (seq === 0) this.#sources.delete(source);
    else this.#sources.set(source, seq);
  }

  /** The last seq applied from each actor that is not forgotten. */
  get sources(): ReadonlyMap<string, number> {
    return this.#sources;
  }

  /** Returns the answer that was given to a command id, while it is remembered. */
  answerTo(id: string, nowMs: number): Answer | undefined {
    const known = this.#answers.get(id);
    if (known === undefined || known.untilMs < nowMs) return undefined;
    return { id, reply: JSON.parse(known.group.replyAt(known)) as unknown, untilMs: known.untilMs };
  }

  /** Number of answers in memory, with those that have expired in the present second. */
  get answers(): number {
    return this.#answers.size;
  }

  remember({ id, reply, untilMs }: Answer): void {
    const second = secondOf(untilMs);
    const group = this.#groups.get(second) ?? this.#begin(second);
    this.#answers.set(id, { group, ...group.add(id, JSON.stringify(reply)), untilMs });
  }

  #begin(second: number): Group {
    const group = new Group(this.#lastGroup?.length ?? 0);
    this.#groups.set(second, group);
    this.#lastGroup = group;
    return group;
  }

  /** Applies the facts of an entry. */
  fold(entry: Entry<unknown>): void {
    for (const [source, seq] of Object.entries(entry.sources)) this.recordApplied(source, seq);
    for (const answer of entry.answers) this.remember(answer);
    this.leave(entry.unfinished ?? [], entry.unfinishedOf);
  }

  /** Forgets the answers that expired before the present second. */
  forgetExpired(nowMs: number): void {
    const now = secondOf(nowMs);
    if (now <= this.#forgottenTo) return;
    this.#forgottenTo = now;
    for (const [second, group] of this.#groups) {
      if (second >= now) continue;
      this.#groups.delete(second);
      if (this.#lastGroup === group) this.#lastGroup = undefined;
      // An answer that was given again is in another group.
      for (const id of group.ids) if (this.#answers.get(id)?.group === group) this.#answers.delete(id);
    }
  }

  /** Returns the content for a snapshot, without the answers that have expired. */
  save(nowMs: number): SavedInbox {
    return {
      sources: Object.fromEntries(this.#sources),
      answers: [...this.#answers].flatMap(([id, known]) =>
        known.untilMs >= nowMs ? [[id, known.group.replyAt(known), known.untilMs] as const] : [],
      ),
      unfinished: this.#unfinished.length > 0 ? this.#unfinished : undefined,
      unfinishedOf: this.#unfinishedOf,
    };
  }
}

function secondOf(ms: number): number {
  return Math.floor(ms / 1_000);
}
