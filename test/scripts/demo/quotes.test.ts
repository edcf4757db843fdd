import { expect } from "chai";
import fc from "fast-check";
import { quotesAround, wander } from "../../../scripts/demo/quotes.js";
import { randomFrom } from "../../../scripts/replay/random.js";
import { GRID } from "../../support/exchange/commands.js";

const OUTCOMES = ["a", "b"] as const;
const fair = fc.double({ min: 0.06, max: 0.94, noNaN: true });

describe("demo: quotes", () => {
  it("are on the grid, cannot match each other, and have one order per price", () => {
    const style = fc.record({
      edge: fc.double({ min: 0.001, max: 0.05, noNaN: true }),
      levels: fc.integer({ min: 1, max: 5 }),
      levelStep: fc.double({ min: 0.001, max: 0.02, noNaN: true }),
      largestQty: fc.integer({ min: 1, max: 2_000 }),
    });
    fc.assert(
      fc.property(fair, style, fc.integer(), (probability, how, seed) => {
        const orders = quotesAround(probability, OUTCOMES, how, GRID, randomFrom(seed));
        const ticks = (outcomeId: string): number[] =>
          orders
            .filter((order) => order.outcomeId === outcomeId)
            .map(({ price }) => Math.round(Number(price) * 1_000));
        for (const outcomeId of OUTCOMES) {
          expect(new Set(ticks(outcomeId)).size).to.equal(ticks(outcomeId).length);
          for (const tick of ticks(outcomeId)) expect(GRID).to.include(tick);
        }
        expect(Math.max(0, ...ticks("a")) + Math.max(0, ...ticks("b"))).to.be.lessThan(1_000);
        for (const { qty, tif } of orders) {
          expect(qty).to.be.greaterThan(0);
          expect(tif).to.equal("PO");
        }
      }),
    );
  });

  it("move without end and never drift to a certain result", () => {
    fc.assert(
      fc.property(fair, fc.integer(), (anchor, seed) => {
        const random = randomFrom(seed);
        let price = anchor;
        for (let i = 0; i < 2_000; i += 1) {
          const next = wander(price, anchor, random);
          expect(Math.abs(next - price)).to.be.lessThan(0.03);
          price = next;
        }
        expect(price).to.be.within(0.06, 0.94);
      }),
      { numRuns: 20 },
    );
  });
});
