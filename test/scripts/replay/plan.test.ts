import { expect } from "chai";
import fc from "fast-check";
import type { Ladder } from "../../../scripts/replay/recording/ladder.js";
import {
  afterTakes,
  planBeside,
  planMirror,
  planPaused,
  type MirrorOrder,
  type Plan,
} from "../../../scripts/replay/makers/plan.js";

function ladder(first: Record<number, number>, second: Record<number, number> = {}): Ladder {
  const bids = (levels: Record<number, number>): Map<number, number> =>
    new Map(Object.entries(levels).map(([tick, qty]) => [Number(tick), qty]));
  return [bids(first), bids(second)];
}

function order(
  outcome: number,
  tick: number,
  remaining: number,
  orderId = `${outcome}@${tick}`,
): MirrorOrder {
  return { orderId, outcome, tick, remaining };
}

function ids(plan: Plan): string[] {
  return plan.cancels.map(({ orderId }) => orderId);
}

/** Returns the resting levels after the plan, when nothing fills. */
function afterwards(orders: readonly MirrorOrder[], plan: Plan): Map<string, number> {
  const gone = new Set(ids(plan));
  const levels = new Map<string, number>();
  const add = (outcome: number, tick: number, qty: number): void => {
    const key = `${outcome} ${tick}`;
    levels.set(key, (levels.get(key) ?? 0) + qty);
  };
  for (const { orderId, outcome, tick, remaining } of orders)
    if (!gone.has(orderId)) add(outcome, tick, remaining);
  for (const { outcome, tick, qty } of [...plan.places, ...plan.after]) add(outcome, tick, qty);
  return levels;
}

describe("replay: planning the mirror", () => {
  it("places the missing levels, best price first", () => {
    expect(planMirror(ladder({ 400: 10, 450: 20 }, { 500: 5 }), [])).to.deep.equal({
      cancels: [],
      places: [
        { outcome: 0, tick: 450, qty: 20 },
        { outcome: 0, tick: 400, qty: 10 },
        { outcome: 1, tick: 500, qty: 5 },
      ],
      after: [],
    });
  });

  it("keeps an order with the right quantity", () => {
    const plan = planMirror(ladder({ 400: 10 }), [order(0, 400, 10)]);
    expect(plan).to.deep.equal({ cancels: [], places: [], after: [] });
  });

  it("replaces an order whose remaining quantity differs from the ladder", () => {
    const plan = planMirror(ladder({ 400: 10 }), [order(0, 400, 4)]);
    expect(ids(plan)).to.deep.equal(["0@400"]);
    expect(plan.places).to.deep.equal([{ outcome: 0, tick: 400, qty: 10 }]);
  });

  it("keeps one order per price", () => {
    const plan = planMirror(ladder({ 400: 10 }), [order(0, 400, 10, "a"), order(0, 400, 10, "b")]);
    expect(ids(plan)).to.deep.equal(["b"]);
    expect(plan.places).to.deep.equal([]);
  });

  it("delays a placement that would match an order that the plan cancels", () => {
    const plan = planMirror(ladder({ 600: 10, 500: 1 }, { 390: 5 }), [order(1, 420, 5)]);
    expect(ids(plan)).to.deep.equal(["1@420"]);
    expect(plan.after).to.deep.equal([{ outcome: 0, tick: 600, qty: 10 }]);
    expect(plan.places).to.deep.equal([
      { outcome: 0, tick: 500, qty: 1 },
      { outcome: 1, tick: 390, qty: 5 },
    ]);
  });

  it("delays a placement that would match an order whose cancel is in progress", () => {
    const plan = planMirror(ladder({ 600: 10 }), [], [order(1, 400, 5)]);
    expect(plan).to.deep.equal({ cancels: [], places: [], after: [{ outcome: 0, tick: 600, qty: 10 }] });
  });

  it("only cancels orders outside the ladder while the market is paused", () => {
    const plan = planPaused(ladder({ 400: 10, 410: 1 }), [order(0, 400, 4), order(0, 300, 1)]);
    expect(ids(plan)).to.deep.equal(["0@300"]);
    expect([...plan.places, ...plan.after]).to.deep.equal([]);
  });

  it("returns the orders that remain after takes, which match the best price first", () => {
    const orders = [order(0, 400, 10), order(0, 450, 5), order(1, 500, 7)];
    const left = afterTakes(orders, [{ outcome: 1, tick: 600, qty: 8 }]);
    expect(left).to.deep.equal([order(0, 400, 7), order(1, 500, 7)]);
  });

  it("plans beside takes only operations that the takes cannot affect", () => {
    const orders = [order(0, 450, 5), order(0, 400, 10), order(0, 300, 9), order(1, 500, 7)];
    const takes = [{ outcome: 1, tick: 600, qty: 8 }];
    const target = ladder({ 460: 1, 400: 7, 300: 1 }, { 530: 2, 545: 3 });
    const plan = planBeside(target, orders, [], takes);
    // 0.460 waits because it lies within the reach of the takes; 0.545 would match 0.455 or better, and no such bid rests.
    expect(ids(plan)).to.deep.equal(["0@300", "1@500"]);
    expect(plan.places).to.deep.equal([
      { outcome: 0, tick: 300, qty: 1 },
      { outcome: 1, tick: 545, qty: 3 },
      { outcome: 1, tick: 530, qty: 2 },
    ]);
    const crossing = planBeside(ladder({}, { 550: 3 }), orders, [], takes);
    expect(crossing.places).to.deep.equal([]);
  });

  it("reaches the ladder from any orders, and never crosses on the way", () => {
    const tick = fc.integer({ min: 1, max: 999 });
    const levels = fc.dictionary(tick.map(String), fc.integer({ min: 1, max: 50 }), { maxKeys: 6 });
    const orders = fc.array(fc.tuple(fc.integer({ min: 0, max: 1 }), tick, fc.integer({ min: 1, max: 50 })), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(levels, levels, orders, (first, second, resting) => {
        const target = ladder(first, second);
        fc.pre(bestOfKeys(first) + bestOfKeys(second) < 1_000);
        const own = resting.map(([outcome, at, qty], index) => order(outcome, at, qty, String(index)));
        fc.pre(bestTick(own, 0) + bestTick(own, 1) < 1_000);
        const plan = planMirror(target, own);
        const expected = new Map(
          target.flatMap((bids, outcome) => [...bids].map(([at, qty]) => [`${outcome} ${at}`, qty] as const)),
        );
        expect(afterwards(own, plan)).to.deep.equal(expected);
        for (const { outcome, tick: at } of plan.places) {
          expect(at + bestTick(own, 1 - outcome)).to.be.lessThan(1_000);
        }
      }),
    );
  });
});

function bestOfKeys(levels: Record<string, number>): number {
  return Math.max(0, ...Object.keys(levels).map(Number));
}

function bestTick(orders: readonly MirrorOrder[], outcome: number): number {
  return Math.max(0, ...orders.filter((one) => one.outcome === outcome).map(({ tick }) => tick));
}
