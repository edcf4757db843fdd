import { expect } from "chai";
import { market } from "../../actors/market/market.js";
import { ticks } from "../../actors/units.js";
import { Scenario, type ScenarioOptions } from "./scenario.js";
import { restoredCopy } from "../support/exchange/saved.js";

function funded(options: ScenarioOptions = {}): Scenario {
  const scenario = new Scenario(options);
  for (const trader of ["ann", "bob", "cat"]) scenario.fund(trader, 10_000_000);
  scenario.takeDeltas();
  return scenario;
}

describe("regressions found by random runs", () => {
  it("moves a position from one outcome to the other in one fill", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.500 x 2");
    exchange.place("bob", "NO 0.500 x 2");
    exchange.place("bob", "YES 0.500 x 5");
    exchange.place("ann", "NO 0.500 x 5");
    expect(exchange.positions("ann")).to.equal("NO 3 @ 0.01500");
    expect(exchange.positions("bob")).to.equal("YES 3 @ 0.01500");
  });

  it("cancels orders in order of arrival, also after a restore", () => {
    const exchange = funded();
    exchange.place("ann", "NO 0.300 x 1");
    exchange.place("ann", "YES 0.300 x 1");
    exchange.place("ann", "YES 0.400 x 1");
    const restored = restoredCopy(market, exchange.id, exchange.market);
    const close = { kind: "lifecycle", actions: ["close"] } as const;
    const expected = market.decide(exchange.market, close, exchange.nowMs);
    expect(market.decide(restored, close, exchange.nowMs)).to.deep.equal(expected);
  });

  it("expires due orders before a held order enters, also after a restore", () => {
    for (const restoring of [false, true]) {
      const exchange = funded({ liveDelayMs: 1_000 });
      exchange.lifecycle("golive");
      exchange.place("ann", "YES 0.600 x 1");
      exchange.place("bob", "NO 0.400 x 1", { tif: "PO", ttlMs: 1_000 });
      const state = restoring ? restoredCopy(market, exchange.id, exchange.market) : exchange.market;
      const { deltas } = market.decide(state, { kind: "tick" }, exchange.nowMs + 1_000);
      const kinds = deltas.flatMap((delta) => (delta.type === "order" ? [delta.kind] : []));
      expect(kinds).to.deep.equal(["cancel", "open"]);
    }
  });

  it("charges at most the limit when the tick table loses its lowest ticks while an order is held", () => {
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
