/** Watchers of a market, grouped by the channels they watch, so that each batch is framed once per group. */

import type { Mask } from "../channels.js";
import type { Flushable, FlushScheduler } from "../socket/flush-scheduler.js";
import { textFrame } from "../socket/outbox.js";
import type { Replica } from "./replica.js";
import { marketFrames, type PublicBatch } from "../wire.js";

/** Receiver of frames: the outbox of a socket. */
export interface Member {
  deliver(frames: Buffer): void;
  close(code: number, reason: string): void;
}

/** Members of a room that watch the same channels. */
interface Group {
  readonly members: Set<Member>;
  /** Frames of this tick that are not delivered yet. */
  pending: Buffer[];
}

/** The watchers of one market. */
export class Room implements Flushable {
  readonly #replica: Replica;
  readonly #scheduler: FlushScheduler;
  readonly #groups = new Map<Mask, Group>();
  readonly #stops: readonly (() => void)[];

  constructor(replica: Replica, scheduler: FlushScheduler) {
    this.#replica = replica;
    this.#scheduler = scheduler;
    this.#stops = [
      replica.onBatch((batch) => this.#frame(batch)),
      replica.onLost(() => this.#closeMembers()),
    ];
  }

  get empty(): boolean {
    return this.#groups.size === 0;
  }

  /**
   * Delivers the channels of `mask` to `member` from the next batch on. Flushes first, so that the member receives no
   * batch from before it joined.
   */
  join(member: Member, mask: Mask): void {
    this.flush();
    const group = this.#groups.get(mask) ?? { members: new Set(), pending: [] };
    group.members.add(member);
    this.#groups.set(mask, group);
  }

  /** Delivers the frames of this tick, then stops delivering the channels of `mask` to `member`. */
  leave(member: Member, mask: Mask): void {
    this.flush();
    const group = this.#groups.get(mask);
    group?.members.delete(member);
    if (group?.members.size === 0) this.#groups.delete(mask);
  }

  /** Delivers the frames of this tick to the members. */
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

  /** Closes every member with 1012: after a loss its book would be wrong, and a reconnect brings a correct snapshot. */
  #closeMembers(): void {
    const members = [...this.#groups.values()].flatMap((group) => [...group.members]);
    for (const member of members)
      member.close(1012, "the deltas of a watched market were interrupted; reconnect for a snapshot");
  }

  #frame(batch: PublicBatch): void {
    const touched = batch.parts.reduce((mask, part) => mask | part.bit, 0);
    const framed = new Map<Mask, readonly Buffer[]>();
    for (const [mask, group] of this.#groups) {
      const visible = mask & touched;
      if (visible === 0) continue;
      const frames =
        framed.get(visible) ?? marketFrames(this.#replica.market.identity, batch, visible).map(textFrame);
      framed.set(visible, frames);
      group.pending.push(...frames);
      this.#scheduler.scheduleRoom(this);
    }
  }
}

/** Rooms of a bridge: one per watched market, removed with its last member. */
export class Rooms {
  readonly #scheduler: FlushScheduler;
  readonly #rooms = new Map<string, Room>();

  constructor(scheduler: FlushScheduler) {
    this.#scheduler = scheduler;
  }

  /** Returns the room of the replica's market; creates it when there is none. */
  of(replica: Replica): Room {
    const room = this.#rooms.get(replica.marketId) ?? new Room(replica, this.#scheduler);
    this.#rooms.set(replica.marketId, room);
    return room;
  }

  /** Closes and removes the room of a market when it has no members. */
  removeEmpty(marketId: string): void {
    const room = this.#rooms.get(marketId);
    if (room?.empty !== true) return;
    room.close();
    this.#rooms.delete(marketId);
  }
}
