/**
 * The tenures that one worker has in one domain, and their step, which is the whole life of a command: read, decide,
 * commit, pass on. A message from one actor of the domain to another is handed over in memory, within the step, and
 * what both did is committed as a whole: an order is reserved, matched and paid for in one commit. Messages that
 * leave the domain go to mailboxes by the relay, when the commit is through.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import { HandOverGuard } from "./hand-over-guard.js";
import type { Clock } from "../log/clock.js";
import {
  type InlineRecord,
  type Change,
  type CommitOutcome,
  cursorAt,
  type Log,
  type Message,
  positionOf,
} from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { type ReadyActor, type Partition, OwnershipLost } from "./partition.js";
import type { Relay } from "./relay.js";
import { publicationsOf } from "../log/reply-feed.js";
import { type Slot, Turns, type StepResult } from "./turns.js";
import { unreachable } from "../../actors/unreachable.js";

export interface CommitGroupPorts {
  readonly log: Log;
  readonly clock: Clock;
  readonly relay: Relay;
  readonly logger: Logger;
}

/**
 * What one step reads: so many actors, so many messages of all of them, and at least so many of each. A message may
 * have twenty orders, and nothing else runs while a step decides: not even the heartbeat.
 */
const MAX_ACTORS = 64;
const MAX_MESSAGES = 64;
const MIN_MESSAGES_EACH = 4;

/** An actor that has something to do. */
interface ReadySlot extends Slot, ReadyActor {}

export class CommitGroup {
  readonly #ports: CommitGroupPorts;
  readonly #partitions = new Map<string, Partition>();
  #joining: Partition[] = [];
  readonly #handOverGuard = new HandOverGuard();
  #currentStep: Promise<void> = Promise.resolve();
  /** Called when there may be something to do, or a tenure has ended. */
  onChange: () => void = () => undefined;

  constructor(ports: CommitGroupPorts) {
    this.#ports = ports;
  }

  /** Takes part from the next step on. */
  add(partition: Partition): void {
    partition.onChange = () => this.onChange();
    this.#joining.push(partition);
    this.onChange();
  }

  /** Takes part no more, once the step under way has ended. */
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

  /** Whether a step would do something now. */
  hasWork(nowMs: number): boolean {
    if (this.#joining.length > 0) return true;
    for (const partition of this.#partitions.values()) if (partition.hasWork(nowMs)) return true;
    return false;
  }

  /** When the next tick is due (Unix ms), if at all. */
  nextDeadline(): number | undefined {
    let next: number | undefined;
    for (const partition of this.#partitions.values()) {
      const deadline = partition.nextDeadline();
      if (deadline !== undefined && deadline < (next ?? Infinity)) next = deadline;
    }
    return next;
  }

  /** One read batch: never rejects; a failure ends the tenures concerned. One at a time. */
  step(): Promise<void> {
    this.#currentStep = this.#step();
    return this.#currentStep;
  }

  /** Resolves when no step is under way. */
  finished(): Promise<void> {
    return this.#currentStep;
  }

  async #step(): Promise<void> {
    this.#join();
    const partitions = [...this.#partitions.values()];
    try {
      const looking = partitions.filter((partition) => partition.mustScan);
      if (looking.length > 0) await Promise.all(looking.map((partition) => partition.scan()));
      await this.#flushRelay();
      const readers = this.#takeReady();
      const mail = await this.#readMessages(readers);
      await this.#commit(this.#decide(readers, mail));
    } catch (error) {
      for (const partition of partitions) partition.end(error);
    } finally {
      for (const partition of partitions) partition.release();
    }
  }

  /** What went by the relay to mailboxes of this domain is there before they are read. */
  async #flushRelay(): Promise<void> {
    const { relay } = this.#ports;
    const waiting = [...this.#partitions.keys()].filter((name) => relay.isWaiting(name));
    if (waiting.length > 0) await Promise.all(waiting.map((name) => relay.step(name)));
  }

  #takeReady(): readonly ReadySlot[] {
    const now = this.#ports.clock.now();
    const readers: ReadySlot[] = [];
    for (const partition of this.#partitions.values()) {
      if (!partition.hasWork(now)) continue;
      const room = MAX_ACTORS - readers.length;
      if (room <= 0) break;
      for (const chosen of partition.takeReady(room)) readers.push({ partition, ...chosen });
    }
    this.#rotate();
    return readers;
  }

  /** Whoever came first this time comes last the next, so that a flood leaves nobody out. */
  #rotate(): void {
    const [first] = this.#partitions;
    if (first === undefined) return;
    this.#partitions.delete(first[0]);
    this.#partitions.set(...first);
  }

  /** The next messages of each actor: what the rings carried, or what the mailbox holds where that is not enough. */
  async #readMessages(readers: readonly ReadySlot[]): Promise<ReadonlyMap<ActorId, readonly Message[]>> {
    const limit = Math.max(MIN_MESSAGES_EACH, Math.floor(MAX_MESSAGES / Math.max(1, readers.length)));
    const mail = new Map<ActorId, readonly Message[]>();
    const unread: ReadySlot[] = [];
    for (const reader of readers) {
      const { id, cursor } = reader.instance;
      const next = reader.inline && messagesAfter(reader.inline, cursor);
      if (next !== undefined && next.length <= limit && this.#handOverGuard.allows(id)) mail.set(id, next);
      else unread.push(reader);
    }
    if (unread.length > 0) await this.#readMailboxes(unread, limit, mail);
    return mail;
  }

  async #readMailboxes(
    readers: readonly ReadySlot[],
    limit: number,
    mail: Map<ActorId, readonly Message[]>,
  ): Promise<void> {
    const { log, relay } = this.#ports;
    const reads = readers.map(({ partition, instance }) => ({
      partition: partition.name,
      actor: instance.id,
      after: instance.cursor,
    }));
    const settled = new Set(reads.filter(({ partition }) => !relay.isWaiting(partition)));
    try {
      for (const [actor, messages] of await log.readMailboxes(reads, limit)) mail.set(actor, messages);
    } catch (error) {
      for (const { partition } of readers) partition.end(error);
      return;
    }
    for (const [index, { partition, instance }] of readers.entries()) {
      const [read, actor] = [reads[index], instance.id];
      if (mail.get(actor)?.length === limit) partition.markUnread(actor);
      else if (read !== undefined && settled.has(read)) this.#handOverGuard.mailboxEmptied(actor);
    }
  }

  #decide(slots: readonly Slot[], mail: ReadonlyMap<ActorId, readonly Message[]>): readonly StepResult[] {
    const turns = new Turns(this.#ports.clock.now(), (actor) => this.#slotOf(actor));
    for (const slot of slots) {
      if (!slot.partition.ended) turns.run(slot, mail.get(slot.instance.id) ?? []);
    }
    turns.handOver();
    for (const { unsent } of turns.results)
      for (const { to } of unsent) this.#handOverGuard.messageQueued(to);
    return turns.results;
  }

  /** An actor that a message may be handed over to. */
  #slotOf(actor: ActorId): Slot | undefined {
    const partition = this.#partitions.get(partitionOf(actor));
    if (partition === undefined || partition.ended || !this.#handOverGuard.allows(actor)) return undefined;
    const instance = partition.hold(actor);
    return instance && { partition, instance };
  }

  async #commit(results: readonly StepResult[]): Promise<void> {
    // A fault is committed too, though it writes nothing: a former owner, whose state is old, must not stop an actor.
    const writing = results.filter(({ turn }) => turn.changed || turn.fault !== undefined);
    const relayed = this.#withoutRelay(writing);
    if (writing.length > 0 && !(await this.#write(writing, relayed))) return;
    const committed = new Map<Partition, ActorId[]>();
    for (const result of results) {
      const { partition, instance } = result;
      // After a lost connection the log may have lost this commit too: the next tenure relays what it finds.
      if (partition.ended) continue;
      this.#complete(result, relayed.has(result));
      const actors = committed.get(partition);
      if (actors === undefined) committed.set(partition, [instance.id]);
      else actors.push(instance.id);
    }
    for (const [partition, actors] of committed) partition.captureSnapshot(actors);
  }

  /** Those after which nothing of their actor has yet to be relayed. */
  #withoutRelay(results: readonly StepResult[]): ReadonlySet<StepResult> {
    const behind = new Set<ActorId>();
    const relayed = new Set<StepResult>();
    for (const result of results) {
      const { partition, instance, unsent, isRouted } = result;
      const actor = instance.id;
      if (unsent.length > 0 || !isRouted || !this.#ports.relay.isRelayed(partition, actor)) behind.add(actor);
      if (!behind.has(actor)) relayed.add(result);
    }
    return relayed;
  }

  /** Whether it is written. If not, every tenure that took part is over: its actors are ahead of the log. */
  async #write(results: readonly StepResult[], relayed: ReadonlySet<StepResult>): Promise<boolean> {
    const partitions = [...new Set(results.map(({ partition }) => partition))];
    const ownerships = partitions.map(({ name, epoch }) => ({ partition: name, epoch }));
    const changes = results.map((result): Change => ({
      ...result.turn.change,
      partition: result.partition.name,
      relayed: relayed.has(result),
    }));
    const publications = publicationsOf(results.flatMap(({ turn }) => turn.replies));
    const outcome = this.#ports.log.commit({ ownerships, changes, publications });
    const reason = await outcome.then(refusal, (error: unknown) => error);
    if (reason === undefined) return true;
    for (const partition of partitions) partition.end(reason);
    return false;
  }

  #complete({ partition, instance, turn, unsent, isRouted, fault }: StepResult, isRelayed: boolean): void {
    const { relay, logger } = this.#ports;
    const actor = instance.id;
    for (const { message, error } of turn.skipped)
      logger.warn({ err: error, actor, message: message.id }, "skipped a malformed message");
    if (turn.entry !== undefined && isRouted && !isRelayed) {
      relay.enqueue(partition, actor, turn.entry.seq, unsent);
      for (const { to } of unsent) this.#markUnread(to);
    }
    if (fault === undefined) partition.committed(instance, turn.entry !== undefined);
    else partition.halt(actor, fault);
  }

  /** An actor of this domain is about to find a message in its mailbox. */
  #markUnread(actor: ActorId): void {
    const name = partitionOf(actor);
    this.#partitions.get(name)?.markUnread(actor);
  }
}

/** The messages after a cursor, if one follows the other. */
function messagesAfter(inline: readonly InlineRecord[], cursor: string): readonly Message[] | undefined {
  const done = positionOf(cursor);
  const next = inline.filter(({ position }) => position > done);
  if (next.some(({ position }, index) => position !== done + 1 + index)) return undefined;
  return next.map(({ position, body }) => ({ id: cursorAt(position), body }));
}

/** Why a commit was refused, if it was. */
function refusal(outcome: CommitOutcome): OwnershipLost | undefined {
  switch (outcome.kind) {
    case "ok":
      return undefined;
    case "fenced":
      return new OwnershipLost(`${outcome.partition} has another owner`);
    case "conflict":
      return new OwnershipLost(`${outcome.actor} is not where this worker believed`);
    default:
      return unreachable(outcome);
  }
}
