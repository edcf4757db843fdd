import { expect } from "chai";
import { marketActor, restoreParts } from "../../actors/actor.js";
import { market } from "../../actors/market/market.js";
import { Scenario } from "./scenario.js";
import type { Voids } from "../../actors/market/types.js";
import { marketDefinition } from "../support/exchange/commands.js";
import { restoredCopy } from "../support/exchange/saved.js";

const DEPOSIT_MILLICENTS = 10_000_000;

function funded(options: ConstructorParameters<typeof Scenario>[0] = {}): Scenario {
  const scenario = new Scenario(options);
  for (const trader of ["ann", "bob", "cat"]) scenario.fund(trader, DEPOSIT_MILLICENTS);
  scenario.takeDeltas();
  return scenario;
}

describe("a market of two outcomes", () => {
  it("rests orders that do not match, by best price and then by time", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.400 x 5");
    exchange.place("bob", "YES 0.500 x 6");
    exchange.place("cat", "YES 0.400 x 7");
    expect(exchange.book()).to.equal("YES: 0.500 x 6 bob, 0.400 x 5 ann, 0.400 x 7 cat\nNO: -");
  });

  it("matches two bids that sum to at least 1; the taker gets the price improvement", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.450 x 4");
    expect(exchange.book()).to.equal("YES: 0.600 x 6 ann\nNO: -");
    expect(exchange.positions("ann")).to.equal("YES 4 @ 0.02400");
    expect(exchange.positions("bob")).to.equal("NO 4 @ 0.01600");
    expect(exchange.orderEvents()).to.include.members(["o1 fill 0.600 x 4", "o2 fill 0.400 x 4"]);
  });

  it("takes the best price first, then the oldest order, and rests the remainder", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.500 x 1");
    exchange.place("bob", "YES 0.550 x 1");
    exchange.place("ann", "YES 0.550 x 1");
    exchange.place("cat", "NO 0.500 x 4");
    const fills = exchange.orderEvents().filter((event) => event.startsWith("o4"));
    expect(fills).to.deep.equal(["o4 fill 0.450 x 1", "o4 fill 0.450 x 1", "o4 fill 0.500 x 1", "o4 open 1"]);
    expect(exchange.book()).to.equal("YES: -\nNO: 0.500 x 1 cat");
  });

  it("prints the resting side, and publishes the best bids that changed", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.400 x 10");
    const { market } = exchange.takeDeltas();
    const prints = market.flatMap((delta) =>
      delta.type === "trade" ? [[delta.seq, delta.outcome, delta.price, delta.qty]] : [],
    );
    const best = market.flatMap((delta) =>
      delta.type === "bbo" ? [[delta.seq, delta.outcome, delta.bbo]] : [],
    );
    expect(prints).to.deep.equal([[1, 0, 600, 10]]);
    expect(best).to.deep.equal([
      [1, 0, { price: 600, qty: 10 }],
      [2, 0, null],
    ]);
    expect(exchange.market.books.CASH.last).to.deep.equal([600, 400]);
  });

  for (const [tif, text, events] of [
    ["IOC", "NO 0.400 x 15", ["o2 fill 0.400 x 10", "o2 cancel"]],
    ["IOC", "NO 0.300 x 15", ["o2 reject NO_MATCH"]],
    ["FOK", "NO 0.400 x 15", ["o2 reject NOT_FILLABLE"]],
    ["FOK", "NO 0.400 x 10", ["o2 fill 0.400 x 10"]],
    ["PO", "NO 0.400 x 1", ["o2 reject WOULD_MATCH"]],
    ["PO", "NO 0.395 x 1", ["o2 open 1"]],
  ] as const) {
    it(`${tif} ${text} against YES 0.600 x 10: ${events.join(", ")}`, () => {
      const exchange = funded();
      exchange.place("ann", "YES 0.600 x 10");
      exchange.place("bob", text, { tif });
      expect(exchange.orderEvents().filter((event) => event.startsWith("o2"))).to.deep.equal(events);
    });
  }

  it("expires a GTT order when it is due, and releases its reserve", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10", { tif: "GTT", ttlMs: 1_000 });
    exchange.wait(999);
    expect(exchange.book()).to.contain("0.600 x 10 ann");
    exchange.wait(1);
    expect(exchange.book()).to.equal("YES: -\nNO: -");
    expect(exchange.orderEvents()).to.deep.equal(["o1 open 10", "o1 cancel"]);
    expect(exchange.wallet("ann")).to.equal("100.00000 100.00000");
  });

  it("rejects an order that reaches the book after its notAfter", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10", { notAfter: exchange.nowMs - 1 });
    expect(exchange.orderEvents()).to.deep.equal(["o1 reject EXPIRED_IN_FLIGHT"]);
    expect(exchange.wallet("ann")).to.equal("100.00000 100.00000");
  });

  it("keeps CASH and COIN apart", () => {
    const exchange = funded();
    exchange.fund("bob", DEPOSIT_MILLICENTS, { currency: "COIN" });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.500 x 10", { currency: "COIN" });
    expect(exchange.book("CASH")).to.equal("YES: 0.600 x 10 ann\nNO: -");
    expect(exchange.book("COIN")).to.equal("YES: -\nNO: 0.500 x 10 bob");
  });
});

describe("a market of three outcomes", () => {
  it("matches complete sets in the quantity of the smallest order; each maker pays its own price", () => {
    const exchange = funded({ outcomes: ["HOME", "DRAW", "AWAY"] });
    exchange.place("ann", "HOME 0.500 x 10");
    exchange.place("bob", "DRAW 0.300 x 4");
    exchange.place("cat", "AWAY 0.250 x 10");
    expect(exchange.orderEvents()).to.include.members([
      "o1 fill 0.500 x 4",
      "o2 fill 0.300 x 4",
      "o3 fill 0.200 x 4",
    ]);
    expect(exchange.book()).to.equal("HOME: 0.500 x 6 ann\nDRAW: -\nAWAY: 0.250 x 6 cat");
    expect(exchange.market.books.CASH.escrow).to.equal(4_000);
  });

  it("improves the price of the dearest maker when the bids sum to more than 1, and prints the nearest tick", () => {
    const exchange = funded({ outcomes: ["HOME", "DRAW", "AWAY"] });
    exchange.place("ann", "HOME 0.700 x 2");
    exchange.place("bob", "DRAW 0.400 x 2");
    exchange.place("cat", "AWAY 0.010 x 2");
    // HOME and DRAW sum to 1.100 and the taker pays 0.001, so HOME falls by 0.101: twenty ticks of 0.005, then 0.001.
    expect(exchange.orderEvents()).to.include.members([
      "o1 fill 0.599 x 2",
      "o2 fill 0.400 x 2",
      "o3 fill 0.001 x 2",
    ]);
    const prints = exchange
      .takeDeltas()
      .market.flatMap((delta) => (delta.type === "trade" ? [delta.price] : []));
    expect(prints).to.deep.equal([600, 400]);
    expect(exchange.market.books.CASH.escrow).to.equal(2_000);
  });
});

describe("self-trade", () => {
  it("washes: both orders lose the quantity, and nothing else changes", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("ann", "NO 0.500 x 4");
    expect(exchange.orderEvents()).to.deep.equal([
      "o1 open 10",
      "o1 fill 0.600 x 4 wash",
      "o2 fill 0.500 x 4 wash",
    ]);
    expect(exchange.book()).to.equal("YES: 0.600 x 6 ann\nNO: -");
    expect(exchange.positions("ann")).to.equal("");
    expect(exchange.wallet("ann")).to.equal("100.00000 99.96400");
  });

  it("cancels the taker under cancel_taker, and the maker under cancel_maker", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("ann", "NO 0.500 x 4", { selfTrade: "cancel_taker" });
    exchange.place("ann", "NO 0.500 x 4", { selfTrade: "cancel_maker" });
    expect(exchange.orderEvents()).to.deep.equal([
      "o1 open 10",
      "o2 reject SELF_TRADE",
      "o1 cancel SELF_TRADE",
      "o3 open 4",
    ]);
  });
});

describe("life cycle", () => {
  it("cancels resting orders and rejects new ones when the market closes", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10");
    exchange.lifecycle("close");
    exchange.place("bob", "NO 0.500 x 4");
    expect(exchange.orderEvents()).to.deep.equal([
      "o1 open 10",
      "o1 cancel MARKET_CLOSED",
      "o2 reject MARKET_CLOSED",
    ]);
  });

  it("empties the books when the market goes live, and emits START the first time only", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10");
    exchange.lifecycle("golive");
    exchange.lifecycle("unlive");
    exchange.lifecycle("golive");
    const steps = exchange
      .takeDeltas()
      .market.flatMap((delta) =>
        delta.type === "lifecycle" ? [`${delta.seq} ${delta.kind} ${delta.status}`] : [],
      );
    expect(steps).to.deep.equal(["2 START OPEN", "3 GOLIVE OPEN", "4 UNLIVE OPEN", "5 GOLIVE OPEN"]);
    expect(exchange.book()).to.equal("YES: -\nNO: -");
  });

  it("sends OPEN first when the market is created while its event is in play", () => {
    const kindsOf = (open: boolean): string[] => {
      const definition = marketDefinition();
      const state = market.create(marketActor(definition.marketId));
      const { deltas } = market.decide(state, { kind: "create", definition, open, live: true }, 0);
      return deltas.flatMap((delta) => (delta.type === "lifecycle" ? [`${delta.kind} ${delta.status}`] : []));
    };
    expect(kindsOf(true)).to.deep.equal(["OPEN OPEN", "START OPEN", "GOLIVE OPEN"]);
    expect(kindsOf(false)).to.deep.equal(["START CLOSED", "GOLIVE CLOSED"]);
  });

  it("opens in play if its event has closed it, and not if its snapshot does not say who has", () => {
    const exchange = funded();
    exchange.operate({ kind: "lifecycle", actions: ["close"], byEvent: true });
    const parts = [...market.save(exchange.market)];
    const unknown = parts.map((part) => part.replace('"closedByEvent":true,', ""));
    expect(unknown).to.not.deep.equal(parts);
    const statusInPlay = (saved: readonly string[]): string => {
      const state = restoreParts(market, exchange.id, saved);
      const golive = { kind: "lifecycle", actions: ["golive"], byEvent: true } as const;
      market.decide(state, golive, exchange.nowMs);
      return state.status;
    };
    expect([statusInPlay(parts), statusInPlay(unknown)]).to.deep.equal(["OPEN", "CLOSED"]);
  });

  it("keeps the book, accepts cancels and rejects placements during a pause", () => {
    const exchange = funded();
    exchange.place("ann", "YES 0.600 x 10");
    exchange.lifecycle("pause");
    exchange.place("bob", "NO 0.500 x 4");
    exchange.cancel("ann", "o1");
    exchange.lifecycle("resume");
    exchange.place("bob", "NO 0.500 x 4");
    expect(exchange.orderEvents()).to.deep.equal([
      "o1 open 10",
      "o2 reject MARKET_PAUSED",
      "o1 cancel",
      "o3 open 4",
    ]);
  });

  it("delays orders that could take in play, but neither post-only orders nor cancels", () => {
    const exchange = funded({ liveDelayMs: 5_000 });
    exchange.lifecycle("golive");
    exchange.place("ann", "YES 0.600 x 10", { tif: "PO" });
    exchange.place("bob", "NO 0.500 x 4");
    exchange.place("cat", "NO 0.500 x 4");
    exchange.cancel("cat", "o3");
    exchange.wait(4_999);
    expect(exchange.orderEvents()).to.deep.equal(["o1 open 10", "o3 cancel"]);
    exchange.wait(1);
    expect(exchange.orderEvents()).to.include("o2 fill 0.400 x 4");
  });
});

describe("settlement", () => {
  function traded(voids: Voids): Scenario {
    const exchange = funded({ voids });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.400 x 10");
    return exchange;
  }

  it("pays the winner in full and the loser nothing", () => {
    const exchange = traded("PUSH");
    exchange.settle({ kind: "WINNER", outcome: 0 });
    expect(exchange.wallet("ann")).to.equal("100.04000 100.04000");
    expect(exchange.wallet("bob")).to.equal("99.96000 99.96000");
    expect(exchange.market.status).to.equal("SETTLED");
    expect(exchange.market.books.CASH.escrow).to.equal(0);
    expect(exchange.positions("ann")).to.equal("");
  });

  it("refunds the cost of every fill on a push, also after netting", () => {
    const exchange = traded("PUSH");
    exchange.place("cat", "YES 0.700 x 4");
    exchange.place("ann", "NO 0.300 x 4");
    exchange.settle({ kind: "PUSH" });
    for (const trader of ["ann", "bob", "cat"])
      expect(exchange.wallet(trader)).to.equal("100.00000 100.00000");
  });

  it("settles at fair prices", () => {
    const exchange = traded("FMV");
    exchange.settle({ kind: "FMV", prices: [700, 300] });
    expect(exchange.wallet("ann")).to.equal("100.01000 100.01000");
    expect(exchange.wallet("bob")).to.equal("99.99000 99.99000");
  });

  it("rejects the other kind of void, and a second, different grade", () => {
    const exchange = traded("PUSH");
    const settlementId = "again";
    expect(
      exchange.operate({ kind: "grade", settlementId, grade: { kind: "FMV", prices: [500, 500] } }),
    ).to.deep.equal({ ok: false, refusal: "VOID_KIND" });
    exchange.settle({ kind: "WINNER", outcome: 0 });
    expect(
      exchange.operate({ kind: "grade", settlementId, grade: { kind: "WINNER", outcome: 1 } }),
    ).to.deep.equal({ ok: false, refusal: "ALREADY_GRADED" });
    const repeat = exchange.operate({ kind: "grade", settlementId, grade: { kind: "WINNER", outcome: 0 } });
    expect(repeat).to.include({ ok: true, settlementId: "settlement", done: true });
    expect(exchange.wallet("ann")).to.equal("100.04000 100.04000");
  });

  it("reports its progress without a delta, and continues after a restart", () => {
    const exchange = traded("PUSH");
    const { market: state, id, nowMs } = exchange;
    const ask = { kind: "settlement" } as const;
    expect(market.decide(state, ask, nowMs).reply).to.deep.equal({ ok: false, refusal: "NOT_GRADED" });
    exchange.operate({ kind: "grade", settlementId: "s", grade: { kind: "PUSH" } });
    exchange.operate({ kind: "settle", limit: 1 });
    const { deltas, reply } = market.decide(state, ask, nowMs);
    expect(deltas).to.deep.equal([]);
    expect(reply).to.deep.include({ paid: 1, wallets: 2, done: false });
    const restored = restoredCopy(market, id, state);
    const settle = { kind: "settle", limit: 10 } as const;
    const rest = market.decide(restored, settle, nowMs);
    expect(rest.deltas.map(({ type }) => type)).to.deep.equal(["payout", "lifecycle"]);
    expect(market.decide(state, settle, nowMs)).to.deep.equal(rest);
  });

  it("takes back exactly the payouts on remediation, and pays again on another grade", () => {
    const exchange = traded("PUSH");
    exchange.settle({ kind: "WINNER", outcome: 0 });
    exchange.operate({ kind: "remediate", reason: "wrong result" });
    exchange.settleInBatches();
    expect(exchange.market.status).to.equal("CLOSED");
    expect(exchange.wallet("ann")).to.equal("99.94000 99.94000");
    expect(exchange.positions("ann")).to.equal("YES 10 @ 0.06000");
    exchange.settle({ kind: "WINNER", outcome: 1 });
    expect(exchange.wallet("ann")).to.equal("99.94000 99.94000");
    expect(exchange.wallet("bob")).to.equal("100.06000 100.06000");
  });
});
