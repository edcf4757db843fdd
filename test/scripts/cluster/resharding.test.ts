import { expect } from "chai";
import { ledgerActor, marketActor, partitionOf } from "../../../actors/actor.js";
import { Keys } from "../../../stream/redis/keys.js";
import { pause } from "../../stream/log/support.js";
import { type RunningCluster, startCluster } from "../../support/redis/cluster.js";
import { Trading } from "./trading.js";

const LOAD_MS = Number(process.env["CLUSTER_SECONDS"] ?? 0.5) * 1_000;
/** Pause between two keys of a slot that moves, in ms. */
const KEY_MS = 20;
/** Longest wait of a caller while slots move, in ms. */
const LONGEST_MS = 8_000;

describe("slots that move to another node under load", function () {
  this.timeout(120_000 + 8 * LOAD_MS);
  let cluster: RunningCluster;
  let trading: Trading | undefined;

  afterEach(async () => {
    await trading?.close();
    await cluster.stop();
  });

  for (const env of [{}, { REDIS_WAIT_REPLICAS: "1" }])
    it(`lose nothing, and refuse nothing, with ${JSON.stringify(env)}`, async () => {
      cluster = await startCluster({ replicas: 1 });
      trading = await Trading.open(cluster.url, env);
      const [market] = trading.markets;
      if (market === undefined) throw new Error("no market");
      const actors = [ledgerActor(0), marketActor(market.marketId)];
      trading.start();
      for (const actor of actors) {
        await pause(LOAD_MS);
        const partition = partitionOf(actor);
        const key = new Keys().lease(partition);
        const to = await cluster.otherThan(key);
        await cluster.moveSlotOf(key, to, () => pause(KEY_MS));
        expect(await cluster.primaryOf(key)).to.equal(to);
      }
      await pause(LOAD_MS);
      await trading.pause();
      await trading.expectNothingLost(LONGEST_MS);
    });
});
