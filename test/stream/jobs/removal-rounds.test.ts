import { expect } from "chai";
import { Removal, type RemovalPlace, type RemovalPorts } from "../../../stream/jobs/removal.js";

describe("the rounds of the removal", () => {
  const NOW = 1_000_000_000_000;
  const KEEP_MS = 1_000;
  const PAGE = 200;

  /** Markets in the log that were settled in the same millisecond, and the removals of some of them. */
  class Settled {
    readonly removed = new Set<string>();
    readonly woken: string[] = [];
    readonly stuck = new Set<string>();
    readonly #places: readonly RemovalPlace[];
    failing: string | undefined;
    undone = 0;
    /** Times after which the list of settled markets was read. */
    readonly passedFrom: number[] = [];

    constructor(count: number) {
      this.#places = Array.from({ length: count }, (_, index) => ({
        ts: NOW - 2 * KEEP_MS,
        marketId: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
      }));
      for (const { marketId } of this.#places.slice(0, 250)) this.stuck.add(marketId);
    }

    get left(): readonly string[] {
      return this.#places.map(({ marketId }) => marketId).filter((id) => !this.removed.has(id));
    }

    get ports(): RemovalPorts {
      return {
        exchange: {
          market: (marketId) => {
            this.woken.push(marketId);
            return Promise.resolve({ ok: true, kind: "done", status: "SETTLED" });
          },
        },
        removable: (list, after, beforeTs) => {
          const isAfter = ({ ts, marketId }: RemovalPlace): boolean =>
            ts > after.ts || (ts === after.ts && marketId > after.marketId);
          const found = this.#places.filter(
            (place) => place.ts < beforeTs && isAfter(place) && !this.removed.has(place.marketId),
          );
          if (list === "restored") return Promise.resolve({ markets: [], next: undefined });
          this.passedFrom.push(after.ts);
          return Promise.resolve({
            markets: found.slice(0, PAGE),
            next: found.length <= PAGE ? undefined : found[PAGE - 1],
          });
        },
        remove: (marketId) => {
          if (marketId === this.failing) return Promise.reject(new Error("the archive is away"));
          if (this.stuck.has(marketId)) return Promise.resolve(false);
          this.removed.add(marketId);
          return Promise.resolve(true);
        },
        findUndone: () => Promise.resolve(void (this.undone += 1)),
        mayRemove: () => true,
      };
    }
  }

  it("removes 10,000 markets in a few minutes of sweeps, although the first page cannot be removed", async () => {
    const settled = new Settled(10_000);
    const removal = new Removal(settled.ports, KEEP_MS);
    // A sweep comes every three seconds.
    for (let run = 0; run < 60; run += 1) await removal.run(NOW + run * 3_000);
    expect(settled.left).to.deep.equal([...settled.stuck]);
    expect(settled.woken, "each is woken once an hour").to.have.length(250);
    settled.stuck.clear();
    for (let run = 60; run < 100; run += 1) await removal.run(NOW + run * 3_000);
    expect(settled.left).to.deep.equal([]);
  });

  it("goes back to a market that can never be removed once an hour, and else a few hours", async () => {
    const settled = new Settled(1);
    const removal = new Removal(settled.ports, KEEP_MS);
    const hourMs = 3_600_000;
    const from = NOW + 100 * hourMs;
    for (let run = 0; run < 2 * 1_200; run += 1) await removal.run(from + run * 3_000);
    const whole = settled.passedFrom.filter((ts) => ts < NOW);
    expect(settled.passedFrom.length).to.be.greaterThan(100);
    expect(whole).to.have.length(2);
    settled.stuck.clear();
    for (let run = 2 * 1_200; run < 2 * 1_200 + 50; run += 1) await removal.run(from + run * 3_000);
    expect(settled.left).to.deep.equal([]);
  });

  for (const stuck of [0, 1]) {
    it(`goes on when an operator confirms that the clock was set back, with ${stuck} markets that were left`, async () => {
      const settled = new Settled(2);
      const [first = "", second = ""] = settled.left;
      settled.stuck.delete(first);
      const removal = new Removal(settled.ports, KEEP_MS);
      const hourMs = 3_600_000;
      if (stuck === 0) settled.removed.add(second);
      for (let run = 0; run < 4; run += 1) await removal.run(NOW + 10 * hourMs + run * 3_000);
      expect(settled.left).to.have.length(stuck);
      settled.stuck.clear();
      settled.removed.clear();
      for (let run = 0; run < 5; run += 1) await removal.run(NOW + 5 * hourMs + run * 3_000);
      expect(settled.left).to.deep.equal([]);
    });
  }

  it("goes on after a market whose removal fails, and returns to it in the next round", async () => {
    const settled = new Settled(600);
    settled.stuck.clear();
    const [first = ""] = settled.left;
    settled.failing = first;
    const removal = new Removal(settled.ports, KEEP_MS);
    const failures: unknown[] = [];
    const run = (at: number) => removal.run(NOW + at * 3_000).catch((error: unknown) => failures.push(error));
    for (let at = 0; at < 10; at += 1) await run(at);
    expect(settled.left).to.deep.equal([first]);
    expect(failures).not.to.deep.equal([]);
    settled.failing = undefined;
    for (let at = 10; at < 40; at += 1) await run(at);
    expect(settled.left).to.deep.equal([]);
    expect(settled.undone, "each round looks for removals that a power loss has undone").to.be.above(1);
  });
});
