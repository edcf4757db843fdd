import { expect } from "chai";
import fc from "fast-check";
import { contracts, ticks } from "../../../actors/units.js";
import { impliedAsks, levelsOf } from "../../../actors/market/book/implied-asks.js";
import { halfPoint, restrike } from "../../../http/surface-b/strikes.js";

const level = (price: number, qty: number) => ({ price: ticks(price), qty: contracts(qty) });
const shown = (levels: readonly { price: number; qty: number }[]): string[] =>
  levels.map(({ price, qty }) => `${price} x ${qty}`);

describe("books of surface B", () => {
  it("merge orders of one price into a level", () => {
    const orders = [level(600, 5), level(600, 7), level(590, 1)];
    expect(shown(levelsOf(orders))).to.deep.equal(["600 x 12", "590 x 1"]);
    expect(orders.map(({ qty }) => qty)).to.deep.equal([5, 7, 1]);
  });

  it("imply asks of two outcomes from the other ladder", () => {
    expect(shown(impliedAsks([[level(600, 10), level(550, 3)]]))).to.deep.equal(["400 x 10", "450 x 3"]);
    expect(impliedAsks([[]])).to.deep.equal([]);
  });

  it("imply asks of three outcomes from both other ladders, as deep as the shallower one", () => {
    const others = [
      [level(400, 10), level(300, 10)],
      [level(350, 4), level(340, 20)],
    ];
    expect(shown(impliedAsks(others))).to.deep.equal(["250 x 4", "260 x 6", "360 x 10"]);
    expect(impliedAsks([[level(400, 10)], []])).to.deep.equal([]);
  });

  it("imply no ask below the lowest tick, even when the other bids sum to more than 1", () => {
    expect(shown(impliedAsks([[level(600, 1)], [level(500, 1)]]))).to.deep.equal(["1 x 1"]);
  });

  it("imply rising asks up to the depth of the shallowest ladder", () => {
    const ladder = fc.array(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 9 })), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(fc.array(ladder, { minLength: 1, maxLength: 4 }), (ladders) => {
        const others = ladders.map((orders) =>
          levelsOf(orders.map(([price, qty]) => level(price, qty)).toSorted((a, b) => b.price - a.price)),
        );
        const asks = impliedAsks(others);
        const depth = Math.min(...others.map((levels) => levels.reduce((sum, { qty }) => sum + qty, 0)));
        expect(asks.reduce((sum, { qty }) => sum + qty, 0)).to.equal(depth);
        asks.forEach(({ price }, index) => {
          if (index > 0) expect(price).to.be.greaterThan(asks[index - 1]?.price ?? 0);
        });
      }),
    );
  });
});

describe("strikes", () => {
  it("that are whole become half points", () => {
    expect([7, 0, -3, 7.5, -2.5, 3.25].map(halfPoint)).to.deep.equal([7.5, 0.5, -2.5, 7.5, -2.5, 3.25]);
  });

  const cases: readonly (readonly [string, number, number, string])[] = [
    ["Over 45.5", 45.5, 47.5, "Over 47.5"],
    ["Total points: 45.5 (45.5)", 45.5, 40.5, "Total points: 40.5 (40.5)"],
    ["Bees -3.5", -3.5, -6.5, "Bees -6.5"],
    ["Ants +3.5", -3.5, -6.5, "Ants +6.5"],
    ["Bees -3.5", -3.5, 2.5, "Bees +2.5"],
    ["Ants +3.5", -3.5, 2.5, "Ants -2.5"],
    ["13.5 is not 3.5, nor is 3.55", 3.5, 4.5, "13.5 is not 4.5, nor is 3.55"],
    ["Group 45.5a", 45.5, 46.5, "Group 46.5a"],
    ["Who wins", 3.5, 4.5, "Who wins"],
  ];
  for (const [text, from, to, expected] of cases) {
    it(`${from} to ${to}: ${text}`, () => expect(restrike(text, from, to)).to.equal(expected));
  }
});
