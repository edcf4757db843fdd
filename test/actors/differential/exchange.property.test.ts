import fc from "fast-check";
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
});
