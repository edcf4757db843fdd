import { expect } from "chai";
import { ledgerActor, ledgerOf, marketActor, PARTITIONS, partitionOf } from "../../../actors/actor.js";
import { Keys } from "../../../stream/redis/keys.js";
import { pause } from "../../stream/log/support.js";
import { type RunningCluster, startCluster } from "../../support/redis/cluster.js";
import { untilWithin } from "../../support/until.js";
import { Trading } from "./trading.js";

/** Time of the load before and after the death, in ms; `CLUSTER_SECONDS` lengthens it. */
const LOAD_MS = Number(process.env["CLUSTER_SECONDS"] ?? 1) * 1_000;
/** Time for which a replica lags before its primary dies, in ms. */
const LAG_MS = 400;
/** Longest wait of a caller, in ms: the fail-over takes about four seconds. */
const LONGEST_MS = 12_000;

describe("a primary of a cluster that dies under load, ahead of its replica", function () {
  this.timeout(120_000 + 4 * LOAD_MS);
  let cluster: RunningCluster;
  let trading: Trading | undefined;

  afterEach(async () => {
    await trading?.close();
    await cluster.stop();
  });

  /**
   * Trades, kills the primary of ledger 0, and trades on when its replica has replaced it, at least until `orders` more
   * are acknowledged.
   */
  async function tradeOver(env: Readonly<Record<string, string>>, orders: number): Promise<Trading> {
    cluster = await startCluster({ replicas: 1 });
    trading = await Trading.open(cluster.url, env);
    trading.start();
    await pause(LOAD_MS);
    const primary = await cluster.primaryOf(new Keys().lease(partitionOf(ledgerActor(0))));
    await primary.cutReplication();
    await pause(LAG_MS);
    await primary.kill();
    await cluster.promoted(cluster.replicaOf(primary));
    // The dead node returns as the replica of its successor.
    primary.restart();
    const { acknowledged } = trading;
    const before = acknowledged.length;
    await untilWithin(30_000, () => acknowledged.length >= before + orders);
    await pause(LOAD_MS);
    await trading.pause();
    return trading;
  }

  /** Returns the partitions that have begun a new incarnation. */
  async function changedPartitions(): Promise<readonly string[]> {
    const changed: string[] = [];
    for (const partition of PARTITIONS) {
      const key = new Keys().lease(partition);
      const node = await cluster.primaryOf(key);
      if ((await node.call("HEXISTS", key, "incarnation")) === 1) changed.push(partition);
    }
    return changed;
  }

  it("loses no acknowledged order when commits wait for the replica", async () => {
    const exchange = await tradeOver({ REDIS_WAIT_REPLICAS: "1" }, 50);
    await exchange.expectNothingLost(LONGEST_MS);
  });

  it("knows which actors may have lost entries, and leaves no reader with other entries, when commits do not wait", async () => {
    // A ledger that has lost an order halts at the first fill of it, and its callers wait in vain.
    const exchange = await tradeOver({}, 1);
    await exchange.quiet({ halted: true });
    const lost = await exchange.lost();
    expect(lost).to.have.length.above(0);
    expect(exchange.gaps).to.be.above(0);
    const changed = await changedPartitions();
    for (const { trader, marketId } of lost)
      expect(
        [partitionOf(ledgerOf(trader)), partitionOf(marketActor(marketId))].some((name) =>
          changed.includes(name),
        ),
      ).to.equal(true);
    await exchange.expectSameFollowers();
  });
});
