import { expect } from "chai";
import type { ActorId } from "../../../actors/actor.js";
import { systemClock } from "../../../stream/log/clock.js";
import { silentLogger } from "../../../stream/log/logger.js";
import { LogUsage } from "../../../stream/services/log-usage.js";
import { MemoryLog } from "../../support/log/memory-log.js";
import { MemoryStore } from "../../support/log/memory-store.js";
import { until } from "../../support/until.js";

describe("the room that actors take in the log", () => {
  it("is sampled over all partitions of a worker, and forgotten with a partition", async () => {
    const log = new MemoryLog(new MemoryStore());
    const owned = new Set(["m1", "m2"]);
    for (const partition of owned) {
      await log.append(partition, [{ to: `market:${partition}` as ActorId, body: "x".repeat(100) }]);
    }
    const fast = { ...systemClock, after: (_ms: number, call: () => void) => systemClock.after(1, call) };
    const usage = new LogUsage({ log, clock: fast, logger: silentLogger, partitions: () => [...owned] });
    expect(usage.figures().mailbox_bytes).to.equal(0);
    await until(() => usage.figures().mailbox_bytes === 200);
    expect(usage.figures()).to.include({ mailbox_messages: 2, delta_entries: 0, kept_snapshot_bytes: 0 });
    owned.delete("m1");
    await until(() => usage.figures().mailbox_bytes === 100);
    usage.stop();
    await log.close();
  });

  it("is sampled less often where a partition has many actors", async () => {
    const log = new MemoryLog(new MemoryStore());
    const deliveries = Array.from({ length: 192 }, (_, n) => ({ to: `market:${n}` as ActorId, body: "x" }));
    await log.append("m1", deliveries);
    const intervalsMs: number[] = [];
    const fast = {
      ...systemClock,
      after: (ms: number, call: () => void) => {
        intervalsMs.push(ms);
        return systemClock.after(1, call);
      },
    };
    const usage = new LogUsage({ log, clock: fast, logger: silentLogger, partitions: () => ["m1", "m2"] });
    await until(() => intervalsMs.length > 4);
    usage.stop();
    await log.close();
    expect(intervalsMs.slice(0, 5)).to.deep.equal([1_000, 3_000, 1_000, 3_000, 1_000]);
  });
});
