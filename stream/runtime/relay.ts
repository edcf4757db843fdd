/**
 * Carries the messages of committed entries to the mailboxes of other actors, in the order of the entries. One
 * append at a time per destination partition, so nothing overtakes; an append whose outcome is unknown drops the
 * senders, whose next owner starts again from their relay cursor. The receivers drop what they get twice.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { Delivery, Log, Mark } from "../log/log.js";

/** The tenure of a partition, whose entries are being relayed. */
export interface Sender {
  readonly name: string;
  readonly ended: boolean;
  end(reason: unknown): void;
}

interface QueuedMessage {
  readonly sender: Sender;
  readonly delivery: Delivery;
  readonly progress: RelayProgress;
  readonly entry: EntryProgress;
}

interface EntryProgress {
  readonly seq: number;
  unsent: number;
}

/** How far the entries of one actor have been relayed. */
interface RelayProgress {
  readonly entries: EntryProgress[];
  relayed: number;
  written: number;
}

const MAX_MESSAGES = 1_000;

export class Relay {
  readonly #log: Log;
  readonly #queues = new Map<string, QueuedMessage[]>();
  readonly #sending = new Map<string, Promise<void>>();
  readonly #progress = new Map<Sender, Map<ActorId, RelayProgress>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Takes over the messages of an entry, possibly none. Entries of one actor must come in order. */
  enqueue(sender: Sender, source: ActorId, seq: number, outgoing: readonly Delivery[]): void {
    const progress = this.#progressOf(sender, source);
    const entry = { seq, unsent: outgoing.length };
    progress.entries.push(entry);
    for (const delivery of outgoing) {
      const destination = partitionOf(delivery.to);
      const message = { sender, delivery, progress, entry };
      const queue = this.#queues.get(destination);
      if (queue === undefined) this.#queues.set(destination, [message]);
      else queue.push(message);
    }
    advance(progress);
  }

  #progressOf(sender: Sender, source: ActorId): RelayProgress {
    let actors = this.#progress.get(sender);
    if (actors === undefined) {
      actors = new Map();
      this.#progress.set(sender, actors);
    }
    let progress = actors.get(source);
    if (progress === undefined) {
      progress = { entries: [], relayed: 0, written: 0 };
      actors.set(source, progress);
    }
    return progress;
  }

  /** The partitions that messages wait for and none is being sent to. */
  destinations(): readonly string[] {
    return [...this.#queues.keys()].filter((destination) => !this.#sending.has(destination));
  }

  /** Whether messages for a partition wait or are being sent. */
  isWaiting(destination: string): boolean {
    return this.#queues.has(destination);
  }

  /** Whether everything of a sender has been delivered. */
  isIdle(sender: Sender): boolean {
    return [...(this.#progress.get(sender)?.values() ?? [])].every(
      ({ entries: underWay }) => underWay.length === 0,
    );
  }

  /** Whether everything of an actor has been delivered. */
  isRelayed(sender: Sender, source: ActorId): boolean {
    return (this.#progress.get(sender)?.get(source)?.entries.length ?? 0) === 0;
  }

  /**
   * Sends the next messages for one partition, or waits for those that are being sent. Never rejects: a failure drops
   * the senders concerned.
   */
  step(destination: string): Promise<void> {
    let sending = this.#sending.get(destination);
    if (sending === undefined) {
      sending = this.#send(destination).finally(() => this.#sending.delete(destination));
      this.#sending.set(destination, sending);
    }
    return sending;
  }

  async #send(destination: string): Promise<void> {
    const queue = this.#queues.get(destination) ?? [];
    const messages: QueuedMessage[] = [];
    let taken = 0;
    for (const message of queue) {
      if (messages.length === MAX_MESSAGES) break;
      taken += 1;
      if (!message.sender.ended) messages.push(message);
    }
    queue.splice(0, taken);
    if (messages.length > 0) {
      try {
        await this.#log.append(
          destination,
          messages.map(({ delivery }) => delivery),
        );
        for (const { entry } of messages) entry.unsent -= 1;
        for (const progress of new Set(messages.map((message) => message.progress))) advance(progress);
      } catch (error) {
        for (const { sender } of messages) if (!sender.ended) sender.end(error);
      }
    }
    if (queue.length === 0) this.#queues.delete(destination);
  }

  /** Writes down how far each actor has got, and forgets dropped senders. A failure drops the sender. */
  async flush(): Promise<void> {
    await Promise.all([...this.#progress.keys()].map((sender) => this.flushOf(sender)));
  }

  async flushOf(sender: Sender): Promise<void> {
    const actors = this.#progress.get(sender);
    if (actors === undefined) return;
    if (sender.ended) {
      this.#progress.delete(sender);
      return;
    }
    const marks: Mark[] = [];
    for (const [actor, progress] of actors) {
      if (progress.relayed > progress.written) marks.push({ actor, seq: progress.relayed });
      else if (progress.entries.length === 0) actors.delete(actor);
      progress.written = progress.relayed;
    }
    if (marks.length === 0) return;
    try {
      await this.#log.markRelayed(sender.name, marks);
    } catch (error) {
      sender.end(error);
    }
  }
}

/** Moves an actor on past the entries of which every message has been delivered. */
function advance(progress: RelayProgress): void {
  let done = 0;
  for (const { seq, unsent: left } of progress.entries) {
    if (left > 0) break;
    progress.relayed = seq;
    done += 1;
  }
  if (done > 0) progress.entries.splice(0, done);
}
