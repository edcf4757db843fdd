/**
 * Carries the messages of committed entries to the mailboxes of other actors, in the order of the entries. One
 * append at a time per destination partition, so nothing overtakes; an append whose outcome is unknown drops the
 * senders, whose next owner starts again from their relay cursor. The receivers drop what they get twice.
 */

import { type ActorId, partitionOf } from "../../actors/actor.js";
import type { Delivery, Log, Mark } from "./log.js";
import { type Envelope, packEnvelope } from "./packing.js";

/** The tenure of a partition, whose entries are being relayed. */
export interface Sender {
  readonly name: string;
  readonly dropped: boolean;
  drop(reason: unknown): void;
}

interface Parcel {
  readonly sender: Sender;
  readonly delivery: Delivery;
  readonly progress: Progress;
  readonly entry: EntryProgress;
}

interface EntryProgress {
  readonly seq: number;
  left: number;
}

/** How far the entries of one actor have been relayed. */
interface Progress {
  readonly underWay: EntryProgress[];
  relayed: number;
  written: number;
}

const MAX_PARCELS = 1_000;

export class Relay {
  readonly #log: Log;
  readonly #queues = new Map<string, Parcel[]>();
  readonly #busy = new Set<string>();
  readonly #progress = new Map<Sender, Map<ActorId, Progress>>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Takes over the messages of an entry, possibly none. Entries of one actor must come in order. */
  enqueue(
    sender: Sender,
    source: ActorId,
    seq: number,
    outgoing: readonly { readonly to: ActorId; readonly envelope: Envelope }[],
  ): void {
    const progress = this.#progressOf(sender, source);
    const entry = { seq, left: outgoing.length };
    progress.underWay.push(entry);
    for (const { to, envelope } of outgoing) {
      const destination = partitionOf(to);
      const parcel = { sender, delivery: { to, body: packEnvelope(envelope) }, progress, entry };
      const queue = this.#queues.get(destination);
      if (queue === undefined) this.#queues.set(destination, [parcel]);
      else queue.push(parcel);
    }
    settle(progress);
  }

  #progressOf(sender: Sender, source: ActorId): Progress {
    let actors = this.#progress.get(sender);
    if (actors === undefined) {
      actors = new Map();
      this.#progress.set(sender, actors);
    }
    let progress = actors.get(source);
    if (progress === undefined) {
      progress = { underWay: [], relayed: 0, written: 0 };
      actors.set(source, progress);
    }
    return progress;
  }

  /** The partitions that messages wait for and none is being sent to. */
  destinations(): readonly string[] {
    return [...this.#queues.keys()].filter((destination) => !this.#busy.has(destination));
  }

  /** Whether everything of a sender has been delivered. */
  isIdle(sender: Sender): boolean {
    return [...(this.#progress.get(sender)?.values() ?? [])].every(({ underWay }) => underWay.length === 0);
  }

  /** Sends the next messages for one partition. Never rejects: a failure drops the senders concerned. */
  async step(destination: string): Promise<void> {
    if (this.#busy.has(destination)) return;
    const queue = this.#queues.get(destination) ?? [];
    const parcels: Parcel[] = [];
    let taken = 0;
    for (const parcel of queue) {
      if (parcels.length === MAX_PARCELS) break;
      taken += 1;
      if (!parcel.sender.dropped) parcels.push(parcel);
    }
    queue.splice(0, taken);
    if (parcels.length > 0) {
      this.#busy.add(destination);
      try {
        await this.#log.append(
          destination,
          parcels.map(({ delivery }) => delivery),
        );
        for (const { entry } of parcels) entry.left -= 1;
        for (const progress of new Set(parcels.map((parcel) => parcel.progress))) settle(progress);
      } catch (error) {
        for (const { sender } of parcels) if (!sender.dropped) sender.drop(error);
      } finally {
        this.#busy.delete(destination);
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
    if (sender.dropped) {
      this.#progress.delete(sender);
      return;
    }
    const marks: Mark[] = [];
    for (const [actor, progress] of actors) {
      if (progress.relayed > progress.written) marks.push({ actor, seq: progress.relayed });
      else if (progress.underWay.length === 0) actors.delete(actor);
      progress.written = progress.relayed;
    }
    if (marks.length === 0) return;
    try {
      await this.#log.markRelayed(sender.name, marks);
    } catch (error) {
      sender.drop(error);
    }
  }
}

/** Moves an actor on past the entries of which every message has been delivered. */
function settle(progress: Progress): void {
  let done = 0;
  for (const { seq, left } of progress.underWay) {
    if (left > 0) break;
    progress.relayed = seq;
    done += 1;
  }
  if (done > 0) progress.underWay.splice(0, done);
}
