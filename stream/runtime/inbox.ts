/**
 * What an actor remembers so that every command takes effect once: the last message applied of each actor that
 * writes to it, and the answers it gave, by command id, until their time. Part of the actor's state: folded from its
 * entries and saved in its snapshots.
 */

import type { ActorId } from "../../actors/actor.js";
import type { Entry } from "../log/ports.js";

export interface Answer {
  readonly id: string;
  readonly reply: unknown;
  readonly untilMs: number;
}

export interface SavedInbox {
  readonly sources: Readonly<Record<string, number>>;
  readonly answers: readonly (readonly [id: string, reply: unknown, untilMs: number])[];
}

export class Inbox {
  readonly #sources: Map<string, number>;
  readonly #answers: Map<string, Answer>;

  constructor(saved: SavedInbox = { sources: {}, answers: [] }) {
    this.#sources = new Map(Object.entries(saved.sources));
    this.#answers = new Map(saved.answers.map(([id, reply, untilMs]) => [id, { id, reply, untilMs }]));
  }

  /** The last message applied of an actor, 0 before any. */
  lastSeqOf(source: ActorId): number {
    return this.#sources.get(source) ?? 0;
  }

  /** Whether a message of an actor has been applied already. */
  hasApplied(source: ActorId, seq: number): boolean {
    return seq <= this.lastSeqOf(source);
  }

  recordApplied(source: ActorId, seq: number): void {
    this.#sources.set(source, seq);
  }

  /** The answer given to a command before, while it is remembered. */
  answerTo(id: string, nowMs: number): Answer | undefined {
    const answer = this.#answers.get(id);
    return answer !== undefined && answer.untilMs >= nowMs ? answer : undefined;
  }

  remember(answer: Answer): void {
    // Deleting first keeps the map in the order of giving, which `forget` walks.
    this.#answers.delete(answer.id);
    this.#answers.set(answer.id, answer);
  }

  /** Takes over what an entry says. */
  fold(entry: Entry<unknown>): void {
    for (const [source, seq] of Object.entries(entry.sources)) this.#sources.set(source, seq);
    for (const answer of entry.answers) this.remember(answer);
  }

  /** Drops the oldest answers whose time is over. Those behind a longer-lived one wait for it. */
  forgetExpired(nowMs: number): void {
    for (const { id, untilMs } of this.#answers.values()) {
      if (untilMs >= nowMs) return;
      this.#answers.delete(id);
    }
  }

  /** What a snapshot keeps at the given time. */
  save(nowMs: number): SavedInbox {
    return {
      sources: Object.fromEntries(this.#sources),
      answers: [...this.#answers.values()]
        .filter(({ untilMs }) => untilMs >= nowMs)
        .map(({ id, reply, untilMs }) => [id, reply, untilMs]),
    };
  }
}
