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

  it("runs a few works at once, gives an owner a tenth of the time then, and forgets the owner at last", async () => {
    const work = new LongWork();
    const lasting = (ms: number): Promise<void> => work.run("ann", BOUNDS, () => sleep(ms));
    const began = performance.now();
    for (let n = 0; n < 2; n += 1) await lasting(45);
    const spentMs = performance.now() - began;
    const asked = performance.now();
    await lasting(45);
    await lasting(0);
    // Ten times their length, and one second ahead of that at most.
    expect(performance.now() - began).to.be.at.least(10 * (spentMs + 45) - 1_000 - 20);
    expect(performance.now() - asked).to.be.at.least(45);
    expect(work.owners).to.equal(1);
    while (work.owners > 0) await sleep(20);
  });

  it("does not refuse a work because the last one took long", async () => {
    const work = new LongWork();
    for (let n = 0; n < 3; n += 1)
      await work.run("ann", { ...BOUNDS, waitMs: 1_500 }, () => sleep(n === 0 ? 500 : 0));
  });

  it("counts a rest as a second at most when it expects the wait", async () => {
    const work = new LongWork();
    const long = (): Promise<void> => work.run("ann", BOUNDS, () => sleep(300));
    await long();
    await Promise.all([long(), long(), long()]);
  });

  it("does not let an owner rest for the pieces of other owners", async () => {
    const work = new LongWork();
    for (let n = 0; n < 4; n += 1) {
      const others = Array.from({ length: 10 }, () => work.piece(() => spin(10)));
      await work.run("ann", BOUNDS, (pieces) => pieces.piece(() => undefined));
      await Promise.all(others);
    }
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
    ended.abort();
    expect(await abandoned).to.be.instanceOf(NotBegun);
    expect(await run({ signal: ended.signal })).to.be.instanceOf(NotBegun);
    await sleep(500);
    ends.shift()?.();
    await first;
    while (ends.length === 0) await sleep(5);
    // The second work is expected to take as long as the first one, with a rest.
    const asked = performance.now();
    expect(await run({ waitMs: 400 })).to.be.instanceOf(NotBegun);
    expect(performance.now() - asked).to.be.below(200);
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
