import { expect } from "chai";
import { SharedRuns } from "../../../http/trading/shared-runs.js";

describe("shared runs", () => {
  let begun: string[];
  let ends: ((value: string) => void)[];
  let runs: SharedRuns<string>;

  beforeEach(() => {
    begun = [];
    ends = [];
    runs = new SharedRuns();
  });

  const run = (name: string, action: string): Promise<string> =>
    runs.run(name, () => {
      begun.push(action);
      return new Promise((resolve) => ends.push(resolve));
    });
  const end = (value: string): Promise<void> => {
    ends.shift()?.(value);
    return new Promise((resolve) => setImmediate(resolve));
  };

  it("give the callers during a run the next one, and no two runs at a time", async () => {
    const first = run("a", "first");
    const [second, third] = [run("a", "second"), run("a", "third")];
    expect(begun).to.deep.equal(["first"]);
    await end("one");
    const fourth = run("a", "fourth");
    expect(begun).to.deep.equal(["first", "second"]);
    await end("two");
    expect(begun).to.deep.equal(["first", "second", "fourth"]);
    await end("three");
    expect(await Promise.all([first, second, third, fourth])).to.deep.equal(["one", "two", "two", "three"]);
  });

  it("of other names do not wait", () => {
    void run("a", "first");
    void run("b", "second");
    expect(begun).to.deep.equal(["first", "second"]);
  });

  it("go on after a failure", async () => {
    const failed = runs.run("a", () => Promise.reject(new Error("down")));
    const next = run("a", "next");
    expect(await failed.catch(String)).to.equal("Error: down");
    await end("fine");
    expect(await next).to.equal("fine");
  });
});
