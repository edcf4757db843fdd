/**
 * The facts by which an actor applies every command once: the last seq applied from each other actor, the answers given
 * to command ids, each until its time, and the commands that finish what the last one began. An inbox is part of the
 * actor's state: its entries fold into it, and its snapshots contain it.
 */

import type { ActorId } from "../../actors/actor.js";
import { endsRunAt, runsOf } from "../../actors/runs.js";
import { unreachable } from "../../actors/unreachable.js";
import type { Entry } from "../log/ports.js";

/** An answer that is repeated to the same command id until `untilMs` (Unix ms). */
export interface Answer {
  readonly id: string;
  readonly reply: unknown;
  readonly untilMs: number;
}

export interface SavedInbox {
  readonly sources: Readonly<Record<string, number>>;
  readonly answers: readonly (readonly [id: string, reply: unknown, untilMs: number])[];
  readonly unfinished?: readonly unknown[] | undefined;
}

/** Part of a saved inbox. */
type InboxPart =
  | readonly ["sources", sources: readonly (readonly [source: string, seq: number])[]]
  | readonly ["answers", answers: SavedInbox["answers"]]
  | readonly ["unfinished", commands: readonly unknown[]];

/** Yields a saved inbox in parts of bounded size. */
export function* inboxParts({ sources, answers, unfinished }: SavedInbox): Generator<string> {
  for (const run of runsOf(Object.entries(sources), ([source]) => endsRunAt(source)))
    yield JSON.stringify(["sources", run] satisfies InboxPart);
  for (const run of runsOf(answers, ([id]) => endsRunAt(id)))
    yield JSON.stringify(["answers", run] satisfies InboxPart);
  if (unfinished !== undefined) yield JSON.stringify(["unfinished", unfinished] satisfies InboxPart);
}

export class Inbox {
  readonly #sources: Map<string, number>;
  /** In the order in which the answers were given. */
  readonly #answers: Map<string, Answer>;
  #unfinished: readonly unknown[];

  constructor(saved: SavedInbox = { sources: {}, answers: [] }) {
    this.#sources = new Map(Object.entries(saved.sources));
    this.#answers = new Map(saved.answers.map(([id, reply, untilMs]) => [id, { id, reply, untilMs }]));
    this.#unfinished = saved.unfinished ?? [];
  }

  /** The commands that the actor takes before any other, in order. */
  get unfinished(): readonly unknown[] {
    return this.#unfinished;
  }

  /** Records the commands that are left. */
  leave(unfinished: readonly unknown[]): void {
    this.#unfinished = unfinished;
  }

  /** Adds a part of a saved inbox, in the order of `inboxParts`. */
  addPart(part: string): void {
    const saved = JSON.parse(part) as InboxPart;
    switch (saved[0]) {
      case "sources":
        for (const [source, seq] of saved[1]) this.#sources.set(source, seq);
        return;
      case "answers":
        for (const [id, reply, untilMs] of saved[1]) this.#answers.set(id, { id, reply, untilMs });
        return;
      case "unfinished":
        this.leave(saved[1]);
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

  recordApplied(source: ActorId, seq: number): void {
    this.#sources.set(source, seq);
  }

  /** Returns the answer that was given to a command id, while it is remembered. */
  answerTo(id: string, nowMs: number): Answer | undefined {
    const answer = this.#answers.get(id);
    return answer !== undefined && answer.untilMs >= nowMs ? answer : undefined;
  }

  remember(answer: Answer): void {
    // A map keeps the position of a key that is set again; `forgetExpired` needs the order of the answers.
    this.#answers.delete(answer.id);
    this.#answers.set(answer.id, answer);
  }

  /** Applies the facts of an entry. */
  fold(entry: Entry<unknown>): void {
    for (const [source, seq] of Object.entries(entry.sources)) this.#sources.set(source, seq);
    for (const answer of entry.answers) this.remember(answer);
    this.leave(entry.unfinished ?? []);
  }

  /** Forgets the oldest answers up to the first that is still valid. Expired answers after that one stay for now. */
  forgetExpired(nowMs: number): void {
    for (const { id, untilMs } of this.#answers.values()) {
      if (untilMs >= nowMs) return;
      this.#answers.delete(id);
    }
  }

  /** Returns the content for a snapshot, without the answers that have expired. */
  save(nowMs: number): SavedInbox {
    return {
      sources: Object.fromEntries(this.#sources),
      answers: [...this.#answers.values()]
        .filter(({ untilMs }) => untilMs >= nowMs)
        .map(({ id, reply, untilMs }) => [id, reply, untilMs]),
      unfinished: this.#unfinished.length > 0 ? this.#unfinished : undefined,
    };
  }
}
