import fc from "fast-check";
import { boundsOfOrders } from "../../support/exchange/network.js";
import { Differential } from "./differential.js";
import { scenario } from "./steps.js";

describe("the actors and the naive exchange", () => {
  it("agree after every command", function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(scenario(60), (sampled) => {
        new Differential().run(sampled);
      }),
      { numRuns: 60, interruptAfterTimeLimit: 30_000 },
    );
  });

  it("agree when a decision touches few orders, so that work goes on in pieces", function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(scenario(60), fc.integer({ min: 1, max: 4 }), (sampled, maxOrders) => {
        new Differential(undefined, undefined, boundsOfOrders(maxOrders)).run(sampled);
      }),
      { numRuns: 60, interruptAfterTimeLimit: 30_000 },
    );
  });
});
