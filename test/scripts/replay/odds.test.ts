import { expect } from "chai";
import fc from "fast-check";
import { contractsOf, snapDown, thousandthsOf } from "../../../scripts/replay/recording/odds.js";
import { GRID } from "../../support/exchange/commands.js";

const odds = fc.integer({ min: 101, max: 100_000 }).map((hundredths) => hundredths / 100);

describe("replay: odds to prices", () => {
  it("maps a back to a bid on the runner and a lay to a bid on the opponent", () => {
    expect(thousandthsOf(2, "back")).to.equal(500);
    expect(thousandthsOf(1.25, "back")).to.equal(800);
    expect(thousandthsOf(1.25, "lay")).to.equal(200);
    expect(thousandthsOf(1.01, "back")).to.equal(990);
    expect(thousandthsOf(1.01, "lay")).to.equal(9);
    expect(thousandthsOf(1000, "back")).to.equal(1);
    expect(thousandthsOf(1000, "lay")).to.equal(999);
  });

  it("snaps down to the grid, and returns undefined below it", () => {
    expect(snapDown(793, GRID)).to.equal(790);
    expect(snapDown(790, GRID)).to.equal(790);
    expect(snapDown(54, GRID)).to.equal(50);
    expect(snapDown(1, GRID)).to.equal(1);
    expect(snapDown(0, GRID)).to.equal(undefined);
    expect(snapDown(1_500, GRID)).to.equal(999);
  });

  it("keeps odds that do not cross from crossing", () => {
    fc.assert(
      fc.property(odds, odds, (a, b) => {
        fc.pre(a > b);
        // A back at longer odds than the lay does not match at the source.
        const back = snapDown(thousandthsOf(a, "back"), GRID) ?? 0;
        const lay = snapDown(thousandthsOf(b, "lay"), GRID) ?? 0;
        expect(back + lay).to.be.lessThan(1_000);
      }),
    );
  });

  it("returns the payout of a bet in cents, exactly to the hundredth", () => {
    expect(contractsOf(10, 2, 1)).to.equal(2_000);
    expect(contractsOf(0.58, 1000, 1)).to.equal(58_000);
    expect(contractsOf(51.14, 1.26, 1)).to.equal(6_444);
    expect(contractsOf(51.14, 1.26, 0.1)).to.equal(644);
  });
});
