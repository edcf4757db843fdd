import { expect } from "chai";
import { Waits } from "../../../../http/auth/passwords/waits.js";
import { until } from "../../../support/until.js";

describe("waits", () => {
  it("end in time", async () => {
    const waits = new Waits(20, 10);
    waits.add("a");
    expect(waits.has("a")).to.equal(true);
    expect(waits.has("b")).to.equal(false);
    await until(() => !waits.has("a"));
  });

  it("are those of the latest names when there are too many", () => {
    const waits = new Waits(60_000, 2);
    for (const name of ["a", "b", "a", "c"]) waits.add(name);
    expect(["a", "b", "c"].filter((name) => waits.has(name))).to.deep.equal(["a", "c"]);
  });
});
