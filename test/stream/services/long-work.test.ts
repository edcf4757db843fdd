import { expect } from "chai";
import { LongWork, NotBegun } from "../../../stream/services/long-work.js";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const BOUNDS = { most: 16, waitMs: 5_000 };
const nothing = (): Promise<void> => Promise.resolve();

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
      work.run(owner, BOUNDS, async () => {
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

  it("lets an owner rest four times as long as its work took, and forgets the owner then", async () => {
    const work = new LongWork();
    const began = performance.now();
    await work.run("ann", BOUNDS, () => sleep(30));
    expect(work.lengthOf("ann")).to.equal(1);
    await work.run("ann", BOUNDS, () => Promise.resolve());
    expect(performance.now() - began).to.be.at.least(145);
    await sleep(20);
    expect(work.lengthOf("ann")).to.equal(0);
  });

  it("does not let an owner rest for the pieces of other owners", async () => {
    const work = new LongWork();
    const others = Array.from({ length: 10 }, () => work.piece(() => spin(10)));
    await work.run("ann", BOUNDS, (pieces) => pieces.piece(() => undefined));
    await Promise.all(others);
    const rested = performance.now();
    await work.run("ann", BOUNDS, nothing);
    expect(performance.now() - rested).to.be.below(100);
  });

  it("does not begin a work beyond the bounds of its owner, or that nobody waits for", async () => {
    const work = new LongWork();
    const ends: (() => void)[] = [];
    const run = (bounds: Partial<typeof BOUNDS & { signal: AbortSignal }>): Promise<unknown> =>
      work
        .run("ann", { ...BOUNDS, ...bounds }, () => new Promise<void>((resolve) => ends.push(resolve)))
        .catch((error: unknown) => error);
    const first = run({});
    const second = run({});
    expect(await run({ most: 2 })).to.be.instanceOf(NotBegun);
    expect(await run({ waitMs: 20 })).to.be.instanceOf(NotBegun);
    const ended = new AbortController();
    const abandoned = run({ signal: ended.signal });
    expect(work.lengthOf("ann")).to.equal(3);
    ended.abort();
    expect(await abandoned).to.be.instanceOf(NotBegun);
    expect(await run({ signal: ended.signal })).to.be.instanceOf(NotBegun);
    expect(work.lengthOf("ann")).to.equal(2);
    await sleep(40);
    ends.shift()?.();
    await first;
    // The first work and its rest have taken more than 200 ms.
    await sleep(250);
    const asked = performance.now();
    expect(await run({ waitMs: 100 })).to.be.instanceOf(NotBegun);
    expect(performance.now() - asked).to.be.below(60);
    ends.shift()?.();
    await second;
  });

  it("goes on after a work and a piece that fail", async () => {
    const work = new LongWork();
    const failing = work.run("ann", BOUNDS, () =>
      work.piece(() => {
        throw new Error("no such row");
      }),
    );
    const next = work.run("ann", BOUNDS, () => work.piece(() => 7));
    expect(await failing.catch((error: unknown) => String(error))).to.include("no such row");
    expect(await next).to.equal(7);
  });

  it("leaves the event loop two thirds of its time, however many pieces wait", async () => {
    const work = new LongWork();
    const began = performance.now();
    const pieces = Array.from({ length: 20 }, (_, owner) =>
      work.run(`owner ${owner}`, BOUNDS, () => work.piece(() => spin(3))),
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
