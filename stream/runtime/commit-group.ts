/**
 * The partitions that one worker owns in one commit group, and their step: read messages, run the actors and commit.
 * Within a step, a message to another actor of this worker is handed over in memory, and the turns of both actors are in
 * the same commit. An order is therefore reserved, matched and paid for in one commit. Any other message leaves with the
 * commit of its cause, if that can reach the mailbox, and goes through the relay if not.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import { type Formats, latestFormat } from "../../actors/format.js";
import { unreachable } from "../../actors/unreachable.js";
import { type Clock, type Slices, TimeSlices } from "../log/clock.js";
import {
  type Change,
  type CommitOutcome,
  cursorAt,
  type InlineRecord,
  type Log,
  type Message,
  positionOf,
} from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { publicationsOf } from "../log/packing.js";
import { HandOverGuard } from "./hand-over-guard.js";
import { type Instance, packDispatch } from "./instance.js";
import type { Partition, ReadyActor } from "./partition.js";
import { OwnershipLost, type Relay } from "./relay.js";
import { type Slot, type StepResult, Turns, undoTurns } from "./turns.js";

export interface CommitGroupPorts {
  readonly log: Log;
  readonly clock: Clock;
  readonly relay: Relay;
  readonly logger: Logger;
  /** Format in which the actors write (default the latest). */
  readonly formats?: Formats | undefined;
  /** Begins the slices of a step, between which the event loop turns (default slices of time). */
  readonly slices?: (() => Slices) | undefined;
  /** Decides a step while the commit of the one before is on its way (default false). */
  readonly overlaps?: boolean | undefined;
}

/** Most actors in one step. */
const MAX_ACTORS = 64;
/** Most messages in one step, shared by its actors. Others wait for the step. */
const MAX_MESSAGES = 512;
/** Approximate length of all messages in one step: that of 64 batches of 20 orders, which take some 40 ms. */
const MAX_MESSAGES_LENGTH = 262_144;
/** Each actor of a step may have this many messages, even beyond the limits of the step. */
const MIN_MESSAGES_EACH = 16;
/** A step with this many deltas runs no further actor on its messages: these wait for the next step. */
const MAX_DELTAS = 5_000;
/** A step with this many deltas begins no further piece of unfinished work, unless it has none. */
const MAX_DELTAS_BEFORE_PIECE = 500;
/** Greatest share of the worker's time that unfinished work takes, so that other actors wait little for it. */
const UNFINISHED_SHARE = 1 / 3;

/** An actor that has work, and the ownership under which it runs. */
interface ReadySlot extends Slot, ReadyActor {}

/** The messages that the actors of a step run on. */
type Messages = Map<ActorId, readonly Message[]>;

export class CommitGroup {
  readonly #ports: CommitGroupPorts;
  readonly #partitions = new Map<string, Partition>();
  /** Partitions that join the group at the next step. */
  #joining: Partition[] = [];
  readonly #handOverGuard = new HandOverGuard();
  #deciding: Promise<void> = Promise.resolve();
  #committing: Promise<void> = Promise.resolve();
  /** Instances whose turns were undone since the last commit began. The step after that commit may have used them. */
  #undone: ReadonlySet<Instance> = new Set();
  /** True when the last step has left messages in mailboxes that were due. */
  #isBehind = false;
  /** Mean length of the messages in the last step that had any. */
  #messageLength = MAX_MESSAGES_LENGTH / MAX_MESSAGES;
  /** Called when there may be work, and when an ownership ends. */
  onChange: () => void = () => undefined;
  /** Called when a step has ended, and the relay may have got messages from it. */
  onStepEnded: () => void = () => undefined;

  constructor(ports: CommitGroupPorts) {
    this.#ports = ports;
  }

  /** Adds a partition, from the next step on. */
  add(partition: Partition): void {
    partition.onChange = () => this.onChange();
    this.#joining.push(partition);
    this.onChange();
  }

  /** Removes a partition. A step that is running still has it; see `finished`. */
  remove(partition: Partition): void {
    this.#joining = this.#joining.filter((other) => other !== partition);
    if (this.#partitions.get(partition.name) === partition) this.#partitions.delete(partition.name);
    this.onChange();
  }

  get isEmpty(): boolean {
    return this.#partitions.size === 0 && this.#joining.length === 0;
  }

  #join(): void {
    if (this.#joining.length === 0) return;
    for (const partition of this.#joining) this.#partitions.set(partition.name, partition);
    this.#joining = [];
    this.#handOverGuard.reset();
  }

  /** Returns true when a step would do something at this time. */
  hasWork(nowMs: number): boolean {
    if (this.#joining.length > 0) return true;
    for (const partition of this.#partitions.values()) if (partition.hasWork(nowMs)) return true;
    return false;
  }

  /**
   * Number of messages that wait for the next step, of which an unread mailbox counts as one; without a bound when the last
   * step has left messages.
   */
  get waiting(): number {
    if (this.#isBehind) return Infinity;
    let waiting = 0;
    for (const partition of this.#partitions.values()) waiting += partition.waiting;
    return waiting;
  }

  /** Returns the time of the next tick (Unix ms), if there is one. */
  nextDeadline(): number | undefined {
    let next: number | undefined;
    for (const partition of this.#partitions.values()) {
      const deadline = partition.nextDeadline();
      if (deadline !== undefined && deadline < (next ?? Infinity)) next = deadline;
    }
    return next;
  }

  /**
   * Runs one step; the caller waits for it before the next. Resolves when the step is committed or, if steps overlap, when
   * its commit begins. Never rejects: a failure ends the ownerships concerned.
   */
  step(): Promise<void> {
    this.#deciding = this.#step();
    return this.#deciding;
  }

  /** Resolves when no step is running, and the last one is committed. */
  async finished(): Promise<void> {
    await this.#deciding;
    await this.#committing;
  }

  async #step(): Promise<void> {
    const beganMs = this.#ports.clock.monotonic();
    this.#join();
    this.#isBehind = false;
    const partitions = [...this.#partitions.values()];
    for (const partition of partitions) partition.stepBegins();
    const slices = this.#ports.slices?.() ?? new TimeSlices(this.#ports.clock);
    const results = await this.#decide(partitions, slices);
    const decidedMs = this.#ports.clock.monotonic() - beganMs;
    // The turns of this step may follow from those of the step before, so its commit waits for the outcome of that one.
    await this.#committing;
    this.#committing = this.#finish(partitions, results, slices, decidedMs);
    if (this.#ports.overlaps !== true) await this.#committing;
  }

  /** Reads messages and runs the actors. A failure ends the ownerships, and nothing is committed. */
  async #decide(partitions: readonly Partition[], slices: Slices): Promise<readonly StepResult[]> {
    try {
      const toScan = partitions.filter((partition) => partition.mustScan);
      if (toScan.length > 0) await Promise.all(toScan.map((partition) => partition.scan()));
      await this.#flushRelay();
      const slots = this.#takeReady();
      return await this.#run(slots, await this.#readMessages(slots), slices);
    } catch (error) {
      for (const partition of partitions) partition.end(error);
      return [];
    }
  }

  /** Commits what a step has decided, in `decidedMs`, except the turns that follow from undone ones. */
  async #finish(
    partitions: readonly Partition[],
    results: readonly StepResult[],
    slices: Slices,
    decidedMs: number,
  ): Promise<void> {
    const beganMs = this.#ports.clock.monotonic();
    const before = this.#undone;
    this.#undone = new Set();
    const { kept, undone } = undoTurns(results, ({ instance }) => before.has(instance));
    this.#handOverGuard.commitBegins(kept);
    try {
      await this.#commit(kept, slices, () => decidedMs + this.#ports.clock.monotonic() - beganMs);
      this.#discard(undone);
    } catch (error) {
      for (const partition of partitions) partition.end(error);
    }
    this.#handOverGuard.commitEnded();
    for (const partition of partitions) partition.stepEnded();
    this.onStepEnded();
    this.onChange();
  }

  /**
   * Appends the messages that the relay holds for mailboxes of this worker, so that the step reads them, and those that
   * could leave with a commit, so that later messages of their actors do.
   */
  async #flushRelay(): Promise<void> {
    const { relay } = this.#ports;
    const waiting = relay
      .waiting()
      .filter((partition) => this.#partitions.has(partition) || this.#reaches(partition));
    if (waiting.length > 0) await Promise.all(waiting.map((partition) => relay.step(partition)));
  }

  /** Returns true when messages to a partition can leave with the commits of this group. */
  #reaches(partition: string): boolean {
    const [own] = this.#partitions.keys();
    return own !== undefined && this.#ports.log.reaches(own, partition);
  }

  #takeReady(): readonly ReadySlot[] {
    const now = this.#ports.clock.now();
    const slots: ReadySlot[] = [];
    for (const partition of this.#partitions.values()) {
      if (!partition.hasWork(now)) continue;
      const limit = MAX_ACTORS - slots.filter(({ instance }) => !instance.isBusy).length;
      if (limit <= 0) break;
      for (const ready of partition.takeReady(limit, (actor) => this.#handOverGuard.mayRun(actor)))
        slots.push({ partition, ...ready });
    }
    this.#rotate();
    return slots;
  }

  /** Moves the first partition to the end, so that a flood in one partition does not starve the others. */
  #rotate(): void {
    const [first] = this.#partitions;
    if (first === undefined) return;
    this.#partitions.delete(first[0]);
    this.#partitions.set(...first);
  }

  /** Returns the next messages of each actor: from notifications if these have all of them, else from its mailbox. */
  async #readMessages(slots: readonly ReadySlot[]): Promise<Messages> {
    const limit = this.#messagesEach(slots.length);
    const messages: Messages = new Map();
    const unread: ReadySlot[] = [];
    for (const slot of slots) {
      const { id, cursor, isBusy } = slot.instance;
      if (isBusy) continue;
      const next = slot.inline && messagesAfter(cursor, slot.inline);
      if (next !== undefined && next.length <= limit && this.#handOverGuard.allows(id))
        messages.set(id, next);
      else unread.push(slot);
    }
    if (unread.length > 0) await this.#readMailboxes(unread, limit, messages);
    this.#measure(messages);
    return messages;
  }

  /** Returns the number of messages that each of some actors may have in a step. */
  #messagesEach(actors: number): number {
    const most = Math.min(MAX_MESSAGES, MAX_MESSAGES_LENGTH / this.#messageLength);
    return Math.max(MIN_MESSAGES_EACH, Math.floor(most / Math.max(1, actors)));
  }

  #measure(messages: Messages): void {
    let count = 0;
    let length = 0;
    for (const ofActor of messages.values()) {
      count += ofActor.length;
      for (const { body } of ofActor) length += body.length;
    }
    if (count > 0) this.#messageLength = length / count;
  }

  async #readMailboxes(slots: readonly ReadySlot[], limit: number, messages: Messages): Promise<void> {
    const { log, relay } = this.#ports;
    const reads = slots.map(({ partition, instance }) => ({
      partition: partition.name,
      actor: instance.id,
      after: instance.cursor,
    }));
    // A mailbox that the relay or a commit appends to meanwhile may have messages that the read does not return.
    const isComplete = slots.map(
      ({ partition, instance }) =>
        !relay.isWaiting(partition.name) && !this.#handOverGuard.isAwaited(instance.id),
    );
    try {
      for (const [actor, read] of await log.readMailboxes(reads, limit)) messages.set(actor, read);
    } catch (error) {
      for (const { partition } of slots) partition.end(error);
      return;
    }
    for (const [index, { partition, instance }] of slots.entries()) {
      const actor = instance.id;
      if (messages.get(actor)?.length === limit) this.#leaveUnread(partition, actor);
      else if (isComplete[index] === true) this.#handOverGuard.mailboxEmptied(actor);
    }
  }

  /**
   * Runs the actors with messages first, and then pieces of unfinished work, of which the first always runs. Blocks the
   * event loop for a slice and one turn of an actor at most.
   */
  async #run(slots: readonly Slot[], messages: Messages, slices: Slices): Promise<readonly StepResult[]> {
    const { clock, formats = latestFormat } = this.#ports;
    slices.begin();
    const turns = new Turns(clock.now(), formats.active(), (actor) => this.#slotOf(actor));
    const busy = slots.filter(({ instance }) => instance.isBusy);
    for (const slot of slots) {
      if (slot.partition.ended || busy.includes(slot)) continue;
      if (turns.deltas < MAX_DELTAS) await turns.run(slot, messages.get(slot.instance.id) ?? [], slices);
      else this.#postpone(slot);
    }
    for (const [index, slot] of busy.entries()) {
      if (slot.partition.ended) continue;
      if (index === 0 || turns.deltas < MAX_DELTAS_BEFORE_PIECE) await turns.run(slot, [], slices);
    }
    await turns.handOver(slices);
    for (const { unsent, instance, hasMore } of turns.results) {
      for (const { to } of unsent) this.#handOverGuard.messageQueued(to);
      // No message may be handed over before the messages that are left in the mailbox.
      if (hasMore) this.#handOverGuard.messageQueued(instance.id);
    }
    return turns.results;
  }

  /** Leaves the messages of an actor in its mailbox until the next step. None may be handed over before them. */
  #postpone({ partition, instance }: Slot): void {
    this.#leaveUnread(partition, instance.id);
    this.#handOverGuard.messageQueued(instance.id);
  }

  /** Lets the next step read a mailbox that this one has not read to its end. */
  #leaveUnread(partition: Partition, actor: ActorId): void {
    partition.markUnread(actor);
    this.#isBehind = true;
  }

  /** Returns an actor to which a message may be handed over. */
  #slotOf(actor: ActorId): Slot | undefined {
    const partition = this.#partitions.get(partitionOf(actor));
    if (partition === undefined || partition.ended) return undefined;
    if (!this.#handOverGuard.allows(actor) || !this.#handOverGuard.mayRun(actor)) return undefined;
    const instance = partition.hold(actor);
    return instance === undefined || instance.isBusy ? undefined : { partition, instance };
  }

  /** Commits the results; `tookMs` returns the time that the step has taken so far. */
  async #commit(results: readonly StepResult[], slices: Slices, tookMs: () => number): Promise<void> {
    // A turn with a fault is committed even if it writes nothing: the log rejects the commit of a former owner, so
    // that a fault in its outdated state does not halt the actor.
    const toCommit = results.filter(({ turn }) => turn.changed || turn.fault !== undefined);
    if (!haveLasted(toCommit)) return;
    const leaving = this.#leavingWithCommit(toCommit);
    if (toCommit.length > 0) {
      const outcome = await this.#write(toCommit, leaving, slices);
      if (outcome === undefined) return;
      if (outcome.kind === "removed") {
        const { kept, undone } = undoTurns(results, ({ instance }) => instance.id === outcome.actor);
        await this.#commit(kept, slices, tookMs);
        this.#discard(undone);
        return;
      }
    }
    const resumesAtMs = this.#ports.clock.now() + Math.ceil(tookMs() * (1 / UNFINISHED_SHARE - 1));
    for (const result of results) {
      // The ownership ended meanwhile, and the log may have lost this commit. The next owner relays the messages in the log.
      if (!result.partition.ended) this.#complete(result, leaving.has(result), resumesAtMs);
    }
  }

  /** Lets actors that are ahead of the log be loaded again; a removed one when it is restored. */
  #discard(undone: ReadonlyMap<Instance, Partition>): void {
    this.#undone = new Set([...this.#undone, ...undone.keys()]);
    for (const [instance, partition] of undone) {
      partition.discard(instance);
      this.#handOverGuard.messageQueued(instance.id);
    }
  }

  /**
   * Returns each result whose messages all leave with the commit, so that its actor has none left to relay. While the
   * relay holds a message of an actor, the later ones of the actor follow it there, because none may overtake it.
   */
  #leavingWithCommit(results: readonly StepResult[]): ReadonlySet<StepResult> {
    const behind = new Set<ActorId>();
    const leaving = new Set<StepResult>();
    for (const result of results) {
      const { partition, instance, unsent } = result;
      const actor = instance.id;
      const inReach = unsent.every(({ to }) => this.#reaches(partitionOf(to)));
      if (!inReach || !this.#ports.relay.isRelayed(partition, actor)) behind.add(actor);
      if (!behind.has(actor)) leaving.add(result);
    }
    return leaving;
  }

  /** Commits the results. On failure the actors are ahead of the log: ends their ownerships and returns `undefined`. */
  async #write(
    results: readonly StepResult[],
    leaving: ReadonlySet<StepResult>,
    slices: Slices,
  ): Promise<Exclude<CommitOutcome, FailedCommit> | undefined> {
    const partitions = [...new Set(results.map(({ partition }) => partition))];
    const ownerships = partitions.map(({ name, epoch }) => ({ partition: name, epoch }));
    const changes = results.map((result): Change => ({
      ...result.turn.change,
      partition: result.partition.name,
      relayed: leaving.has(result),
    }));
    const departures = results
      .filter((result) => leaving.has(result))
      .flatMap(({ unsent }) =>
        unsent.map((dispatch) => ({ partition: partitionOf(dispatch.to), ...packDispatch(dispatch) })),
      );
    const publications = publicationsOf(results.flatMap(({ turn }) => turn.replies));
    if (slices.isOver) await slices.next();
    let failure: unknown;
    try {
      const outcome = await this.#ports.log.commit({ ownerships, changes, departures, publications });
      if (outcome.kind === "ok" || outcome.kind === "removed") return outcome;
      failure = failureOf(outcome);
    } catch (error) {
      failure = error;
    }
    for (const partition of partitions) partition.end(failure);
    return undefined;
  }

  /**
   * Completes a committed turn: passes the messages that have not left to the relay, and halts its actor after a fault. Work
   * that the turn leaves unfinished goes on at `resumesAtMs`, so that it takes no more of the worker's time than its share.
   */
  #complete(result: StepResult, haveLeft: boolean, resumesAtMs: number): void {
    const { partition, instance, turn, hasMore, unsent } = result;
    const { relay, logger } = this.#ports;
    const actor = instance.id;
    for (const { id, error } of turn.skipped)
      logger.warn({ err: error, actor, message: id }, "skipped a malformed message");
    if (turn.entry !== undefined && !haveLeft)
      relay.enqueue(partition, actor, turn.entry.seq, unsent.map(packDispatch));
    for (const { to } of unsent) this.#partitions.get(partitionOf(to))?.markUnread(to);
    if (hasMore) this.#leaveUnread(partition, actor);
    if (turn.retry !== undefined) {
      partition.tryAgain(instance, turn.retry);
      this.#handOverGuard.messageQueued(actor);
    } else if (turn.quarantined !== undefined) partition.reload(instance, turn.quarantined);
    else if (turn.fault === undefined) partition.committed(result, resumesAtMs);
    else partition.halt(actor, turn.fault);
  }
}

/**
 * Returns false when an ownership has ended while the actors ran, and ends those of all results: their actors are ahead
 * of the log, and have exchanged messages that are not committed.
 */
function haveLasted(results: readonly StepResult[]): boolean {
  const ended = results.find(({ partition }) => partition.ended);
  if (ended === undefined) return true;
  for (const { partition } of results) partition.end(ended.partition.endReason);
  return false;
}

/** Returns the messages after a cursor, or `undefined` when one of them is missing. */
function messagesAfter(cursor: string, inline: readonly InlineRecord[]): readonly Message[] | undefined {
  const applied = positionOf(cursor);
  const next = inline.filter(({ position }) => position > applied);
  if (next.some(({ position }, index) => position !== applied + 1 + index)) return undefined;
  return next.map(({ position, body }) => ({ id: cursorAt(position), body }));
}

/** Rejection of a commit by which this worker learns that it is not the owner, or is ahead of the log. */
type FailedCommit = Extract<CommitOutcome, { readonly kind: "fenced" | "conflict" }>;

function failureOf(outcome: FailedCommit): OwnershipLost {
  switch (outcome.kind) {
    case "fenced":
      return new OwnershipLost(`${outcome.partition} has another owner`);
    case "conflict":
      return new OwnershipLost(`${outcome.actor} is at another seq in the log than in this worker`);
    default:
      return unreachable(outcome);
  }
}
