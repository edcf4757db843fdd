import { expect } from "chai";
import { capacity, costsOf } from "../../../scripts/bench/orders/capacity.js";
import type { Measured, Point } from "../../../scripts/bench/orders/measure.js";
import type { OrdersRun } from "../../../scripts/bench/orders/orders.js";
import { type Costs, limitsOf, needsOf } from "../../../scripts/bench/orders/plan.js";
import { BASE } from "../../../scripts/bench/orders/points.js";
import { StartError } from "../../../scripts/supervisor/start-error.js";

/** Costs of which each process has room for 70,000 orders a second, but Postgres for 320,000. */
const COSTS: Costs = {
  workerMicros: 10,
  manyWorkersFactor: 1,
  clusterWorkerFactor: 1,
  redisMicros: 10,
  clusterRedisFactor: 1,
  gatewayMicros: 10,
  projectorMicros: 10,
  postgresMicros: 70,
  ledgerShare: 0.5,
  redisNetworkBytes: 1_000,
  socketBytes: 500,
  appendedBytes: 2_000,
  walBytes: 1_500,
  tableBytes: 500,
};

describe("the capacity plan", () => {
  it("needs one process of each kind while it has room", () => {
    const needs = needsOf(70_000, COSTS);
    expect(needs).to.include({ workers: 1, redisNodes: 1, gateways: 1, projectors: 1, postgresCores: 7 });
    expect(needs.broken).to.deep.equal([]);
  });

  it("multiplies the processes, and begins with a cluster of three nodes", () => {
    const needs = needsOf(70_001, COSTS);
    expect(needs).to.include({ workers: 2, redisNodes: 3, gateways: 2, projectors: 2 });
    expect(needsOf(700_000, COSTS)).to.include({ workers: 10, redisNodes: 10, gateways: 10, projectors: 10 });
  });

  it("counts what many workers and a cluster add to an order", () => {
    const costs = { ...COSTS, manyWorkersFactor: 1.5, clusterWorkerFactor: 2, clusterRedisFactor: 3 };
    expect(needsOf(70_000, costs)).to.include({ workers: 1, redisNodes: 1 });
    expect(needsOf(280_000, costs)).to.include({ workers: 8, redisNodes: 12 });
    const cheapRedis = { ...costs, redisMicros: 1 };
    // One Redis has room for the rate, so only the factor of many workers counts.
    expect(needsOf(280_000, cheapRedis)).to.include({ workers: 6, redisNodes: 1 });
  });

  it("adds up network and disk", () => {
    const needs = needsOf(100_000, COSTS);
    expect(needs.redisGigabits).to.be.closeTo(0.8, 1e-9);
    expect(needs.socketGigabits).to.be.closeTo(0.4, 1e-9);
    expect(needs.appendedMegabytes).to.be.closeTo(200, 1e-9);
    expect(needs.postgresMegabytes).to.be.closeTo(200, 1e-9);
  });

  it("names what breaks, the lowest limit first", () => {
    // A process has room for 70,000 orders, and a ledger has half of the work of an order.
    expect(limitsOf(COSTS).map(({ ordersPerSecond }) => Math.round(ordersPerSecond))).to.deep.equal([
      320_000,
      16 * 140_000,
      16 * 140_000,
      16 * 140_000,
      64 * 140_000,
    ]);
    expect(needsOf(320_000, COSTS).broken).to.deep.equal([]);
    expect(needsOf(1_000_000, COSTS).broken.map(({ resource }) => resource)).to.deep.equal([
      "Postgres, one primary",
    ]);
    const heavyLedgers = { ...COSTS, workerMicros: 100, ledgerShare: 0.8 };
    expect(limitsOf(heavyLedgers)[0]).to.deep.include({ resource: "workers, one for each ledger" });
    expect(needsOf(1_000_000, heavyLedgers).broken.map(({ resource }) => resource)).to.deep.equal([
      "workers, one for each ledger",
      "Postgres, one primary",
    ]);
  });

  const measured = (change: Partial<Measured>): Measured => ({
    operationsPerSecond: 10_000,
    p50Ms: 40,
    p99Ms: 80,
    refused: {},
    cpuMicros: { worker: 30, Redis: 10 },
    redisBytes: { received: 2_000, sent: 400, appended: 1_900 },
    ...change,
  });
  const at = (point: Partial<Point>, change: Partial<Measured> = {}): OrdersRun["results"][number] => ({
    point: { ...BASE, ...point },
    measured: measured(change),
  });
  const run: OrdersRun = {
    machine: { cpu: "a CPU", cores: 2, node: "v22" },
    results: [
      at({}, { ledgerShare: 0.6 }),
      at({ workers: 8 }, { cpuMicros: { worker: 36, Redis: 12 } }),
      at({ redis: "cluster" }, { cpuMicros: { worker: 60, Redis: 15 } }),
      at(
        { isWholeStack: true },
        {
          cpuMicros: { worker: 40, Redis: 20, gateway: 50, projector: 25, Postgres: 30, jobs: 1 },
          redisBytes: { received: 2_000, sent: 3_000, appended: 1_900 },
          socketBytes: 400,
          postgresBytes: { walBytes: 900, tableBytes: 300 },
        },
      ),
    ],
  };

  it("takes the costs of the whole stack, and the factors from the axes", () => {
    expect(costsOf(run)).to.deep.equal({
      workerMicros: 40,
      manyWorkersFactor: 1.2,
      clusterWorkerFactor: 2,
      redisMicros: 20,
      clusterRedisFactor: 1.5,
      gatewayMicros: 50,
      projectorMicros: 25,
      postgresMicros: 30,
      ledgerShare: 0.6,
      redisNetworkBytes: 5_000,
      socketBytes: 400,
      appendedBytes: 1_900,
      walBytes: 900,
      tableBytes: 300,
    } satisfies Costs);
  });

  it("names the remedy when the costs are not measured", () => {
    const lacking = { ...run, results: run.results.slice(0, 2) };
    expect(() => capacity(lacking)).to.throw(
      StartError,
      /lacks "sockets and projector": run npm run bench -- orders first/,
    );
  });
});
