import { expect } from "chai";
import { LongWork } from "../../../stream/services/long-work.js";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Keeps the event loop busy. */
function spin(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("long work", () => {
  it("runs the works of one owner one after the other, and those of two owners side by side", async () => {
    const work = new LongWork();
    const seen: string[] = [];
    const run = (owner: string, name: string): Promise<void> =>
      work.run(owner, async () => {
        seen.push(`${name} begins`);
        await sleep(20);
        seen.push(`${name} ends`);
      });
    const both = [run("ann", "first"), run("ann", "second")];
    await run("bob", "other");
    await Promise.all(both);
    expect(seen.indexOf("second begins")).to.be.above(seen.indexOf("first ends"));
    expect(seen.indexOf("other begins")).to.be.below(seen.indexOf("first ends"));
  });

  it("lets an owner rest as long as its work took, and forgets the owner then", async () => {
    const work = new LongWork();
    const began = performance.now();
    await work.run("ann", () => sleep(60));
    expect(work.lengthOf("ann")).to.equal(1);
    await work.run("ann", () => Promise.resolve());
    expect(performance.now() - began).to.be.at.least(115);
    await sleep(20);
    expect(work.lengthOf("ann")).to.equal(0);
  });

  it("goes on after a work and a piece that fail", async () => {
    const work = new LongWork();
    const failing = work.run("ann", () =>
      work.piece(() => {
        throw new Error("no such row");
      }),
    );
    const next = work.run("ann", () => work.piece(() => 7));
    expect(await failing.catch((error: unknown) => String(error))).to.include("no such row");
    expect(await next).to.equal(7);
  });

  it("leaves the event loop two thirds of its time, however many pieces wait", async () => {
    const work = new LongWork();
    const began = performance.now();
    const pieces = Array.from({ length: 20 }, (_, owner) =>
      work.run(`owner ${owner}`, () => work.piece(() => spin(3))),
    );
    let turns = 0;
    const state = { stopped: false };
    void Promise.all(pieces).then(() => (state.stopped = true));
    while (!state.stopped) {
      await new Promise((resolve) => setImmediate(resolve));
      turns += 1;
    }
    // 19 pauses of at least twice the 3 ms of a piece.
    expect(performance.now() - began).to.be.at.least(60 + 19 * 6 - 5);
    expect(turns).to.be.above(19);
  });

  it("runs short pieces without pauses", async () => {
    const work = new LongWork();
    const began = performance.now();
    await Promise.all(Array.from({ length: 200 }, () => work.piece(() => undefined)));
    expect(performance.now() - began).to.be.below(100);
  });
});
