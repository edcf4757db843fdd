import { expect } from "chai";
import { ledgerActor } from "../../../actors/actor.js";
import type { Clock } from "../../../stream/log/clock.js";
import { LogGuard } from "../../../stream/services/log-guard.js";
import type { Position } from "../../../stream/log/lineage.js";
import type { LogCondition } from "../../../stream/log/log.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { until } from "../../support/until.js";

const ORDER = { opensOrders: true };
const OTHER = { opensOrders: false };

describe("the guard of the log", () => {
  let log: MemoryLog;
  let condition: LogCondition;
  let check: () => void;
  let guard: LogGuard;

  beforeEach(async () => {
    log = new MemoryLog(new MemoryStore());
    condition = { memoryUse: 0.5, memoryBytes: 5e8, memoryLimitBytes: 1e9 };
    log.condition = () => Promise.resolve(condition);
    const clock: Clock = {
      now: () => 0,
      monotonic: () => 0,
      after: (_ms, call) => {
        check = call;
        return () => undefined;
      },
    };
    guard = new LogGuard({ log, clock, logger: silentLogger });
    await guard.start();
  });

  afterEach(() => guard.close());

  /** Sets the condition of the log, and lets the guard read it. */
  async function become(next: Partial<LogCondition>): Promise<void> {
    condition = { ...condition, ...next };
    let read = false;
    log.condition = () => {
      read = true;
      return Promise.resolve(condition);
    };
    check();
    await until(() => read);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  it("refuses orders from 70 % of the memory and everything from 90 %, until some of it is free", async () => {
    const refused = async (memoryUse: number): Promise<readonly boolean[]> => {
      await become({ memoryUse });
      return [ORDER, OTHER].map((command) => guard.refusalOf(command) !== undefined);
    };
    expect(guard.room).to.deep.equal({ accepts: "all", reason: null, memoryPercent: 20 });
    expect(await refused(0.69)).to.deep.equal([false, false]);
    expect(await refused(0.7)).to.deep.equal([true, false]);
    expect(await refused(0.89)).to.deep.equal([true, false]);
    expect(guard.room).to.include({ accepts: "cancels", memoryPercent: 0 });
    expect(guard.headRoom(OTHER)).to.be.closeTo(0.01, 1e-9);
    expect(await refused(0.9)).to.deep.equal([true, true]);
    expect(await refused(0.86), "nothing passes yet").to.deep.equal([true, true]);
    expect(guard.room).to.deep.equal({
      accepts: "nothing",
      reason: "the exchange accepts no commands: the log uses 86 % of its memory",
      memoryPercent: 0,
    });
    expect(await refused(0.84)).to.deep.equal([true, false]);
    expect(await refused(0.66), "no order passes yet").to.deep.equal([true, false]);
    expect(await refused(0.64)).to.deep.equal([false, false]);
  });

  it("names the memory, and the database when its lag is the cause", async () => {
    await become({ memoryUse: 0.754 });
    expect(guard.refusalOf(ORDER)).to.equal(
      "the exchange accepts no new orders: the log uses 75 % of its memory; cancels and reads go on",
    );
    expect(guard.headRoom(ORDER)).to.equal(0);
    const actor = ledgerActor(3);
    const { epoch } = (await log.take("l3", "w", 0)) as { epoch: number };
    for (let seq = 0; seq < 10; seq += 1) {
      await log.commit({
        ownerships: [{ partition: "l3", epoch }],
        changes: [{ partition: "l3", actor, expectedSeq: seq, cursor: "0-0", entry: "e" }],
      });
    }
    await become({ memoryUse: 0.75 });
    expect(guard.refusalOf(ORDER)).to.contain("because the database is 10 entries behind");
    await log.markProjected("l3", [{ actor, seq: 9 }]);
    await become({ memoryUse: 0.75 });
    expect(guard.refusalOf(ORDER)).not.to.contain("database");
  });

  it("refuses also while the cause cannot be read", async () => {
    log.sizes = () => Promise.reject(new Error("the command is not permitted"));
    await become({ memoryUse: 0.95 });
    expect([ORDER, OTHER].map((command) => guard.refusalOf(command) === undefined)).to.deep.equal([
      false,
      false,
    ]);
  });

  it("counts the entries that the database lacks, and not the seqs that an incarnation leaves out", async () => {
    const actor = ledgerActor(3);
    const { epoch } = (await log.take("l3", "w", 0)) as { epoch: number };
    let seq = 0;
    const commit = async (resumed?: Position): Promise<void> => {
      const change = { partition: "l3", actor, expectedSeq: seq, cursor: "0-0", entry: "e", resumed };
      await log.commit({ ownerships: [{ partition: "l3", epoch }], changes: [change] });
      seq = resumed?.seq ?? seq + 1;
    };
    for (let entries = 0; entries < 10; entries += 1) await commit();
    await log.markProjected("l3", [{ actor, seq: 2 }]);
    await commit({ seq: 6_000_011, lineage: "second@10@6000011" });
    await commit();
    await become({ memoryUse: 0.75 });
    expect(guard.refusalOf(ORDER)).to.contain("because the database is 10 entries behind");
    await log.markProjected("l3", [{ actor, seq: 6_000_012 }]);
    for (let entries = 0; entries < 10; entries += 1) await commit();
    await log.markProjected("l3", [{ actor, seq: seq - 1 }]);
    await become({ memoryUse: 0.75 });
    expect(guard.refusalOf(ORDER)).not.to.contain("database");
  });

  it("refuses orders while the disk is nearly full, and everything while the log cannot write", async () => {
    await become({ disk: "the disk of redis has 10 MB left" });
    expect(guard.refusalOf(ORDER)).to.equal(
      "the exchange accepts no new orders: the disk of redis has 10 MB left; cancels and reads go on",
    );
    expect(guard.refusalOf(OTHER)).to.equal(undefined);
    await become({ fault: "Redis cannot write" });
    expect(guard.refusalOf(OTHER)).to.equal("the exchange accepts no commands: Redis cannot write");
    await become({ fault: undefined, disk: undefined });
    expect([ORDER, OTHER].map((command) => guard.refusalOf(command))).to.deep.equal([undefined, undefined]);
  });
});
