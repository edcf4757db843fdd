import { expect } from "chai";
import type { Measured } from "../../../scripts/bench/orders/measure.js";
import { type PointResult, rowsOf, runPoint } from "../../../scripts/bench/orders/orders.js";
import { allPoints, BASE, nameOf, oneAxisAtATime } from "../../../scripts/bench/orders/points.js";
import { sizeOf, WalletFlow } from "../../../scripts/bench/orders/wallet-flow.js";

const MEASURED: Measured = {
  operationsPerSecond: 10_000,
  p50Ms: 40,
  p99Ms: 80,
  refused: {},
  cpuMicros: { "load generator": 10, worker: 30, Redis: 10 },
  redisBytes: { received: 2_000, sent: 400, appended: 2_000 },
};

describe("the orders bench", () => {
  it("changes one axis of the base at a time, or combines all", () => {
    expect(oneAxisAtATime().map(nameOf)).to.deep.equal([
      "base: 1 worker, 16 markets, 1 Redis",
      "2 workers",
      "4 workers",
      "8 workers",
      "2,000 markets",
      "10,000 markets",
      "1 order a message",
      "three-node cluster",
      "appendfsync always",
      "sockets and projector",
    ]);
    const names = allPoints().map(nameOf);
    expect(names).to.have.length(4 * 3 * 2 * 2 * 2 * 2);
    expect(new Set(names)).to.have.length(names.length);
    expect(names).to.include("8 workers, 10,000 markets, 1 order a message, three-node cluster");
  });

  it("sends the flow that the README describes", () => {
    const flow = new WalletFlow(16, 20);
    let [operations, canceled, orders, crossing, ids] = [0, 0, 0, 0, 0];
    for (let request = 0; request < 2_000; request += 1) {
      const next = flow.next();
      operations += sizeOf(next);
      if (next.kind === "cancel") canceled += sizeOf(next);
      else {
        orders += next.orders.length;
        crossing += next.orders.filter(({ priceTicks }) => priceTicks === 520).length;
        for (const { priceTicks, market, qty } of next.orders) {
          expect(priceTicks % 5).to.equal(0);
          expect(priceTicks === 520 || (priceTicks >= 400 && priceTicks <= 495)).to.equal(true);
          expect(market).to.be.within(0, 15);
          expect(qty).to.be.within(1, 20);
        }
        flow.accepted(next.orders.map(() => String((ids += 1))));
      }
    }
    expect(operations).to.equal(40_000);
    // From 5,000 open orders on, a wallet cancels as much as it places.
    expect(canceled / operations).to.be.within(0.28, 0.5);
    expect(crossing / orders).to.be.within(0.08, 0.12);
  });

  it("compares the points that have a goal", () => {
    const result = (change: Partial<PointResult["point"]>, measured: Partial<Measured>): PointResult => ({
      point: { ...BASE, ...change },
      measured: { ...MEASURED, ...measured },
    });
    const rows = rowsOf([
      { ...result({}, {}), bare: { ...MEASURED, operationsPerSecond: 50_000 } },
      result(
        { workers: 2 },
        { operationsPerSecond: 15_000, p50Ms: 44, cpuMicros: { worker: 33, Redis: 11 } },
      ),
    ]);
    const figureOf = (measure: string): number | undefined =>
      rows.find((row) => row.measure === measure)?.figure;
    expect(rows[0]).to.include({ figure: 10_000, ratio: 0.2 });
    expect(figureOf("2 workers against 1: throughput")).to.equal(1.5);
    expect(figureOf("2 workers against 1: worker CPU")).to.equal(1.1);
    expect(figureOf("2 workers against 1: CPU of workers and Redis")).to.equal(1.1);
    expect(figureOf("2 workers against 1: p50")).to.equal(1.1);
    expect(figureOf("8 workers against 2: throughput")).to.equal(undefined);
  });

  for (const change of [{}, { workers: 2 }, { redis: "cluster" }] as const) {
    const point = { ...BASE, ...change };
    it(`measures ${nameOf(point)}`, async () => {
      const { measured, bare } = await runPoint(point, 1);
      expect(measured.operationsPerSecond).to.be.above(0);
      expect(measured.refused).to.deep.equal({});
      expect(measured.p99Ms).to.be.least(measured.p50Ms);
      for (const role of ["load generator", "worker", "Redis"] as const)
        expect(measured.cpuMicros[role], role).to.be.above(0);
      expect(measured.redisBytes.appended).to.be.above(0);
      expect(bare === undefined).to.equal("workers" in change || "redis" in change);
      if (bare !== undefined) expect(bare.operationsPerSecond).to.be.above(measured.operationsPerSecond);
    }).timeout(120_000);
  }
});
