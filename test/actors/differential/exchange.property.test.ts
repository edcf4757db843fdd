import fc from "fast-check";
import { Differential } from "./differential.js";
import { scenario } from "./steps.js";

describe("the exchange beside a naive one", () => {
  it("agrees with it after every command", function () {
    this.timeout(60_000);
    fc.assert(
      fc.property(scenario(60), (found) => {
        new Differential().run(found);
      }),
      { numRuns: 60, interruptAfterTimeLimit: 30_000 },
    );
  });
});
