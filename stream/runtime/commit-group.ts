/**
 * The tenures that one worker has in one domain, and their step, which is the whole life of a command: read, decide,
 * commit, pass on. A message from one actor of the domain to another is handed over in memory, within the step, and
 * what both did is committed as a whole: an order is reserved, matched and paid for in one commit. Messages that
 * leave the domain go to mailboxes by the relay, when the commit is through.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import { CaughtUp } from "./hand-over-guard.js";
import type { Clock } from "../log/clock.js";
import {
  type Carried,
  type Change,
  type CommitOutcome,
  cursorAt,
  type Log,
  type Message,
  positionOf,
} from "../log/log.js";
import type { Logger } from "../log/logger.js";
import { type Chosen, type Partition, TenureLost } from "./partition.js";
import type { Relay } from "./relay.js";
import { publicationsOf } from "../log/reply-feed.js";
import { type Seat, Turns, type Work } from "./turns.js";

export interface DomainPorts {
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
interface Reader extends Seat, Chosen {}

export class Domain {
  readonly #ports: DomainPorts;
  readonly #partitions = new Map<string, Partition>();
  #joining: Partition[] = [];
  readonly #caughtUp = new CaughtUp();
  #underWay: Promise<void> = Promise.resolve();
  /** Called when there may be something to do, or a tenure has ended. */
  onChange: () => void = () => undefined;

  constructor(ports: DomainPorts) {
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
    this.#caughtUp.begun();
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
    this.#underWay = this.#step();
    return this.#underWay;
  }

  /** Resolves when no step is under way. */
  finished(): Promise<void> {
    return this.#underWay;
  }

  async #step(): Promise<void> {
    this.#join();
    const partitions = [...this.#partitions.values()];
    try {
      const looking = partitions.filter((partition) => partition.mustLook);
      if (looking.length > 0) await Promise.all(looking.map((partition) => partition.look()));
      await this.#settleRelay();
      const readers = this.#choose();
      const mail = await this.#read(readers);
      await this.#commit(this.#decide(readers, mail));
    } catch (error) {
      for (const partition of partitions) partition.drop(error);
    } finally {
      for (const partition of partitions) partition.release();
    }
  }

  /** What went by the relay to mailboxes of this domain is there before they are read. */
  async #settleRelay(): Promise<void> {
    const { relay } = this.#ports;
    const waiting = [...this.#partitions.keys()].filter((name) => relay.isWaiting(name));
    if (waiting.length > 0) await Promise.all(waiting.map((name) => relay.step(name)));
  }

  #choose(): readonly Reader[] {
    const now = this.#ports.clock.now();
    const readers: Reader[] = [];
    for (const partition of this.#partitions.values()) {
      if (!partition.hasWork(now)) continue;
      const room = MAX_ACTORS - readers.length;
      if (room <= 0) break;
      for (const chosen of partition.choose(room)) readers.push({ partition, ...chosen });
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
  async #read(readers: readonly Reader[]): Promise<ReadonlyMap<ActorId, readonly Message[]>> {
    const limit = Math.max(MIN_MESSAGES_EACH, Math.floor(MAX_MESSAGES / Math.max(1, readers.length)));
    const mail = new Map<ActorId, readonly Message[]>();
    const unread: Reader[] = [];
    for (const reader of readers) {
      const { id, cursor } = reader.instance;
      const next = reader.carried && nextOf(reader.carried, cursor);
      if (next !== undefined && next.length <= limit && this.#caughtUp.has(id)) mail.set(id, next);
      else unread.push(reader);
    }
    if (unread.length > 0) await this.#readMailboxes(unread, limit, mail);
    return mail;
  }

  async #readMailboxes(
    readers: readonly Reader[],
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
      for (const { partition } of readers) partition.drop(error);
      return;
    }
    for (const [index, { partition, instance }] of readers.entries()) {
      const [read, actor] = [reads[index], instance.id];
      if (mail.get(actor)?.length === limit) partition.mustRead(actor);
      else if (read !== undefined && settled.has(read)) this.#caughtUp.read(actor);
    }
  }

  #decide(seats: readonly Seat[], mail: ReadonlyMap<ActorId, readonly Message[]>): readonly Work[] {
    const turns = new Turns(this.#ports.clock.now(), (actor) => this.#seatOf(actor));
    for (const seat of seats) {
      if (!seat.partition.dropped) turns.take(seat, mail.get(seat.instance.id) ?? []);
    }
    turns.handOver();
    for (const { left } of turns.works) for (const { to } of left) this.#caughtUp.sent(to);
    return turns.works;
  }

  /** An actor that a message may be handed over to. */
  #seatOf(actor: ActorId): Seat | undefined {
    const partition = this.#partitions.get(partitionOf(actor));
    if (partition === undefined || partition.dropped || !this.#caughtUp.has(actor)) return undefined;
    const instance = partition.hold(actor);
    return instance && { partition, instance };
  }

  async #commit(works: readonly Work[]): Promise<void> {
    // A fault is committed too, though it writes nothing: a former owner, whose state is old, must not stop an actor.
    const writing = works.filter(({ turn }) => turn.changed || turn.fault !== undefined);
    const relayed = this.#relayedAtOnce(writing);
    if (writing.length > 0 && !(await this.#write(writing, relayed))) return;
    const committed = new Map<Partition, ActorId[]>();
    for (const work of works) {
      const { partition, instance } = work;
      // After a lost connection the log may have lost this commit too: the next tenure relays what it finds.
      if (partition.dropped) continue;
      this.#passOn(work, relayed.has(work));
      const actors = committed.get(partition);
      if (actors === undefined) committed.set(partition, [instance.id]);
      else actors.push(instance.id);
    }
    for (const [partition, actors] of committed) partition.capture(actors);
  }

  /** Those after which nothing of their actor has yet to be relayed. */
  #relayedAtOnce(works: readonly Work[]): ReadonlySet<Work> {
    const behind = new Set<ActorId>();
    const relayed = new Set<Work>();
    for (const work of works) {
      const { partition, instance, left, isRouted } = work;
      const actor = instance.id;
      if (left.length > 0 || !isRouted || !this.#ports.relay.isClear(partition, actor)) behind.add(actor);
      if (!behind.has(actor)) relayed.add(work);
    }
    return relayed;
  }

  /** Whether it is written. If not, every tenure that took part is over: its actors are ahead of the log. */
  async #write(works: readonly Work[], relayed: ReadonlySet<Work>): Promise<boolean> {
    const partitions = [...new Set(works.map(({ partition }) => partition))];
    const tenures = partitions.map(({ name, epoch }) => ({ partition: name, epoch }));
    const changes = works.map((work): Change => ({
      ...work.turn.change,
      partition: work.partition.name,
      relayed: relayed.has(work),
    }));
    const publications = publicationsOf(works.flatMap(({ turn }) => turn.replies));
    const outcome = this.#ports.log.commit({ tenures, changes, publications });
    const reason = await outcome.then(refusal, (error: unknown) => error);
    if (reason === undefined) return true;
    for (const partition of partitions) partition.drop(reason);
    return false;
  }

  #passOn({ partition, instance, turn, left, isRouted, fault }: Work, isRelayed: boolean): void {
    const { relay, logger } = this.#ports;
    const actor = instance.id;
    for (const { message, error } of turn.skipped)
      logger.warn({ err: error, actor, message: message.id }, "skipped a malformed message");
    if (turn.entry !== undefined && isRouted && !isRelayed) {
      relay.enqueue(partition, actor, turn.entry.seq, left);
      for (const { to } of left) this.#ring(to);
    }
    if (fault === undefined) partition.committed(instance, turn.entry !== undefined);
    else partition.halt(actor, fault);
  }

  /** An actor of this domain is about to find a message in its mailbox. */
  #ring(actor: ActorId): void {
    const name = partitionOf(actor);
    this.#partitions.get(name)?.mustRead(actor);
  }
}

/** The messages after a cursor, if one follows the other. */
function nextOf(carried: readonly Carried[], cursor: string): readonly Message[] | undefined {
  const done = positionOf(cursor);
  const next = carried.filter(({ position }) => position > done);
  if (next.some(({ position }, index) => position !== done + 1 + index)) return undefined;
  return next.map(({ position, body }) => ({ id: cursorAt(position), body }));
}

/** Why a commit was refused, if it was. */
function refusal(outcome: CommitOutcome): TenureLost | undefined {
  switch (outcome.kind) {
    case "ok":
      return undefined;
    case "fenced":
      return new TenureLost(`${outcome.partition} has another owner`);
    case "conflict":
      return new TenureLost(`${outcome.actor} is not where this worker believed`);
    default:
      return outcome satisfies never;
  }
}
