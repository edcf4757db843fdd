import { expect } from "chai";
import { market } from "../../actors/market/market.js";
import { ticks } from "../../actors/units.js";
import { Scenario, type ScenarioOptions } from "./scenario.js";

function funded(options: ScenarioOptions = {}): Scenario {
  const scenario = new Scenario(options);
  for (const trader of ["ann", "bob", "cat"]) scenario.fund(trader, 10_000_000);
  scenario.said();
  return scenario;
}

describe("what random runs found", () => {
  it("carries a position across from one outcome to the other in one fill", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.500 x 2");
    exchange.place("bob", "NO 0.500 x 2");
    exchange.place("bob", "YES 0.500 x 5");
    exchange.place("ann", "NO 0.500 x 5");
    expect(exchange.positions("ann")).to.equal("NO 3 @ 0.01500");
    expect(exchange.positions("bob")).to.equal("YES 3 @ 0.01500");
  });

  it("cancels in the order of arrival, restored or not", () => {
    const exchange = funded();
    exchange.place("ann", "NO 0.300 x 1");
    exchange.place("ann", "YES 0.300 x 1");
    exchange.place("ann", "YES 0.400 x 1");
    const saved: unknown = JSON.parse(JSON.stringify(market.save(exchange.market)));
    const restored = market.restore(exchange.id, saved);
    const close = { kind: "lifecycle", actions: ["close"] } as const;
    const expected = market.decide(exchange.market, close, exchange.nowMs);
    expect(market.decide(restored, close, exchange.nowMs)).to.deep.equal(expected);
  });

  it("expires what is due before a held order enters, restored or not", () => {
    for (const restoring of [false, true]) {
      const exchange = funded({ liveDelayMs: 1_000 });
      exchange.lifecycle("golive");
      exchange.place("ann", "YES 0.600 x 1");
      exchange.place("bob", "NO 0.400 x 1", { tif: "PO", ttlMs: 1_000 });
      const state = restoring
        ? market.restore(exchange.id, JSON.parse(JSON.stringify(market.save(exchange.market))) as unknown)
        : exchange.market;
      const { deltas } = market.decide(state, { kind: "tick" }, exchange.nowMs + 1_000);
      const told = deltas.flatMap((delta) => (delta.type === "order" ? [delta.kind] : []));
      expect(told).to.deep.equal(["cancel", "open"]);
    }
  });

  it("charges no more than the limit when the tick table has lost its low end meanwhile", () => {
    const exchange = funded({ liveDelayMs: 1_000 });
    exchange.lifecycle("golive");
    exchange.place("ann", "YES 0.999 x 10", { tif: "PO" });
    exchange.place("bob", "NO 0.001 x 10");
    exchange.operate({ kind: "configure", ticks: [10, 500, 990].map(ticks) });
    exchange.wait(1_000);
    expect(exchange.positions("bob")).to.equal("NO 10 @ 0.00010");
    expect(exchange.positions("ann")).to.equal("YES 10 @ 0.09990");
    expect(exchange.wallet("bob")).to.equal("99.99990 99.99990");
  });
});
