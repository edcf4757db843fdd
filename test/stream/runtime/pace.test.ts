import { stat } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import { SharedSlices, systemClock, TimeSlices } from "../../../stream/log/clock.js";
import { Pace } from "../../../stream/runtime/snapshots/pace.js";
import { ManualClock } from "../log/support.js";

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

describe("slices of time", () => {
  it("let timers run between them, also when the work began with data that came", async () => {
    const slices = new TimeSlices(systemClock);
    let timers = 0;
    await new Promise((resolve) => stat(import.meta.dirname, resolve));
    const timer = setTimeout(() => (timers += 1), 1);
    work(3);
    await slices.next();
    clearTimeout(timer);
    expect(timers).to.equal(1);
  });
});

describe("slices that loads share", () => {
  it("have one load in each, in turn, and let the event loop turn between them", async () => {
    const clock = new ManualClock();
    const slices = new SharedSlices(new TimeSlices(clock, 10));
    const worked: string[] = [];
    const load = async (name: string): Promise<void> => {
      for (let piece = 0; piece < 4; piece += 1) {
        await slices.turn();
        worked.push(name);
        clock.advance(5);
      }
    };
    const turned = (async () => {
      for (let turns = 0; turns < 3; turns += 1) {
        await turn();
        worked.push("others");
      }
    })();
    await Promise.all([load("a"), load("b"), turned]);
    expect(worked.join(" ")).to.equal("a b a others others b b others a a b");
  });
});
