import { expect } from "chai";
import { Pace } from "../../../stream/runtime/snapshots/pace.js";

/** Keeps the thread busy. */
function work(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}

/** Returns the time that a call takes, in ms. */
async function timeOf(call: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await call();
  return performance.now() - began;
}

describe("the pace of snapshots", () => {
  it("has a rest of three times the work before it, and of 30 ms at most", async () => {
    const pace = new Pace(() => false);
    await pace.rest();
    work(6);
    expect(await timeOf(() => pace.rest())).to.be.at.least(17);
    work(40);
    expect(await timeOf(() => pace.rest())).to.be.within(29, 119);
  });

  it("has no rest while others wait", async () => {
    const pace = new Pace(() => true);
    let turns = 0;
    const timer = setImmediate(() => (turns += 1));
    work(10);
    await pace.rest();
    clearImmediate(timer);
    expect(turns).to.equal(0);
  });
});
