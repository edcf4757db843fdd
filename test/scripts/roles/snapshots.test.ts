import { expect } from "chai";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import { marketActor, partitionOf } from "../../../actors/actor.js";
import { LATEST_FORMAT } from "../../../actors/format.js";
import { snapshotThread } from "../../../scripts/roles/snapshots.js";
import { freshRedis } from "../../support/servers.js";

describe("the thread of the snapshots", function () {
  this.timeout(20_000);

  it("leaves busy cores to the event loop of its worker (needs Linux)", async function () {
    if (process.platform !== "linux") this.skip();
    const redis = await freshRedis();
    const threads = (): string[] => fs.readdirSync("/proc/self/task");
    const earlier = new Set(threads());
    const snapshots = snapshotThread({ redisUrl: redis.url, prefix: redis.prefix, logLevel: "error" });
    try {
      const actor = marketActor(randomUUID());
      const of = { partition: partitionOf(actor), epoch: 1, actor };
      expect(await snapshots.take({ ...of, format: LATEST_FORMAT, both: false, isUrgent: false })).to.equal(
        undefined,
      );
      const base = os.getPriority();
      const values = threads()
        .filter((thread) => !earlier.has(thread))
        .map((thread) => os.getPriority(Number(thread)))
        .filter((nice) => nice !== base);
      expect(values).to.deep.equal([Math.min(19, base + 10)]);
    } finally {
      await snapshots.close();
      await redis.drop();
    }
  });
});
