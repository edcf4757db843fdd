import { expect } from "chai";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import { marketActor, partitionOf } from "../../../actors/actor.js";
import { LATEST_FORMAT } from "../../../actors/format.js";
import { snapshotThreads } from "../../../scripts/roles/snapshots.js";
import { freshRedis } from "../../support/servers.js";

describe("the threads of the snapshots", function () {
  this.timeout(20_000);

  it("leave busy cores to the event loop of their worker, except for moves (needs Linux)", async function () {
    if (process.platform !== "linux") this.skip();
    const redis = await freshRedis();
    const threads = (): string[] => fs.readdirSync("/proc/self/task");
    const snapshots = snapshotThreads({ redisUrl: redis.url, prefix: redis.prefix, logLevel: "error" });
    const base = os.getPriority();
    try {
      const actor = marketActor(randomUUID());
      const of = { partition: partitionOf(actor), epoch: 1, actor, nowMs: Date.now(), both: false };
      for (const isForMove of [true, false]) {
        const earlier = new Set(threads());
        expect(await snapshots.take({ ...of, format: LATEST_FORMAT, isForMove, isUrgent: false })).to.equal(
          undefined,
        );
        const others = threads()
          .filter((thread) => !earlier.has(thread))
          .map((thread) => os.getPriority(Number(thread)))
          .filter((nice) => nice !== base);
        expect(others).to.deep.equal(isForMove ? [] : [Math.min(19, base + 14)]);
      }
    } finally {
      await snapshots.close();
      await redis.drop();
    }
  });
});
