import { expect } from "chai";
import fc from "fast-check";
import { DerivedIds } from "../../actors/ids.js";
import { highestTakerFee, makerCredit, takerFee } from "../../actors/market/fees.js";
import {
  contracts,
  formatMoney,
  formatPrice,
  millicents,
  parseMoney,
  parsePrice,
  share,
  ticks,
} from "../../actors/units.js";

describe("money", () => {
  it("prints five decimals and reads them back, exactly", () => {
    expect(formatMoney(millicents(-123_456_789))).to.equal("-1234.56789");
    fc.assert(
      fc.property(fc.integer({ min: -(10 ** 14), max: 10 ** 14 }), (amount) => {
        expect(parseMoney(formatMoney(millicents(amount)))).to.equal(amount);
      }),
    );
  });

  it("rejects text that is not a plain decimal with at most five decimals", () => {
    for (const text of [
      "",
      "1.",
      ".5",
      "01",
      "1e3",
      "1.000001",
      "+1",
      " 1",
      "1 ",
      "٣",
      "NaN",
      "1,5",
      "123456789012",
    ]) {
      expect(parseMoney(text), text).to.equal(undefined);
    }
  });

  it("reads prices strictly between 0 and 1", () => {
    expect(parsePrice("0.665")).to.equal(665);
    expect(parsePrice("0.5")).to.equal(500);
    expect(parsePrice("0.4000")).to.equal(400);
    expect(parsePrice("0.66500")).to.equal(665);
    expect(formatPrice(ticks(5))).to.equal("0.005");
    for (const text of [
      "0",
      "1",
      "0.000",
      "1.000",
      "0.1234",
      "0.0000",
      ".4",
      "00.4",
      "-0.5",
      "5e-1",
      "0.",
      "",
    ])
      expect(parsePrice(text), text).to.equal(undefined);
  });

  it("divides without losing precision", () => {
    expect(share(millicents(9_007_199_254_740_991), 2_147_483_646, 2_147_483_647)).to.equal(
      9_007_199_250_546_686,
    );
  });
});

describe("fees", () => {
  const schedule = { coefficientPpm: 30_000, makerCreditPpm: 500_000, charged: "ALWAYS" } as const;

  it("round half up to the millicent", () => {
    expect(takerFee(schedule, ticks(500), contracts(1))).to.equal(8);
    expect(takerFee(schedule, ticks(500), contracts(100))).to.equal(750);
    expect(makerCredit(schedule, millicents(7), 1)).to.equal(4);
    expect(makerCredit(schedule, millicents(7), 2)).to.equal(1);
  });

  it("never exceed the reserve, for every split of an order and every better price", () => {
    const fills = fc.array(fc.tuple(fc.integer({ min: 1, max: 999 }), fc.integer({ min: 1, max: 50 })), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), fills, (coefficientPpm, parts) => {
        const fees = { ...schedule, coefficientPpm };
        const limit = Math.max(...parts.map(([price]) => price));
        const qty = parts.reduce((sum, [, part]) => sum + part, 0);
        const charged = parts.reduce(
          (sum, [price, part]) => sum + takerFee(fees, ticks(price), contracts(part)),
          0,
        );
        expect(charged).to.be.at.most(highestTakerFee(fees, ticks(limit), contracts(qty)));
      }),
    );
  });
});

describe("derived ids", () => {
  it("are UUIDs, and differ by maker, kind and number", () => {
    const maker = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
    const from = new DerivedIds(maker);
    const ids = [from.of("fill", 1), from.of("trade", 1), from.of("fill", 2)];
    expect(new Set(ids).size).to.equal(3);
    for (const id of ids)
      expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
