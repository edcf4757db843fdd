/**
 * One actor in memory: its state, its memory of what it has applied, and where it stands in the log. Pure steps:
 * messages and the time go in, a turn comes out. A turn that could not be committed means that the instance is ahead
 * of the log: then it is thrown away and loaded again.
 */

import {
  type Actor,
  type ActorId,
  type Batch,
  type AnyOutgoing,
  MalformedCommand,
} from "../../actors/actor.js";
import { Inbox, type SavedInbox } from "./inbox.js";
import { type Change, type Delivery, NO_CURSOR, type Snapshot, type StoredEntry } from "../log/log.js";
import {
  CorruptLog,
  type Envelope,
  MalformedMessage,
  packEntry,
  packEnvelope,
  packSnapshot,
  parseEntry,
  parseEnvelope,
  parseSnapshot,
  type Reply,
} from "../log/packing.js";
import type { Entry } from "../log/ports.js";

/** An actor of whatever kind, as the runtime sees it. */
export type AnyActor = Actor<unknown, unknown, unknown, unknown, AnyOutgoing>;

/** Which code runs an actor. */
export type ActorOf = (id: ActorId) => AnyActor;

/** How long an answer is remembered when the asker does not say. */
export const DEFAULT_REMEMBER_MS = 10_000;

/** A message of the mailbox, or one that was handed over in memory and has no place in it. */
export interface Incoming {
  readonly id?: string | undefined;
  readonly body: string;
}

/** What came of some messages, to be committed as a whole. */
export interface Turn {
  readonly change: Omit<Change, "partition" | "relayed">;
  /** Whether there is anything to commit at all. */
  readonly changed: boolean;
  /** What the commit adds to the delta stream, if anything. */
  readonly entry: Entry<unknown> | undefined;
  /** How many of the messages are done with: all, unless there is a fault. */
  readonly handled: number;
  /** For whoever asked, once committed. */
  readonly replies: readonly Reply[];
  /** Messages that were passed over because they are not well formed, and why. */
  readonly skipped: readonly Skipped[];
  /** A broken invariant. What came before it is in the turn; the instance must not be used again. */
  readonly fault: Error | undefined;
}

export interface Skipped {
  readonly message: Incoming;
  readonly error: Error;
}

interface Saved {
  readonly state: unknown;
  readonly inbox: SavedInbox;
  readonly lastTs: number;
}

/** What is being gathered while a turn runs. */
class TurnDraft {
  readonly batches: Batch<unknown>[] = [];
  readonly sources: Record<string, number> = {};
  readonly answers: { id: string; reply: unknown; untilMs: number }[] = [];
  readonly replies: Reply[] = [];
  readonly skipped: Skipped[] = [];
  handled = 0;
  fault: Error | undefined;

  get hasEntry(): boolean {
    return this.batches.length + this.answers.length + Object.keys(this.sources).length > 0;
  }
}

/** What was thrown, as an error. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

export class Instance {
  readonly id: ActorId;
  readonly #actor: AnyActor;
  readonly #state: unknown;
  readonly #inbox: Inbox;
  #seq = 0;
  #cursor = NO_CURSOR;
  #lastTs = 0;
  /** The deadline as the log has it. */
  #deadlineInLog: number | null = null;

  private constructor(actor: AnyActor, id: ActorId, saved: Saved | undefined) {
    this.id = id;
    this.#actor = actor;
    this.#state = saved === undefined ? actor.create(id) : actor.restore(id, saved.state);
    this.#inbox = new Inbox(saved?.inbox);
    this.#lastTs = saved?.lastTs ?? 0;
  }

  /** The actor before its first command. */
  static create(actor: AnyActor, id: ActorId): Instance {
    return new Instance(actor, id, undefined);
  }

  /** The actor as a snapshot has it; throws `CorruptLog`. */
  static restore(actor: AnyActor, id: ActorId, snapshot: Snapshot): Instance {
    const instance = new Instance(actor, id, parseSnapshot(id, snapshot) as Saved);
    instance.#seq = snapshot.seq;
    instance.#cursor = snapshot.cursor;
    return instance;
  }

  /** The last entry in the state. */
  get seq(): number {
    return this.#seq;
  }

  /** The last message applied. */
  get cursor(): string {
    return this.#cursor;
  }

  get state(): unknown {
    return this.#state;
  }

  /** When the next tick is due (Unix ms), if at all. */
  get deadline(): number | undefined {
    return this.#actor.deadline(this.#state);
  }

  /** Takes over the next entry of the log; throws `CorruptLog` when it is not the next. */
  fold(stored: StoredEntry): Entry<unknown> {
    if (stored.seq !== this.#seq + 1) {
      throw new CorruptLog(`${this.id}: entry ${stored.seq} follows ${this.#seq}`);
    }
    const entry = parseEntry(this.id, stored);
    for (const { ts, deltas } of entry.batches) {
      for (const delta of deltas) this.#actor.evolve(this.#state, delta, ts);
      this.#lastTs = Math.max(this.#lastTs, ts);
    }
    this.#inbox.fold(entry);
    this.#seq = entry.seq;
    this.#cursor = entry.cursor;
    return entry;
  }

  /** After the folding: the cursor and the deadline that the log has, which may be ahead of the last entry. */
  adoptHead(cursor: string, deadlineMs: number | undefined): void {
    this.#cursor = cursor;
    this.#deadlineInLog = deadlineMs ?? null;
  }

  /** Applies a due tick and then the messages, all at one time that never goes back. */
  run(messages: readonly Incoming[], nowMs: number): Turn {
    const expectedSeq = this.#seq;
    const cursorBefore = this.#cursor;
    const now = Math.max(nowMs, this.#lastTs);
    const turn = new TurnDraft();
    this.#inbox.forgetExpired(now);
    this.#tick(turn, now);
    for (const message of messages) {
      if (turn.fault === undefined) this.#receive(turn, message, now);
      if (turn.fault !== undefined) break;
      turn.handled += 1;
      this.#cursor = message.id ?? this.#cursor;
    }
    this.#lastTs = now;
    const entry: Entry<unknown> | undefined = turn.hasEntry
      ? {
          actor: this.id,
          seq: expectedSeq + 1,
          batches: turn.batches,
          cursor: this.#cursor,
          sources: turn.sources,
          answers: turn.answers,
        }
      : undefined;
    if (entry !== undefined) this.#seq = entry.seq;
    const change = {
      actor: this.id,
      expectedSeq,
      cursor: this.#cursor,
      entry: entry && packEntry(entry),
      deadlineMs: turn.fault === undefined ? this.#changedDeadline() : undefined,
    };
    const changed = entry !== undefined || this.#cursor !== cursorBefore || change.deadlineMs !== undefined;
    const { handled: taken, replies, skipped, fault } = turn;
    return { change, changed, entry, handled: taken, replies, skipped, fault };
  }

  #changedDeadline(): number | null | undefined {
    const deadline = this.deadline ?? null;
    if (deadline === this.#deadlineInLog) return undefined;
    this.#deadlineInLog = deadline;
    return deadline;
  }

  #tick(turn: TurnDraft, now: number): void {
    const deadline = this.deadline;
    if (deadline === undefined || deadline > now) return;
    try {
      const { deltas } = this.#actor.decide(this.#state, this.#actor.tick, now);
      if (deltas.length > 0) turn.batches.push({ ts: now, deltas });
      else if (this.deadline === deadline)
        throw new Error(`a tick at ${now} left the deadline ${deadline} as it was`);
    } catch (thrown) {
      turn.fault = errorOf(thrown);
    }
  }

  #receive(turn: TurnDraft, message: Incoming, now: number): void {
    let envelope: Envelope;
    try {
      envelope = parseEnvelope(message.body);
    } catch (thrown) {
      if (!(thrown instanceof MalformedMessage)) throw thrown;
      turn.skipped.push({ message, error: thrown });
      return;
    }
    if (this.#isRepeat(turn, envelope, now) || isExpired(envelope, now)) return;
    this.#execute(turn, message, envelope, now);
  }

  /** Whether the envelope has been applied before; if so, gives the remembered answer again. */
  #isRepeat(turn: TurnDraft, envelope: Envelope, now: number): boolean {
    const { source, seq, id, replyTo } = envelope;
    if (source !== undefined && seq !== undefined) return this.#inbox.hasApplied(source, seq);
    const known = id === undefined ? undefined : this.#inbox.answerTo(id, now);
    if (known === undefined) return false;
    if (replyTo !== undefined) turn.replies.push({ to: replyTo, id: known.id, reply: known.reply });
    return true;
  }

  /** Applies an envelope as a whole, or puts the fault in the turn when an invariant broke on the way. */
  #execute(turn: TurnDraft, message: Incoming, envelope: Envelope, now: number): void {
    const { source, seq, id, replyTo, rememberMs = DEFAULT_REMEMBER_MS, notAfterMs = now } = envelope;
    const batches: Batch<unknown>[] = [];
    let reply: unknown = null;
    let understood = true;
    for (const command of envelope.commands) {
      try {
        const decision = this.#actor.decide(this.#state, command, now);
        if (decision.deltas.length > 0) batches.push({ ts: now, deltas: decision.deltas });
        reply = decision.reply ?? null;
      } catch (thrown) {
        if (thrown instanceof MalformedCommand) {
          turn.skipped.push({ message, error: thrown });
          understood = false;
          continue;
        }
        turn.fault = errorOf(thrown);
        return;
      }
    }
    turn.batches.push(...batches);
    if (source !== undefined && seq !== undefined) {
      turn.sources[source] = seq;
      this.#inbox.recordApplied(source, seq);
    }
    if (id === undefined || !understood) return;
    if (rememberMs > 0) {
      // Counted from the last moment at which a repeat may still be carried out, so none slips past the memory.
      const answer = { id, reply, untilMs: Math.max(now, notAfterMs) + rememberMs };
      turn.answers.push(answer);
      this.#inbox.remember(answer);
    }
    if (replyTo !== undefined) turn.replies.push({ to: replyTo, id, reply });
  }

  /** The messages for other actors that follow from an entry: one envelope for each, with everything in order. */
  outgoing(entry: Entry<unknown>): readonly Delivery[] {
    const byActor = new Map<ActorId, unknown[]>();
    for (const batch of entry.batches) {
      for (const { to, command } of this.#actor.route(this.id, batch)) {
        const commands = byActor.get(to);
        if (commands === undefined) byActor.set(to, [command]);
        else commands.push(command);
      }
    }
    return [...byActor].map(([to, commands]) => ({
      to,
      body: packEnvelope({ source: this.id, seq: entry.seq, commands }),
    }));
  }

  snapshot(): Snapshot {
    const saved: Saved = {
      state: this.#actor.save(this.#state),
      inbox: this.#inbox.save(this.#lastTs),
      lastTs: this.#lastTs,
    };
    return packSnapshot(this.#seq, this.#cursor, saved);
  }
}

/** Whether nobody waits for the answer any more. */
function isExpired({ notAfterMs }: Envelope, now: number): boolean {
  return notAfterMs !== undefined && notAfterMs < now;
}
