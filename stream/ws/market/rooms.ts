/** Who watches a market, grouped by what they watch of it, so that each batch is framed once per group. */

import type { Mask } from "../socket/channels.js";
import { type Flushable, type FlushScheduler, textFrame } from "../socket/outbox.js";
import type { Replica } from "./replica.js";
import { marketFrames, type PublicBatch } from "../wire.js";

/** Who frames are for: a socket's outbox. */
export interface Member {
  deliver(frames: Buffer): void;
  close(code: number, reason: string): void;
}

interface Group {
  readonly members: Set<Member>;
  /** Frames of this tick. */
  pending: Buffer[];
}

export class Room implements Flushable {
  readonly #replica: Replica;
  readonly #scheduler: FlushScheduler;
  readonly #groups = new Map<Mask, Group>();
  readonly #stops: readonly (() => void)[];

  constructor(replica: Replica, pulse: FlushScheduler) {
    this.#replica = replica;
    this.#scheduler = pulse;
    this.#stops = [replica.onBatch((batch) => this.#take(batch)), replica.onLost(() => this.#closeMembers())];
  }

  get empty(): boolean {
    return this.#groups.size === 0;
  }

  /** From the next batch on, `member` gets the channels of `mask`. What it had gathered before is handed over first. */
  join(member: Member, mask: Mask): void {
    this.flush();
    const group = this.#groups.get(mask) ?? { members: new Set(), pending: [] };
    group.members.add(member);
    this.#groups.set(mask, group);
  }

  leave(member: Member, mask: Mask): void {
    this.flush();
    const group = this.#groups.get(mask);
    group?.members.delete(member);
    if (group?.members.size === 0) this.#groups.delete(mask);
  }

  /** Hands the frames of this tick to the members. */
  flush(): void {
    for (const group of this.#groups.values()) {
      if (group.pending.length === 0) continue;
      const [only] = group.pending;
      const frames = group.pending.length === 1 && only !== undefined ? only : Buffer.concat(group.pending);
      group.pending = [];
      for (const member of group.members) member.deliver(frames);
    }
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** A client that went on after a loss would hold a wrong book; one that comes again gets a right one. */
  #closeMembers(): void {
    const members = [...this.#groups.values()].flatMap((group) => [...group.members]);
    for (const member of members) member.close(1012, "the market's stream begins again");
  }

  #take(batch: PublicBatch): void {
    const touched = batch.parts.reduce((mask, part) => mask | part.bit, 0);
    const made = new Map<Mask, readonly Buffer[]>();
    for (const [mask, group] of this.#groups) {
      const visible = mask & touched;
      if (visible === 0) continue;
      const frames =
        made.get(visible) ?? marketFrames(this.#replica.market.identity, batch, visible).map(textFrame);
      made.set(visible, frames);
      group.pending.push(...frames);
      this.#scheduler.scheduleRoom(this);
    }
  }
}

/** The rooms of a bridge: one per watched market, gone with its last member. */
export class Rooms {
  readonly #scheduler: FlushScheduler;
  readonly #rooms = new Map<string, Room>();

  constructor(pulse: FlushScheduler) {
    this.#scheduler = pulse;
  }

  of(replica: Replica): Room {
    const room = this.#rooms.get(replica.marketId) ?? new Room(replica, this.#scheduler);
    this.#rooms.set(replica.marketId, room);
    return room;
  }

  /** Closes the market's room when nobody is left in it. */
  removeEmpty(marketId: string): void {
    const room = this.#rooms.get(marketId);
    if (room?.empty !== true) return;
    room.close();
    this.#rooms.delete(marketId);
  }
}
