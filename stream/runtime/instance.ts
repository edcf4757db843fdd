/**
 * One actor in memory: its state, its inbox, and its position in the log. `run` applies messages at a given time and
 * returns a turn, which is then committed; it does no I/O. After a failed commit the instance is ahead of the log and
 * must be discarded; the actor is then loaded again.
 */

import {
  type Actor,
  type ActorId,
  type Batch,
  type AnyOutgoing,
  type FilterBytes,
  MalformedCommand,
} from "../../actors/actor.js";
import { type Format, LATEST_FORMAT, laterFormat, OLDEST_FORMAT } from "../../actors/format.js";
import { boundsOf } from "../../actors/limits.js";
import { Inbox, inboxParts, type WholeInbox, wholeInbox } from "./inbox.js";
import {
  type Change,
  type Delivery,
  type Message,
  NO_CURSOR,
  type Snapshot,
  type StoredEntry,
} from "../log/log.js";
import {
  continues,
  CorruptLog,
  type Envelope,
  MalformedMessage,
  packEntry,
  packEnvelope,
  packQuarantined,
  parseEntry,
  parseEnvelope,
  QUARANTINED_REPLY,
  type Reply,
} from "../log/packing.js";
import { incarnationOf, withIncarnation } from "../log/lineage.js";
import type { Entry, Resumed } from "../log/ports.js";

/** An actor of any kind, as the runtime sees it. */
export type AnyActor = Actor<unknown, unknown, unknown, unknown, AnyOutgoing>;

/** Returns the code of an actor. */
export type ActorOf = (id: ActorId) => AnyActor;

/** Time for which an answer is remembered by default, in ms. */
const DEFAULT_REMEMBER_MS = 10_000;

/**
 * A turn with this many deltas takes no further message, because a turn blocks the event loop: for about 3 ms with so many
 * accepted orders, and for up to ten times as long while garbage is collected. Then it ends earlier, when its slice is late.
 */
const MAX_TURN_DELTAS = 250;
/** The same for the length of the messages from the mailbox, because a refused order has no delta. */
const MAX_TURN_LENGTH = 65_536;
/** Deadline of an actor that any owner of its partition must run at once: one with unfinished work, or after a failure. */
const AT_ONCE = 0;

/** A message that follows from an entry. It is packed only if it leaves the worker. */
export interface Dispatch {
  readonly to: ActorId;
  readonly envelope: Envelope;
}

/** Packs a message that leaves the worker. */
export function packDispatch({ to, envelope }: Dispatch): Delivery {
  return { to, body: packEnvelope(envelope) };
}

/** A message from the mailbox, or one that was handed over in memory. */
export type Incoming = Message | Dispatch;

/** The result of running some messages. It is committed as a whole. */
export interface Turn {
  readonly change: Omit<Change, "partition" | "relayed">;
  /** True when there is anything to commit. */
  readonly changed: boolean;
  /** The entry that the commit adds to the delta stream, if it adds one. */
  readonly entry: Entry<unknown> | undefined;
  /**
   * Number of messages that were applied or skipped. All of them, unless there is a fault, the actor has unfinished work
   * or the turn is full.
   */
  readonly handled: number;
  /** True when the turn took no further message only because it was long enough. The actor can go on at once. */
  readonly isFull: boolean;
  /** Answers to publish with the commit. */
  readonly replies: readonly Reply[];
  /** Malformed messages that were skipped. */
  readonly skipped: readonly Skipped[];
  /** The messages to other actors that follow from the entry. */
  readonly outgoing: readonly Dispatch[];
  /** The error of a message that goes to the quarantine. The instance must not be used again. */
  readonly quarantined: Error | undefined;
  /** A broken invariant. The turn has everything before it; the instance must not be used again. */
  readonly fault: Error | undefined;
  /** Set when the turn has failed as a whole: the actor is loaded again, and its next turn is another one. */
  readonly retry: Retry | undefined;
}

/**
 * The next turn of an actor that has failed after its decisions, for example when its entry was packed. Nobody knows which
 * message is the cause, so the actor tries half of them, until one has failed alone.
 */
export interface Retry {
  readonly error: Error;
  /** Position of the actor before the failed turn. The retry counts only there. */
  readonly seq: number;
  readonly cursor: string;
  /** Most messages of the turn. */
  readonly most: number;
  /** True when the next message of a process, or the unfinished work of one, is the cause, and goes to the quarantine. */
  readonly isCause: boolean;
}

interface Skipped {
  /** Id of the message in the mailbox, if it was there. */
  readonly id?: string | undefined;
  readonly error: Error;
}

/** An actor as one value, as snapshots of format 1 have it. */
export interface SavedWhole {
  readonly state: unknown;
  readonly inbox: WholeInbox;
  readonly lastTs: number;
}

/** The kinds of parts of a saved actor, in the order in which they are restored. */
export const PART_KINDS = ["inbox", "state"] as const;
export type PartKind = (typeof PART_KINDS)[number];

/** An actor in parts, which a snapshot names by their hashes. */
export interface SavedParts {
  readonly parts: Readonly<Record<PartKind, readonly string[]>>;
  readonly lastTs: number;
}

/** Position and format of a snapshot from which an actor is restored. */
interface SnapshotOrigin extends Pick<Snapshot, "seq" | "cursor"> {
  readonly format: Format;
}

/** Restores an actor from its parts. */
export interface InstanceBuilder {
  add(kind: PartKind, part: string): void;
  finish(): Instance;
}

/** A turn while it runs. */
class TurnDraft {
  readonly format: Format;
  /** Position of the actor before the turn. */
  readonly expectedSeq: number;
  readonly cursorBefore: string;
  /** Id of the command of a process whose unfinished work the turn found. */
  readonly unfinishedOf: string | undefined;
  readonly batches: Batch<unknown>[] = [];
  readonly sources: Record<string, number> = {};
  readonly answers: { id: string; reply: unknown; untilMs: number }[] = [];
  readonly replies: Reply[] = [];
  readonly skipped: Skipped[] = [];
  handled = 0;
  /** Number of deltas so far. */
  deltas = 0;
  /** Length of the messages from the mailbox so far. */
  length = 0;
  /** True when the turn has run unfinished work. */
  hasContinued = false;
  hasTicked = false;
  /** True when the last message that was executed is of a process. */
  isCommand = false;
  resumed: Resumed | undefined;
  quarantined: { readonly body: string; readonly error: Error } | undefined;
  fault: Error | undefined;

  constructor(format: Format, { seq, cursor }: Instance, unfinishedOf: string | undefined) {
    this.format = format;
    this.expectedSeq = seq;
    this.cursorBefore = cursor;
    this.unfinishedOf = unfinishedOf;
  }

  add(batch: Batch<unknown>): void {
    if (batch.deltas.length === 0) return;
    this.batches.push(batch);
    this.deltas += batch.deltas.length;
  }

  /** True when the state may be wrong. */
  get hasFailed(): boolean {
    return this.fault !== undefined || this.quarantined !== undefined;
  }

  /** True when the turn is long enough, and the actor can go on in another one. */
  get isFull(): boolean {
    return this.deltas >= MAX_TURN_DELTAS || this.length >= MAX_TURN_LENGTH;
  }

  /** True when the commit adds an entry. */
  get hasEntry(): boolean {
    const facts = this.batches.length + this.answers.length + Object.keys(this.sources).length;
    return this.hasContinued || facts > 0 || this.resumed !== undefined;
  }
}

/**
 * Seqs that an actor skips for each millisecond of which entries may be lost: several times what a whole exchange commits.
 */
const SEQS_PER_MS = 100;
/** Added to the time since the last entry, because the clocks of two workers may differ. */
const SKIP_MARGIN_MS = 60_000;
/** Seqs that an actor skips that knows no earlier time: more than it can have used in eleven days. */
const SKIPPED_BLINDLY = 1_000_000_000_000;

/** Returns a number of seqs that no entries since `lastTs` can have used up. */
function skippedSeqs(lastTs: number, now: number): number {
  return lastTs === 0 ? SKIPPED_BLINDLY : (now - lastTs + SKIP_MARGIN_MS) * SEQS_PER_MS;
}

/** Returns a thrown value as an error. */
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
  #format: Format = OLDEST_FORMAT;
  /** Time of the last turn; time never goes back. */
  #lastTs = 0;
  /** The deadline that the log has, if it is known. */
  #deadlineInLog: number | null | undefined = null;
  /** Incarnation that begins with the next entry; `undefined` in the incarnation of the last entry. */
  #nextIncarnation: { readonly lineage: string; readonly incarnation: string } | undefined;
  #retry: Retry | undefined;

  private constructor(actor: AnyActor, id: ActorId, state: unknown, inbox: Inbox) {
    this.id = id;
    this.#actor = actor;
    this.#state = state;
    this.#inbox = inbox;
  }

  /** Creates the actor as it is before its first command. */
  static create(actor: AnyActor, id: ActorId): Instance {
    return new Instance(actor, id, actor.create(id), new Inbox());
  }

  /** Restores the actor from one value. */
  static restoreWhole(actor: AnyActor, id: ActorId, origin: SnapshotOrigin, saved: SavedWhole): Instance {
    const instance = new Instance(actor, id, actor.restoreWhole(id, saved.state), new Inbox(saved.inbox));
    return instance.#at(origin, saved.lastTs);
  }

  /** Begins to restore the actor from the parts of a snapshot. */
  static restore(actor: AnyActor, id: ActorId, origin: SnapshotOrigin, lastTs: number): InstanceBuilder {
    const inbox = new Inbox();
    const state = actor.restore(id);
    return {
      add(kind, part) {
        if (kind === "inbox") inbox.addPart(part);
        else state.add(part);
      },
      finish: () => new Instance(actor, id, state.finish(), inbox).#at(origin, lastTs),
    };
  }

  #at({ seq, cursor, format }: SnapshotOrigin, lastTs: number): this {
    this.#seq = seq;
    this.#cursor = cursor;
    this.#format = format;
    this.#lastTs = lastTs;
    return this;
  }

  /** Seq of the last entry. */
  get seq(): number {
    return this.#seq;
  }

  /** Id of the last applied message. */
  get cursor(): string {
    return this.#cursor;
  }

  /**
   * Latest format of the snapshot and the entries from which the actor was recovered. Its state may have what no earlier
   * format has a form for.
   */
  get format(): Format {
    return this.#format;
  }

  /** The last seq applied from each actor that is not forgotten. */
  get sources(): ReadonlyMap<string, number> {
    return this.#inbox.sources;
  }

  get state(): unknown {
    return this.#state;
  }

  /** Room that the filters of ids take. */
  get filterBytes(): FilterBytes {
    return this.#actor.filterBytes?.(this.#state) ?? { memory: 0, snapshots: 0 };
  }

  /** True while the actor has unfinished work, which it does before it takes a message. */
  get isBusy(): boolean {
    return this.#inbox.unfinished.length > 0;
  }

  /** Time at which the actor must run next without a message (Unix ms), if there is one. */
  get deadline(): number | undefined {
    return this.isBusy ? AT_ONCE : this.#actor.deadline(this.#state);
  }

  /** Folds the next entry of the log into the state. Throws `CorruptLog` for any other entry. */
  fold(stored: StoredEntry): Entry<unknown> {
    const entry = parseEntry(this.id, stored);
    if (!continues(entry, this.#seq)) {
      throw new CorruptLog(`${this.id}: entry ${stored.seq} follows ${this.#seq}`);
    }
    for (const { ts, deltas } of entry.batches) {
      for (const delta of deltas) this.#actor.evolve(this.#state, delta, ts);
      this.#lastTs = Math.max(this.#lastTs, ts);
    }
    this.#inbox.fold(entry);
    this.#inbox.forgetExpired(this.#lastTs);
    this.#seq = entry.seq;
    this.#cursor = entry.cursor;
    this.#format = laterFormat(this.#format, entry.format);
    return entry;
  }

  /** Forgets expired answers. An actor that receives messages does so by itself. */
  forgetExpired(nowMs: number): void {
    this.#inbox.forgetExpired(nowMs);
  }

  /**
   * Adopts the cursor and the deadline of the log after the last fold; the cursor may be ahead of the last entry. An actor
   * that is due at once may be so in this worker alone, and then writes its deadline with its next turn.
   */
  adoptHead(cursor: string, deadlineMs: number | undefined): void {
    this.#cursor = cursor;
    this.#deadlineInLog = deadlineMs === AT_ONCE ? undefined : (deadlineMs ?? null);
  }

  /**
   * Adopts the lineage of the log. In another incarnation than the last entry, the next turn leaves out the seqs that
   * the log may have lost.
   */
  adoptLineage(lineage: string, incarnation: string): void {
    if (incarnationOf(lineage) === incarnation) return;
    this.#nextIncarnation = { lineage, incarnation };
  }

  /** Makes the next turn the one that a failed turn has asked for. */
  tryAgain(retry: Retry): void {
    this.#retry = retry;
  }

  /**
   * Does one piece of unfinished work, and when none is left, applies the tick, if it is due, and then the messages, all
   * at `nowMs` or, if that is later, at the last time. Writes `format`. Takes no further message once the turn `isLate`.
   */
  run(
    messages: readonly Incoming[],
    nowMs: number,
    format: Format = LATEST_FORMAT,
    isLate: () => boolean = () => false,
  ): Turn {
    const draft = new TurnDraft(format, this, this.#inbox.unfinishedOf);
    try {
      return this.#run(draft, messages, nowMs, isLate);
    } catch (thrown) {
      return this.#failed(draft, errorOf(thrown));
    }
  }

  #takeRetry(): Retry | undefined {
    const retry = this.#retry;
    this.#retry = undefined;
    return retry?.seq === this.#seq && retry.cursor === this.#cursor ? retry : undefined;
  }

  #run(draft: TurnDraft, messages: readonly Incoming[], nowMs: number, isLate: () => boolean): Turn {
    const { expectedSeq, cursorBefore } = draft;
    const now = Math.max(nowMs, this.#lastTs);
    const retry = this.#takeRetry();
    const cause = retry?.isCause === true ? retry.error : undefined;
    this.#inbox.forgetExpired(now);
    this.#resume(draft, now);
    if (!draft.hasFailed && cause !== undefined) this.#abandon(draft, cause);
    if (!draft.hasFailed) this.#continue(draft, now);
    if (!this.isBusy && !draft.hasFailed) this.#tick(draft, now);
    let isFull = false;
    for (const message of messages) {
      if (this.isBusy || draft.hasFailed || draft.handled === retry?.most) break;
      isFull = draft.isFull || (draft.handled > 0 && isLate());
      if (isFull) break;
      this.#receive(draft, message, now, nowMs, cause);
      if (draft.fault !== undefined) break;
      draft.handled += 1;
      if (!("body" in message)) continue;
      draft.length += message.body.length;
      this.#cursor = message.id;
    }
    this.#lastTs = now;
    const entry = draft.hasEntry || this.isBusy ? this.#nextEntry(draft) : undefined;
    const { handled, replies, skipped, quarantined, fault } = draft;
    const change = {
      actor: this.id,
      expectedSeq,
      cursor: this.#cursor,
      entry: entry && packEntry(entry),
      deadlineMs: this.#deadlineAfter(draft),
      quarantined: quarantined && this.#packQuarantined(quarantined, now),
      resumed: entry?.resumed && { seq: entry.seq, lineage: entry.resumed.lineage },
    };
    const changed = entry !== undefined || this.#cursor !== cursorBefore || change.deadlineMs !== undefined;
    const outgoing = entry === undefined ? [] : this.outgoing(entry);
    const outcome = { quarantined: quarantined?.error, fault, retry: undefined };
    return { change, changed, entry, handled, isFull, replies, skipped, outgoing, ...outcome };
  }

  /** Returns a turn that changes nothing, after a failure that is not the failure of one decision. */
  #failed(draft: TurnDraft, error: Error): Turn {
    const retry = retryAfter(draft, error);
    return {
      change: { actor: this.id, expectedSeq: draft.expectedSeq, cursor: draft.cursorBefore },
      changed: false,
      entry: undefined,
      handled: 0,
      isFull: false,
      replies: [],
      skipped: [],
      outgoing: [],
      quarantined: undefined,
      fault: retry === undefined ? error : undefined,
      retry,
    };
  }

  /** Returns the deadline to write. After a failure the state may be wrong, and the actor is loaded again at once. */
  #deadlineAfter({ fault, quarantined }: TurnDraft): number | null | undefined {
    if (fault !== undefined) return undefined;
    return quarantined === undefined ? this.#changedDeadline() : AT_ONCE;
  }

  #packQuarantined({ body, error }: NonNullable<TurnDraft["quarantined"]>, ts: number): string {
    return packQuarantined({ actor: this.id, ts, reason: error.message, body });
  }

  #nextEntry({ batches, sources, answers, format, resumed }: TurnDraft): Entry<unknown> {
    this.#seq += 1;
    const { unfinished, unfinishedOf } = this.#inbox;
    const facts = { actor: this.id, seq: this.#seq, batches, cursor: this.#cursor, sources, answers, format };
    return {
      ...facts,
      ...(this.isBusy ? { unfinished } : {}),
      ...(unfinishedOf === undefined ? {} : { unfinishedOf }),
      ...(resumed === undefined ? {} : { resumed }),
    };
  }

  /** Begins a new incarnation, if there is one: numbers entries and batches above all that may have been read. */
  #resume(draft: TurnDraft, now: number): void {
    // The build of format 1 cannot read an entry whose seq does not follow the one before.
    if (this.#nextIncarnation === undefined || draft.format === OLDEST_FORMAT) return;
    const { lineage, incarnation } = this.#nextIncarnation;
    this.#nextIncarnation = undefined;
    const after = this.#seq;
    try {
      const count = skippedSeqs(this.#lastTs, now);
      const { deltas } = this.#actor.decide(this.#state, this.#actor.skip(count), now, draft.format);
      if (deltas.length > 0) this.#seq += count;
      draft.add({ ts: now, deltas });
      const position = { seq: after, lineage };
      draft.resumed = { after, lineage: withIncarnation(position, incarnation, this.#seq + 1) };
    } catch (thrown) {
      draft.fault = errorOf(thrown);
    }
  }

  /** Returns the deadline if the log has another one, `null` for none. */
  #changedDeadline(): number | null | undefined {
    const deadline = this.deadline ?? null;
    if (deadline === this.#deadlineInLog) return undefined;
    this.#deadlineInLog = deadline;
    return deadline;
  }

  /** Runs unfinished commands until one is left unfinished again, or as many deltas as orders in a piece are emitted. */
  #continue(draft: TurnDraft, now: number): void {
    while (this.isBusy && !draft.hasFailed && draft.deltas < boundsOf(draft.format).piece) {
      const { unfinishedOf } = this.#inbox;
      const [command, ...others] = this.#inbox.unfinished;
      draft.hasContinued = true;
      try {
        const { deltas, unfinished = [] } = this.#actor.decide(this.#state, command, now, draft.format);
        draft.add({ ts: now, deltas });
        this.#inbox.leave([...unfinished, ...others], unfinishedOf);
        if (unfinished.length > 0) return;
      } catch (thrown) {
        if (thrown instanceof MalformedCommand) {
          draft.skipped.push({ error: thrown });
          this.#inbox.leave(others, unfinishedOf);
        } else if (unfinishedOf !== undefined) this.#abandon(draft, errorOf(thrown));
        else draft.fault = errorOf(thrown);
      }
    }
  }

  /**
   * Puts what is left of the unfinished work of a process, if there is any, into the quarantine. What the pieces before have
   * done stays, and so does the answer to the command.
   */
  #abandon(draft: TurnDraft, error: Error): void {
    const { unfinished: commands, unfinishedOf: id } = this.#inbox;
    if (id === undefined) return;
    draft.hasContinued = true;
    draft.quarantined = { body: packEnvelope({ id, commands, format: draft.format }), error };
    this.#inbox.leave([]);
  }

  #tick(draft: TurnDraft, now: number): void {
    const deadline = this.deadline;
    if (deadline === undefined || deadline > now) return;
    draft.hasTicked = true;
    try {
      const { deltas, unfinished = [] } = this.#actor.decide(
        this.#state,
        this.#actor.tick,
        now,
        draft.format,
      );
      draft.add({ ts: now, deltas });
      this.#inbox.leave(unfinished);
      if (deltas.length > 0) return;
      if (this.deadline === deadline)
        throw new Error(`a tick at ${now} did not change the deadline ${deadline}`);
    } catch (thrown) {
      draft.fault = errorOf(thrown);
    }
  }

  /**
   * Applies a message at `now`. Its deadline is compared with the clock: an actor whose last time is ahead of the clock
   * must not drop every command until the clock has caught up. With a `cause`, a message of a process goes to the
   * quarantine.
   */
  #receive(draft: TurnDraft, message: Incoming, now: number, clockMs: number, cause?: Error): void {
    let envelope: Envelope;
    try {
      envelope = "body" in message ? parseEnvelope(message.body) : message.envelope;
    } catch (thrown) {
      if (thrown instanceof MalformedMessage) draft.skipped.push({ id: idOf(message), error: thrown });
      else draft.fault = errorOf(thrown);
      return;
    }
    if (this.#isRepeat(draft, envelope, now) || isExpired(envelope, clockMs)) return;
    draft.isCommand = "body" in message && envelope.source === undefined;
    if (cause !== undefined && draft.isCommand && "body" in message) {
      this.#quarantine(draft, message, envelope, cause, now);
      return;
    }
    this.#forget(draft, envelope);
    this.#execute(draft, message, envelope, now);
  }

  /**
   * Forgets the sources of which no message can come any more, except those of which a later one was applied. A source of
   * which this turn has applied a message waits for the next review, because the entry must record that message.
   */
  #forget(draft: TurnDraft, { forgotten = {} }: Envelope): void {
    for (const [source, seq] of Object.entries(forgotten)) {
      const last = this.#inbox.sources.get(source);
      if (last === undefined || last > seq || (draft.sources[source] ?? 0) > 0) continue;
      this.#inbox.recordApplied(source, 0);
      draft.sources[source] = 0;
    }
  }

  /** Returns true for an envelope that was applied before, and repeats its answer if it is remembered. */
  #isRepeat(draft: TurnDraft, envelope: Envelope, now: number): boolean {
    const { source, seq, id, replyTo } = envelope;
    if (source !== undefined && seq !== undefined) return this.#inbox.hasApplied(source, seq);
    const known = id === undefined ? undefined : this.#inbox.answerTo(id, now);
    if (known === undefined) return false;
    if (replyTo !== undefined)
      draft.replies.push({ to: replyTo, id: known.id, reply: known.reply, repeated: true });
    return true;
  }

  /**
   * Applies the commands of an envelope; after a failure, none of them counts. The commands after one that is left
   * unfinished are unfinished too.
   */
  #execute(draft: TurnDraft, message: Incoming, envelope: Envelope, now: number): void {
    const { source, seq, id } = envelope;
    const batches: Batch<unknown>[] = [];
    let reply: unknown = null;
    let isWellFormed = true;
    let unfinished: readonly unknown[] = [];
    const { commands } = envelope;
    for (let index = 0; index < commands.length; index += 1) {
      const command = commands[index];
      try {
        const decision = this.#actor.decide(this.#state, command, now, draft.format);
        batches.push({ ts: now, deltas: decision.deltas });
        reply = decision.reply ?? null;
        unfinished = decision.unfinished ?? [];
      } catch (thrown) {
        if (thrown instanceof MalformedCommand) {
          draft.skipped.push({ id: idOf(message), error: thrown });
          isWellFormed = false;
          continue;
        }
        if (source === undefined && "body" in message)
          this.#quarantine(draft, message, envelope, errorOf(thrown), now);
        else draft.fault = errorOf(thrown);
        return;
      }
      if (unfinished.length === 0) continue;
      unfinished = [...unfinished, ...commands.slice(index + 1)];
      break;
    }
    for (const batch of batches) draft.add(batch);
    this.#inbox.leave(unfinished, source === undefined ? id : undefined);
    if (source !== undefined && seq !== undefined) {
      draft.sources[source] = seq;
      this.#inbox.recordApplied(source, seq);
    }
    if (isWellFormed) this.#answer(draft, envelope, reply, now);
  }

  /** Leaves a message of a process without an effect, and answers it, so that a repeat is not executed. */
  #quarantine(draft: TurnDraft, { body }: Message, envelope: Envelope, error: Error, now: number): void {
    draft.quarantined = { body, error };
    this.#answer(draft, envelope, QUARANTINED_REPLY, now);
  }

  #answer(draft: TurnDraft, envelope: Envelope, reply: unknown, now: number): void {
    const { id, replyTo, rememberMs = DEFAULT_REMEMBER_MS, notAfterMs = now } = envelope;
    if (id === undefined) return;
    if (rememberMs > 0) {
      // A repeat may be executed until `notAfterMs`, so the answer is remembered from then on.
      const answer = { id, reply, untilMs: Math.max(now, notAfterMs) + rememberMs };
      draft.answers.push(answer);
      this.#inbox.remember(answer);
    }
    if (replyTo !== undefined) draft.replies.push({ to: replyTo, id, reply });
  }

  /** Returns the messages to other actors that follow from an entry: one envelope for each actor. */
  outgoing(entry: Entry<unknown>): readonly Dispatch[] {
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
      envelope: { source: this.id, seq: entry.seq, commands, format: entry.format },
    }));
  }

  /** Time of the last turn. */
  get lastTs(): number {
    return this.#lastTs;
  }

  /** Yields the parts of one kind of the actor. Every turn must have been committed. */
  parts(kind: PartKind): Iterable<string> {
    return kind === "inbox" ? inboxParts(this.#inbox.save(this.#lastTs)) : this.#actor.save(this.#state);
  }

  /** Returns the actor as one value. Every turn must have been committed. */
  saveWhole(): SavedWhole {
    return {
      state: this.#actor.saveWhole(this.#state),
      inbox: wholeInbox(this.#inbox.save(this.#lastTs)),
      lastTs: this.#lastTs,
    };
  }
}

/**
 * Returns the turn that follows a failed one, or `undefined` when the actor must be halted: on the message of another
 * actor, or on work of its own. Work that the messages came after is tried without them first.
 */
function retryAfter(draft: TurnDraft, error: Error): Retry | undefined {
  const { handled, isCommand, unfinishedOf, hasContinued, hasTicked, resumed } = draft;
  const failed = { error, seq: draft.expectedSeq, cursor: draft.cursorBefore };
  const hasOwnWork = hasTicked || resumed !== undefined;
  if (handled > 0 && (hasOwnWork || hasContinued)) return { ...failed, most: 0, isCause: false };
  if (handled > 1) return { ...failed, most: Math.floor(handled / 2), isCause: false };
  const isCause = handled === 1 ? isCommand : hasContinued && !hasOwnWork && unfinishedOf !== undefined;
  return isCause ? { ...failed, most: handled, isCause } : undefined;
}

function idOf(message: Incoming): string | undefined {
  return "body" in message ? message.id : undefined;
}

/** Returns true when the time to wait for the answer is over: the commands are then not executed. */
function isExpired({ notAfterMs }: Envelope, clockMs: number): boolean {
  return notAfterMs !== undefined && notAfterMs < clockMs;
}
