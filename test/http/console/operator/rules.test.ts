import { expect } from "chai";
import type { MarketAnswer, Payouts } from "../../../../http/console/operator/answers.js";
import { sumOf } from "../../../../http/console/operator/events/actions.js";
import {
  exists,
  marketsOf,
  readStrikes,
  type NewMarket,
} from "../../../../http/console/operator/markets/sets.js";
import { payoutRows, readPrices, sumsOf } from "../../../../http/console/operator/settlement/grade.js";
import { alertsOf, type HealthAnswer } from "../../../../http/console/operator/today/alerts.js";

describe("strikes of a set of markets", () => {
  for (const [text, strikes] of [
    ["", []],
    ["-3.5, +1.5,47", ["-3.5", "1.5", "47"]],
    ["44.5 to 46.5", ["44.5", "45.5", "46.5"]],
    ["-0.3 to 0.3 by 0.1", ["-0.3", "-0.2", "-0.1", "0", "0.1", "0.2", "0.3"]],
    ["1.5, 1.50, 1.5 to 2.5", ["1.5", "2.5"]],
  ] as const)
    it(`are read from "${text}"`, () => {
      expect(readStrikes(text)).to.deep.equal({ ok: true, strikes });
    });

  for (const text of ["three", "1.2345", "5 to 1", "1 to 2 by 0", "1 to 1000", "1 to", "1e3"])
    it(`are not read from "${text}"`, () => {
      expect(readStrikes(text).ok).to.equal(false);
    });

  it("name both sides with the handicap of each", () => {
    const plan = { voids: "PUSH", liveDelayMs: 0, open: true, winner: false, totals: [] } as const;
    const [minus, even, plus] = marketsOf(
      { ...plan, spreads: ["-3.5", "0", "2"] },
      { home: "Bees", away: "Ants" },
    );
    expect(minus?.outcomes.map(({ name }) => name)).to.deep.equal(["Bees -3.5", "Ants +3.5"]);
    expect(even?.outcomes.map(({ name }) => name)).to.deep.equal(["Bees 0", "Ants 0"]);
    expect(plus?.outcomes.map(({ name }) => name)).to.deep.equal(["Bees +2", "Ants -2"]);
  });

  it("are known in whatever form the event has them", () => {
    const markets = [{ marketType: "SPREAD", strike: "-3.50" }, { marketType: "MONEY" }] as MarketAnswer[];
    const wanted = (marketType: string, strike?: string): NewMarket => ({
      marketType,
      description: "",
      voids: "PUSH",
      outcomes: [],
      ...(strike === undefined ? {} : { strike }),
    });
    expect(exists(wanted("SPREAD", "-3.5"), markets)).to.equal(true);
    expect(exists(wanted("SPREAD", "3.5"), markets)).to.equal(false);
    expect(exists(wanted("MONEY"), markets)).to.equal(true);
    expect(exists(wanted("TOTAL", "3.5"), markets)).to.equal(false);
  });
});

describe("money of a grade", () => {
  const payouts = (...amounts: readonly (readonly [trader: string, amount: string])[]): Payouts => ({
    payouts: amounts.map(([traderId, amount]) => ({ traderId, keyId: null, currency: "CASH", amount })),
    totals: { CASH: "0.00000", COIN: "0.00000" },
  });

  it("is the difference to the grade before it, the greatest first", () => {
    const before = payouts(["a", "0.40000"], ["b", "0.00000"], ["c", "0.10000"]);
    const rows = payoutRows(payouts(["a", "0.00000"], ["b", "0.70001"], ["c", "0.10000"]), before);
    expect(rows.map(({ traderId, difference }) => [traderId, difference])).to.deep.equal([
      ["b", 70_001],
      ["a", -40_000],
      ["c", 0],
    ]);
    expect(sumsOf(rows, "CASH")).to.deep.equal({ wallets: 2, more: "0.70001", less: "0.40000" });
    expect(sumsOf(rows, "COIN").wallets).to.equal(0);
  });

  it("counts a wallet that only the grade before it paid", () => {
    const [row] = payoutRows(payouts(), payouts(["a", "0.40000"]));
    expect(row).to.include({ traderId: "a", amount: 0, difference: -40_000 });
  });

  it("is not summed without an amount that cannot be read", () => {
    expect(() => payoutRows(payouts(["a", "0.40000"], ["b", "lots"]))).to.throw("lots");
    const exposure = {
      marketId: "m",
      openOrders: 0,
      openContracts: 0,
      escrow: { CASH: "", COIN: "0.00000" },
    };
    expect(() => sumOf([exposure])).to.throw("not an amount");
  });

  it("takes fair prices that name every outcome and sum to 1", () => {
    const outcomes = ["x", "y", "z"].map((outcomeId) => ({
      outcomeId,
      name: outcomeId,
      status: "TBD",
      competitorId: null,
    }));
    expect(readPrices(outcomes, { x: "0.1", y: "0.2", z: "0.7" }).ok).to.equal(true);
    expect(readPrices(outcomes, { x: "0.1", y: "0.2", z: "0.701" })).to.deep.include({
      problem: "The prices sum to 1.001; they must sum to 1.000.",
    });
    expect(readPrices(outcomes, { x: "1", y: "0" })).to.deep.include({
      problem: "Enter a price from 0 to 1 for z.",
    });
  });
});

describe("alerts of the day", () => {
  const health: HealthAnswer = {
    ready: true,
    difference: { CASH: "0.00000", COIN: "0.00000" },
    redis: true,
    postgres: true,
    replica: null,
    ledgers: 16,
    projectorLag: 0,
    projecting: true,
    reconciled: 0,
    strayRows: 0,
    halted: [],
    quarantined: 0,
    stopping: false,
    unreadable: [],
    room: { accepts: "all", reason: null, memoryPercent: 80, diskPercent: null },
    clock: { heldMs: 0, hosts: {} },
    processes: {},
    format: { active: 4, announced: {} },
  };
  const nothing = { health, settlements: undefined, events: [] };

  it("are none while all is well", () => {
    expect(alertsOf(0, nothing)).to.deep.equal([]);
  });

  for (const [change, words] of [
    [{ redis: false }, "Redis"],
    [{ difference: { CASH: "0.00000", COIN: "-0.00001" } }, "difference"],
    [{ halted: ["market:1"] }, "market:1"],
    [{ projecting: false }, "projector"],
    [{ projectorLag: 5_000 }, "5,000 entries behind"],
    [{ quarantined: 2 }, "Quarantine holds 2 commands"],
    [{ room: { accepts: "cancels", reason: "memory", memoryPercent: 3, diskPercent: 9 } }, "refused: memory"],
  ] as const satisfies readonly (readonly [Partial<HealthAnswer>, string])[])
    it(`name ${words}`, () => {
      const texts = alertsOf(0, { ...nothing, health: { ...health, ...change } }).map(({ text }) => text);
      expect(texts.join(" ")).to.include(words);
    });
});
