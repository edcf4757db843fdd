import { expect } from "chai";
import fc from "fast-check";
import { Deadlines } from "../../actors/deadlines.js";
import { Scenario } from "./scenario.js";

const CHANGES = fc.array(
  fc.record({
    subject: fc.integer({ min: 0, max: 6 }),
    at: fc.option(fc.integer({ min: 0, max: 9 })),
    rank: fc.integer({ min: 0, max: 1 }),
    pop: fc.boolean(),
  }),
  { maxLength: 60 },
);

describe("deadlines", () => {
  it("are ordered by time, rank and insertion, one for each subject", () => {
    fc.assert(
      fc.property(CHANGES, (changes) => {
        const deadlines = new Deadlines<number>();
        let live: { subject: number; at: number; rank: number; n: number }[] = [];
        changes.forEach(({ subject, at, rank, pop }, n) => {
          live = live.filter((other) => other.subject !== subject);
          if (at === null) deadlines.delete(subject);
          else {
            deadlines.set(at, rank, subject);
            live.push({ subject, at, rank, n });
          }
          live.sort((a, b) => a.at - b.at || a.rank - b.rank || a.n - b.n);
          expect(deadlines.size).to.equal(live.length);
          expect(deadlines.get(subject)).to.equal(at ?? undefined);
          expect(deadlines.first()?.subject).to.equal(live[0]?.subject);
          if (pop) expect(deadlines.pop()?.subject).to.equal(live.shift()?.subject);
        });
        while (live.length > 0) expect(deadlines.pop()?.subject).to.equal(live.shift()?.subject);
        expect(deadlines.pop()).to.equal(undefined);
      }),
    );
  });

  it("of a market are those of its live orders, however many have ended", () => {
    const exchange = new Scenario({ liveDelayMs: 5_000 });
    for (const trader of ["ann", "bob"]) exchange.fund(trader, 1_000_000);
    exchange.place("ann", "YES 0.400 x 5", { tif: "GTT", ttlMs: 60_000 });
    for (let n = 2; n <= 40; n += 1) {
      const orderId = exchange.place("ann", "YES 0.500 x 5", { tif: "GTT", ttlMs: 3_600_000 });
      if (n % 2 === 0) exchange.cancel("ann", orderId);
      else exchange.place("bob", "NO 0.500 x 5");
    }
    expect(exchange.market.deadlines.size).to.equal(1);
    exchange.wait(60_000);
    expect(exchange.market.deadlines.size).to.equal(0);

    exchange.lifecycle("golive", "open");
    for (let n = 0; n < 10; n += 1)
      exchange.cancel("ann", exchange.place("ann", "YES 0.500 x 5", { tif: "GTT", ttlMs: 3_600_000 }));
    expect(exchange.market.deadlines.size).to.equal(0);
  });

  it("of a ledger are those of its armed dead-man switches, however often they were armed", () => {
    const exchange = new Scenario();
    const arm = (timeoutMs: number): unknown =>
      exchange.ask("ann", { kind: "deadman", wallet: "ann", trader: "ann", timeoutMs });
    for (let n = 0; n < 40; n += 1) {
      arm(60_000);
      exchange.wait(100);
    }
    expect(exchange.ledger("ann").deadlines.size).to.equal(1);
    arm(0);
    expect(exchange.ledger("ann").deadlines.size).to.equal(0);
  });
});
