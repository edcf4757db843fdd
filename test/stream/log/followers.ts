/** A writer and a follower of entries, for the tests of tails. */

import { expect } from "chai";
import { type ActorId, partitionOf } from "../../../actors/actor.js";
import { LATEST_FORMAT } from "../../../actors/format.js";
import { takeFromAnyone } from "./support.js";
import type { Log } from "../../../stream/log/log.js";
import { packEntry, packSnapshot } from "../../../stream/log/packing.js";
import type { Entry } from "../../../stream/log/ports.js";
import { counter } from "../runtime/counter.js";
import { commitIn } from "./support.js";

/** Packed entry of a build that writes a format unknown to this one. */
export const NEWER_ENTRY = JSON.stringify(["0-1", {}, [], [], 99]);

/** Commits entries of actors, as their owner does. */
export class Writer {
  readonly #log: Log;
  readonly #epochs = new Map<string, number>();
  readonly #seqs = new Map<ActorId, number>();

  constructor(log: Log) {
    this.#log = log;
  }

  async epochOf(actor: ActorId): Promise<number> {
    const partition = partitionOf(actor);
    let epoch = this.#epochs.get(partition);
    if (epoch === undefined) {
      epoch = await takeFromAnyone(this.#log, partition, "writer");
      this.#epochs.set(partition, epoch);
      await this.#log.append(partition, [{ to: actor, body: "makes the actor exist" }]);
    }
    return epoch;
  }

  /** Commits `count` entries that each add 1. */
  async add(actor: ActorId, count = 1): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const expectedSeq = this.#seqs.get(actor) ?? 0;
      const seq = expectedSeq + 1;
      const batches = [{ ts: 1_000 + seq, deltas: [{ type: "added", n: 1 }] }];
      const entry = packEntry({ actor, seq, cursor: "0-1", sources: {}, answers: [], batches });
      await this.addPacked(actor, entry);
    }
  }

  /** Commits a packed entry. */
  async addPacked(actor: ActorId, entry: string): Promise<void> {
    const epoch = await this.epochOf(actor);
    const expectedSeq = this.#seqs.get(actor) ?? 0;
    const outcome = await commitIn(this.#log, { partition: partitionOf(actor), epoch }, [
      { actor, expectedSeq, cursor: "0-1", entry },
    ]);
    expect(outcome.kind).to.equal("ok");
    this.#seqs.set(actor, expectedSeq + 1);
  }

  /** Trims the entries below `seq`, as if the relay, the projector and two snapshots had them. */
  async trim(actor: ActorId, seq: number): Promise<void> {
    const partition = partitionOf(actor);
    const last = this.#seqs.get(actor) ?? 0;
    await this.#log.markRelayed(partition, await this.epochOf(actor), [{ actor, seq: last }]);
    await this.#log.markProjected(partition, [{ actor, seq: last }]);
    const state = { ...counter.create(actor), value: last };
    const saved = {
      state: counter.saveWhole(state),
      inbox: { sources: {}, answers: [] },
      lastTs: 1_000 + last,
    };
    const snapshot = packSnapshot(last, "0-1", saved, LATEST_FORMAT);
    for (let copy = 0; copy < 2; copy += 1) {
      await this.#log.writeSnapshot(partition, await this.epochOf(actor), actor, snapshot);
    }
    await this.#log.trim(partition, [{ actor, seq }]);
  }
}

/** A follower that records the seqs and the gaps that it receives. */
export class RecordingFollower {
  readonly seqs: number[] = [];
  gaps = 0;
  readonly onEntries = (entries: readonly Entry[]): void => {
    this.seqs.push(...entries.map(({ seq }) => seq));
  };
  readonly onGap = (): void => {
    this.gaps += 1;
  };
}
