/** The conformance suite of `Log`, and the fixture of its tests. */

import { expect } from "chai";
import { type ActorId, ledgerActor } from "../../../actors/actor.js";
import type { Change, CommitOutcome, Log } from "../../../stream/log/log.js";
import { dataConformance, commitGroupConformance } from "./conformance-data.js";
import { removalConformance } from "./conformance-removal.js";
import { readerConformance } from "./conformance-readers.js";
import { commitIn, takeFromAnyone } from "./support.js";

export interface LogUnderTest {
  /** Opens a connection. All connections of a test have the same data. */
  open(): Promise<Log>;
  /** Cuts the connection of a log, which then reconnects by itself. */
  cut(log: Log): Promise<void>;
  close(): Promise<void>;
}

export const actor = ledgerActor(3);
export const partition = "l3";
export const untouched = {
  seq: 0,
  cursor: "0-0",
  relayed: 0,
  projected: 0,
  snapshot: 0,
  previous: 0,
  lineage: "",
};

export function deliveries(count: number, to: ActorId = actor): { to: ActorId; body: string }[] {
  return Array.from({ length: count }, (_, index) => ({ to, body: `message ${index + 1}` }));
}

export function entryAt(seq: number, cursor = "0-0"): Change {
  return { partition, actor, expectedSeq: seq - 1, cursor, entry: `entry ${seq}` };
}

/** The log of the current test, and steps that many tests share. */
export class Fixture {
  #subject: LogUnderTest | undefined;
  #log: Log | undefined;

  async open(subject: LogUnderTest): Promise<void> {
    this.#subject = subject;
    this.#log = await subject.open();
  }

  get subject(): LogUnderTest {
    if (this.#subject === undefined) throw new Error("no test is running");
    return this.#subject;
  }

  get log(): Log {
    if (this.#log === undefined) throw new Error("no test is running");
    return this.#log;
  }

  take(worker = "w1"): Promise<number> {
    return takeFromAnyone(this.log, partition, worker);
  }

  /** Commits changes in the partition of the fixture. */
  commit(epoch: number, changes: readonly Omit<Change, "partition">[]): Promise<CommitOutcome> {
    return commitIn(this.log, { partition, epoch }, changes);
  }

  /** Commits the entries from 1 to `count`, one by one. */
  async commitEntries(epoch: number, count: number): Promise<void> {
    for (let seq = 1; seq <= count; seq += 1) {
      expect(await this.commit(epoch, [entryAt(seq)])).to.deep.equal({ kind: "ok" });
    }
  }

  async seqs(afterSeq: number): Promise<{ seqs: number[]; gap: boolean } | undefined> {
    const [found] = await this.log.readEntries([{ partition, actor, afterSeq }], 1_000);
    return found && { seqs: found.entries.map(({ seq }) => seq), gap: found.gap };
  }
}

/** Runs the suite. `create` makes a new log for each test; `groups` says how many commit groups the log has. */
export function conformance(create: () => Promise<LogUnderTest>, groups: "one" | "many"): void {
  const fixture = new Fixture();

  beforeEach(async () => fixture.open(await create()));
  afterEach(() => fixture.subject.close());

  dataConformance(fixture);
  readerConformance(fixture);
  removalConformance(fixture);
  if (groups === "one") commitGroupConformance(fixture);
}
