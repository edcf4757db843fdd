/**
 * Copies the messages of committed entries to the mailboxes of other actors, in the order of the entries. At most one
 * append per destination partition is in progress, so no message overtakes another. When the outcome of an append is
 * unknown, the ownership of each sender ends, and its next owner resumes from the recorded relay positions. A receiver
 * drops the messages that it receives twice.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { Delivery, Log, Mark } from "../log/log.js";

/**
 * Reason of an ended ownership when the log is sound: another worker took over, or this worker handed over, lost its
 * connection or was ahead of the log.
 */
export class OwnershipLost extends Error {
  override readonly name = "OwnershipLost";
}

/** The ownership of a partition whose entries are relayed. */
export interface Sender {
  /** The partition. */
  readonly name: string;
  readonly epoch: number;
  readonly ended: boolean;
  end(reason: unknown): void;
}

interface QueuedMessage {
  readonly sender: Sender;
  readonly delivery: Delivery;
  readonly progress: RelayProgress;
  readonly entry: EntryProgress;
}

/** An entry with messages that are not appended yet. */
interface EntryProgress {
  readonly seq: number;
  unsent: number;
}

/** Relay progress of one actor. */
interface RelayProgress {
  /** Entries that are not relayed, in order. */
  readonly entries: EntryProgress[];
  /** Seq of the last relayed entry. */
  relayed: number;
  /** The value of `relayed` that the log has. */
  written: number;
}

/** Most messages in one append, if no other number is given. */
const MAX_MESSAGES = 1_000;

export class Relay {
  readonly #log: Log;
  readonly #maxMessages: number;
  /** Messages to send, by destination partition. */
  readonly #queues = new Map<string, QueuedMessage[]>();
  readonly #sending = new Map<string, Promise<void>>();
  readonly #progress = new Map<Sender, Map<ActorId, RelayProgress>>();

  constructor(log: Log, maxMessages = MAX_MESSAGES) {
    this.#log = log;
    this.#maxMessages = maxMessages;
  }

  /** Queues the messages of an entry, possibly none. The entries of one actor must come in order. */
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

  /** Returns the partitions with queued messages to which no append is in progress. */
  destinations(): readonly string[] {
    return [...this.#queues.keys()].filter((destination) => !this.#sending.has(destination));
  }

  /** Returns the partitions for which messages are queued or being appended. */
  waiting(): readonly string[] {
    return [...this.#queues.keys()];
  }

  /** Returns true while messages for a partition are queued or being appended. */
  isWaiting(destination: string): boolean {
    return this.#queues.has(destination);
  }

  /** Returns true when every entry of a sender is relayed. */
  isIdle(sender: Sender): boolean {
    return [...(this.#progress.get(sender)?.values() ?? [])].every(({ entries }) => entries.length === 0);
  }

  /** Returns true when every entry of an actor is relayed. */
  isRelayed(sender: Sender, source: ActorId): boolean {
    return (this.#progress.get(sender)?.get(source)?.entries.length ?? 0) === 0;
  }

  /**
   * Appends the next messages for one partition, or waits for the append in progress. Never rejects: a failure ends the
   * ownership of every sender concerned.
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
    let dequeued = 0;
    for (const message of queue) {
      if (messages.length === this.#maxMessages) break;
      dequeued += 1;
      if (!message.sender.ended) messages.push(message);
    }
    queue.splice(0, dequeued);
    if (messages.length > 0) {
      const deliveries = messages.map(({ delivery, sender: { name: partition, epoch } }) => ({
        ...delivery,
        from: { partition, epoch },
      }));
      try {
        const outcomes = await this.#log.append(destination, deliveries);
        for (const [index, { entry, sender }] of messages.entries()) {
          if (outcomes[index] === "fenced") sender.end(formerOwner(sender));
          else entry.unsent -= 1;
        }
        for (const progress of new Set(messages.map((message) => message.progress))) advance(progress);
      } catch (error) {
        for (const { sender } of messages) if (!sender.ended) sender.end(error);
      }
    }
    if (queue.length === 0) this.#queues.delete(destination);
  }

  /** Records the progress of every actor in the log, and forgets the senders that have ended. */
  async flush(): Promise<void> {
    await Promise.all([...this.#progress.keys()].map((sender) => this.flushOf(sender)));
  }

  /** Records the progress of the actors of one sender. A failure ends the ownership of the sender. */
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
      const isOwner = await this.#log.markRelayed(sender.name, sender.epoch, marks);
      if (!isOwner) sender.end(formerOwner(sender));
    } catch (error) {
      sender.end(error);
    }
  }
}

function formerOwner({ name }: Sender): OwnershipLost {
  return new OwnershipLost(`${name} has another owner`);
}

/** Moves `relayed` past the first entries that have no unsent message. */
function advance(progress: RelayProgress): void {
  let done = 0;
  for (const { seq, unsent } of progress.entries) {
    if (unsent > 0) break;
    progress.relayed = seq;
    done += 1;
  }
  if (done > 0) progress.entries.splice(0, done);
}
