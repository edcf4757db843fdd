import { expect } from "chai";
import { manyMarkets } from "../../../scripts/bench/orders/many-markets.js";

describe("the bench of many markets", function () {
  this.timeout(120_000);

  it("measures the memory of a market, a wallet and an order, and an idle worker", async () => {
    const rows = await manyMarkets({ markets: 300, wallets: 1_000, orders: 2_000, seconds: 1 });
    const figureOf = (measure: string): number =>
      rows.find((row) => row.measure.startsWith(measure))?.figure ?? NaN;
    for (const [measure, most] of [
      ["memory of a market", 30_000],
      ["memory of a wallet", 10_000],
      ["memory of a resting order", 10_000],
    ] as const)
      expect(figureOf(measure), measure).to.be.within(100, most);
    expect(figureOf("idle CPU, 300 markets, 1000 wallets")).to.be.within(0, 100);
    expect(figureOf("p50 with 300 markets, ratio")).to.be.above(0);
  });
});
