import { expect } from "chai";
import fc from "fast-check";
import { ledgerShardOf } from "../../actors/actor.js";
import { isPacked } from "../../actors/ledger/wallets.js";
import type { LedgerCommand } from "../../actors/ledger/commands.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import { orderOf } from "../../actors/ledger/placing.js";
import { BOUNDS, MAX_MARKET_ORDERS, MAX_OPEN_ORDERS } from "../../actors/limits.js";
import type { LifecycleAction, MarketCommand } from "../../actors/market/commands.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import { market } from "../../actors/market/market.js";
import { contracts } from "../../actors/units.js";
import { giantLedger, GIANT_LEDGER, giantWallet } from "../support/exchange/giants.js";
import { restoredCopy } from "../support/exchange/saved.js";
import { boundsOfOrders } from "../support/exchange/network.js";
import { Scenario, type ScenarioOptions } from "./scenario.js";

const TRADERS = ["ann", "bob", "cat"];

function funded(options: ScenarioOptions, traders: readonly string[] = TRADERS): Scenario {
  const exchange = new Scenario(options);
  for (const trader of traders) exchange.fund(trader, 10_000_000);
  return exchange;
}

/** Returns the market's deltas without those that every piece has for itself, and without their seqs. */
function marketFacts(deltas: readonly MarketDelta[]): readonly unknown[] {
  return deltas.flatMap((delta) => (delta.type === "bbo" ? [] : [{ ...delta, seq: 0 }]));
}

/** Returns the ledgers' deltas by wallet, as `marketFacts` does. A piece sends a part of the cancels. */
function ledgerFacts(deltas: readonly LedgerDelta[]): Record<string, unknown[]> {
  const facts: Record<string, unknown[]> = {};
  for (const delta of deltas) {
    if (!("wallet" in delta) || delta.type === "balance") continue;
    const own = (facts[delta.wallet] ??= []);
    if (delta.type !== "canceling") own.push({ ...delta, seq: 0 });
    else for (const orderId of delta.orderIds) own.push({ ...delta, orderIds: [orderId] });
  }
  return facts;
}

/** Runs the same commands with and without a bound. Both must do the same, but for their batches. */
function expectPieces(
  prepare: (exchange: Scenario) => void,
  act: (exchange: Scenario) => void,
  maxOrders: number,
  options: ScenarioOptions = {},
): { readonly whole: number; readonly pieces: number; readonly exchange: Scenario } {
  const [whole, pieces] = [Infinity, maxOrders].map((bound) => {
    const exchange = funded({ ...options, maxOrders: bound });
    prepare(exchange);
    exchange.takeDeltas();
    const before = exchange.batches;
    act(exchange);
    const deltas = exchange.takeDeltas();
    const state = {
      market: marketFacts(deltas.market),
      ledger: ledgerFacts(deltas.ledger),
      book: exchange.book(),
      status: exchange.market.status,
      wallets: TRADERS.map((trader) => [exchange.wallet(trader), exchange.positions(trader)]),
    };
    return { state, batches: exchange.batches - before, exchange };
  });
  if (whole === undefined || pieces === undefined) throw new Error("a run is missing");
  expect(pieces.state).to.deep.equal(whole.state);
  return { whole: whole.batches, pieces: pieces.batches, exchange: pieces.exchange };
}

/** Rests seven orders of three traders. */
function rest(exchange: Scenario): void {
  for (let n = 0; n < 7; n += 1) exchange.place(TRADERS[n % 3] ?? "", `YES 0.${600 - 10 * n} x 2`);
}

/** Rests orders at 0.600: as many of ann as a market allows, and the others of cat. */
function restOfTwo(exchange: Scenario, orders: number): void {
  for (let n = 0; n < orders; n += 1) exchange.place(n < MAX_MARKET_ORDERS ? "ann" : "cat", "YES 0.600 x 1");
}

describe("long work", () => {
  const lifecycles: readonly (readonly [string, readonly LifecycleAction[]])[] = [
    ["closing", ["close"]],
    ["going in play", ["golive"]],
    ["leaving play", ["golive", "unlive"]],
    ["clearing", ["clear"]],
    ["the end of an event", ["end", "close"]],
  ];
  for (const [name, actions] of lifecycles) {
    it(`is divided and does the same: ${name}`, () => {
      const run = expectPieces(rest, (exchange) => exchange.lifecycle(...actions), 2);
      expect(run.pieces).to.be.above(run.whole);
    });
  }

  it("cancels held orders in pieces too", () => {
    const run = expectPieces(
      (exchange) => {
        exchange.lifecycle("golive");
        rest(exchange);
        expect(exchange.market.held.size).to.equal(7);
      },
      (exchange) => exchange.lifecycle("close"),
      2,
      { liveDelayMs: 5_000 },
    );
    expect(run.pieces).to.be.above(run.whole);
  });

  it("grades and settles an open market", () => {
    const run = expectPieces(
      (exchange) => {
        rest(exchange);
        exchange.place("cat", "NO 0.450 x 3");
      },
      (exchange) => exchange.settle({ kind: "WINNER", outcome: 0 }),
      2,
    );
    expect(run.exchange.market.status).to.equal("SETTLED");
  });

  for (const [tif, selfTrade, qty] of [
    ["GTC", "wash", 9],
    ["GTC", "wash", 40],
    ["IOC", "wash", 40],
    ["FOK", "wash", 14],
    ["FOK", "wash", 40],
    ["PO", "wash", 4],
    ["IOC", "cancel_maker", 40],
    ["GTC", "cancel_taker", 40],
  ] as const) {
    it(`sweeps: a ${tif} order of ${qty} with ${selfTrade}`, () => {
      const take = (exchange: Scenario): void => {
        exchange.place("ann", `NO 0.900 x ${qty}`, { tif, selfTrade });
      };
      for (const maxOrders of [1, 2, 3]) expectPieces(rest, take, maxOrders);
    });
  }

  it("rejects an order that meets only orders of its own trader, after it has canceled them", () => {
    const run = expectPieces(
      (exchange) => {
        for (let n = 0; n < 5; n += 1) exchange.place("ann", "YES 0.600 x 2");
      },
      (exchange) => {
        exchange.place("ann", "NO 0.400 x 10", { tif: "IOC", selfTrade: "cancel_maker" });
      },
      2,
    );
    expect(run.exchange.book()).to.equal("YES: -\nNO: -");
  });

  it("expires orders and enters held ones in pieces", () => {
    const held = (exchange: Scenario): void => {
      exchange.lifecycle("golive");
      for (let n = 0; n < 5; n += 1) exchange.place("ann", "YES 0.600 x 2");
      for (let n = 0; n < 5; n += 1) exchange.place("bob", "NO 0.400 x 3");
    };
    expectPieces(held, (exchange) => exchange.wait(6_000), 2, { liveDelayMs: 5_000 });
    const expiring = (exchange: Scenario): void => {
      for (let n = 0; n < 7; n += 1)
        exchange.place(TRADERS[n % 3] ?? "", "YES 0.600 x 2", { tif: "GTT", ttlMs: 1_000 });
    };
    const run = expectPieces(expiring, (exchange) => exchange.wait(2_000), 2);
    expect(run.pieces).to.be.above(run.whole);
  });

  it("cancels everything of a wallet, and of a shard", () => {
    const cancelAll = (exchange: Scenario): void => {
      exchange.ask("ann", { kind: "cancelAll", wallet: "ann", filter: {} });
    };
    const many = (exchange: Scenario): void => {
      for (let n = 0; n < 7; n += 1) exchange.place("ann", "YES 0.600 x 2");
    };
    expect(expectPieces(many, cancelAll, 2).pieces).to.be.above(4);
    const everyone = (exchange: Scenario): void => {
      for (const trader of TRADERS) exchange.ask(trader, { kind: "cancelEveryone", reason: "MAINTENANCE" });
    };
    const run = expectPieces(
      (exchange) => {
        many(exchange);
        rest(exchange);
      },
      everyone,
      2,
    );
    expect(run.exchange.book()).to.equal("YES: -\nNO: -");
  });

  it("answers a cancel of everything with the number of all orders at once", () => {
    const exchange = funded({ maxOrders: 2 });
    for (let n = 0; n < 7; n += 1) exchange.place("ann", "YES 0.600 x 2");
    const reply = exchange.ask("ann", { kind: "cancelAll", wallet: "ann", filter: {} });
    expect(reply).to.deep.include({ kind: "cancels", count: 7 });
  });

  it("bounds the answer to a cancel of everything", () => {
    const orders = 3 * BOUNDS.atOnce;
    const command = { kind: "cancelAll", wallet: giantWallet(0), filter: {} } as const;
    const { reply } = ledger.decide(giantLedger(1, orders), command, 1_700_000_100_000);
    if (reply?.ok !== true || reply.kind !== "cancels") throw new Error("no answer");
    expect([reply.count, reply.queued.length]).to.deep.equal([orders, BOUNDS.atOnce]);
  });

  it("passes on the cancels of a wallet with most orders in few pieces, because its whole shard waits", () => {
    const state = giantLedger(1, MAX_OPEN_ORDERS);
    let command: LedgerCommand | undefined = { kind: "cancelAll", wallet: giantWallet(0), filter: {} };
    let pieces = 0;
    let canceled = 0;
    for (; command !== undefined; pieces += 1) {
      const { deltas, unfinished = [] } = ledger.decide(state, command, 1_700_000_100_000);
      for (const delta of deltas) if (delta.type === "canceling") canceled += delta.orderIds.length;
      [command] = unfinished;
    }
    expect([pieces, canceled]).to.deep.equal([5, MAX_OPEN_ORDERS]);
  });

  it("divides the cancels of a wallet for one market, which then works off one at a time", () => {
    const exchange = funded({});
    restOfTwo(exchange, MAX_MARKET_ORDERS);
    const command = { kind: "cancelAll", wallet: "ann", filter: {} } as const;
    const { deltas, unfinished } = ledger.decide(exchange.ledger("ann"), command, exchange.nowMs);
    const cancels = deltas.filter((delta) => delta.type === "canceling");
    expect(cancels.map(({ orderIds }) => orderIds.length)).to.deep.equal(
      Array.from({ length: MAX_MARKET_ORDERS / BOUNDS.piece }, () => BOUNDS.piece),
    );
    expect(unfinished ?? []).to.deep.equal([]);
    for (const { orderIds, reason } of cancels) {
      const decided = market.decide(exchange.market, { kind: "cancel", orderIds, reason }, exchange.nowMs);
      expect(decided.unfinished ?? []).to.deep.equal([]);
    }
  });

  it("sends a bounded number of cancels in each piece of a cancel of everyone", () => {
    const state = giantLedger(3 * BOUNDS.piece, 3 * BOUNDS.piece);
    let command: LedgerCommand | undefined = { kind: "cancelEveryone", reason: "MAINTENANCE" };
    const sent: number[] = [];
    while (command !== undefined) {
      const { deltas, unfinished = [] } = ledger.decide(state, command, 1_700_000_100_000);
      sent.push(deltas.filter(({ type }) => type === "canceling").length);
      [command] = unfinished;
    }
    expect(sent).to.deep.equal([BOUNDS.piece, BOUNDS.piece, BOUNDS.piece]);
  });

  it("visits a bounded number of restored wallets in each piece of a cancel of everyone", () => {
    const wallets = 3 * BOUNDS.atOnce;
    const state = restoredCopy(ledger, GIANT_LEDGER, giantLedger(wallets, 0));
    const packed = (): number => [...state.wallets.entries()].filter(isPacked).length;
    let command: LedgerCommand | undefined = { kind: "cancelEveryone", reason: "MAINTENANCE" };
    const visited: number[] = [];
    while (command !== undefined) {
      const before = packed();
      const { unfinished = [] } = ledger.decide(state, command, 1_700_000_100_000);
      visited.push(before - packed());
      [command] = unfinished;
    }
    expect(visited).to.deep.equal([BOUNDS.atOnce, BOUNDS.atOnce, BOUNDS.atOnce]);
  });

  it("reads no position that it does not pay", () => {
    const exchange = funded({}, ["ann", "bob"]);
    exchange.place("ann", "YES 0.600 x 1");
    exchange.place("bob", "NO 0.400 x 1");
    const { positions } = exchange.market.books.CASH;
    const [some] = positions.values();
    if (some === undefined) throw new Error("there is no position");
    for (let n = 0; n < 5_000; n += 1) positions.set(`w${n}`, { ...some, wallet: `w${n}` });
    let read = 0;
    const values = positions.values.bind(positions);
    positions.values = function* () {
      for (const position of values()) {
        read += 1;
        yield position;
      }
      return undefined;
    };
    const grade = { kind: "WINNER", outcome: 0 } as const;
    const command = { kind: "grade", settlementId: "s1", grade } as const;
    market.decide(exchange.market, command, exchange.nowMs);
    const { deltas } = market.decide(exchange.market, { kind: "settle", limit: 10 }, exchange.nowMs);
    expect(deltas.map(({ type }) => type)).to.deep.equal(Array.from({ length: 10 }, () => "payout"));
    expect(read).to.be.at.most(11);
  });

  it("previews the payouts of a grade in pages", () => {
    const exchange = funded({});
    rest(exchange);
    exchange.place("cat", "NO 0.450 x 9");
    const grade = { kind: "WINNER", outcome: 1 } as const;
    const page = (command: { readonly from?: number; readonly limit?: number }) => {
      const reply = exchange.operate({ kind: "previewGrade", grade, ...command });
      if (reply?.ok !== true || reply.kind !== "gradePreview") throw new Error("no preview");
      return reply;
    };
    const whole = page({});
    expect([whole.payouts.length, whole.next]).to.deep.equal([3, undefined]);
    const first = page({ from: 0, limit: 2 });
    const second = page({ from: 2, limit: 2 });
    expect([first.next, second.next]).to.deep.equal([2, undefined]);
    expect([...first.payouts, ...second.payouts]).to.deep.equal(whole.payouts);
    expect(page({ limit: 5_000 }).payouts.length).to.equal(3);
  });

  it("leaves the deadline of a held order to the delta that ends the order, so that a replay has it too", () => {
    const exchange = funded({ liveDelayMs: 5_000 }, ["ann"]);
    for (let n = 0; n < 5; n += 1) exchange.place("ann", "YES 0.600 x 2", { tif: "PO" });
    exchange.market.live = true;
    exchange.place("ann", "NO 0.400 x 10", { selfTrade: "cancel_maker" });
    expect(exchange.market.held.size).to.equal(1);
    const replayed = restoredCopy(market, exchange.id, exchange.market);
    const dueMs = exchange.nowMs + 5_000;
    let unfinished: readonly MarketCommand[] = [{ kind: "tick" }];
    for (let pieces = 0; unfinished.length > 0; pieces += 1) {
      const [command, ...others] = unfinished;
      if (command === undefined) break;
      const decision = market.decide(exchange.market, command, dueMs, 2, boundsOfOrders(2));
      unfinished = [...(decision.unfinished ?? []), ...others];
      for (const delta of decision.deltas) market.evolve(replayed, delta, dueMs);
      const deadline = market.deadline(exchange.market);
      expect(market.deadline(replayed), `piece ${pieces}`).to.equal(deadline);
      if (pieces === 0) expect(exchange.market.held.size, "the first piece only cancels").to.equal(1);
    }
    expect(market.deadline(exchange.market)).to.equal(undefined);
    expect(exchange.market.held.size).to.equal(0);
  });

  it("fires dead-man switches in pieces", () => {
    const arm = (exchange: Scenario): void => {
      rest(exchange);
      for (const trader of TRADERS)
        exchange.ask(trader, { kind: "deadman", wallet: trader, trader, timeoutMs: 1_000 });
    };
    const run = expectPieces(arm, (exchange) => exchange.wait(2_000), 1);
    expect(run.exchange.book()).to.equal("YES: -\nNO: -");
  });

  it("cancels the orders of a tripped group in pieces", () => {
    const group = { wallet: "ann", trader: "ann", groupId: "g", maxFilledQty: contracts(1), windowMs: 1_000 };
    const prepare = (exchange: Scenario): void => {
      exchange.ask("ann", { kind: "setGroup", ...group });
      for (let n = 0; n < 7; n += 1) exchange.place("ann", "YES 0.600 x 2", { groupId: "g" });
    };
    const trip = (exchange: Scenario): void => {
      exchange.place("bob", "NO 0.400 x 5");
    };
    const exchange = funded({ maxOrders: 2 });
    prepare(exchange);
    trip(exchange);
    expect(exchange.book()).to.equal("YES: -\nNO: -");
    expect(exchange.ledger("ann").wallets.get("ann")?.orders.size).to.equal(0);
  });

  it("answers a grade with the settlement that is about to start", () => {
    const exchange = funded({ maxOrders: 2 });
    rest(exchange);
    const grade = { kind: "WINNER", outcome: 0 } as const;
    const command: MarketCommand = { kind: "grade", settlementId: "s1", grade };
    const { reply, unfinished } = market.decide(
      exchange.market,
      command,
      exchange.nowMs,
      2,
      boundsOfOrders(2),
    );
    expect(reply).to.deep.equal({
      ok: true,
      kind: "settlement",
      status: "OPEN",
      settlementId: "s1",
      paid: 0,
      wallets: 0,
      done: false,
    });
    expect(unfinished).to.deep.equal([command]);
  });

  it("is not divided in format 1", () => {
    const orders = BOUNDS.piece + 1;
    for (const [format, count] of [
      [1, orders],
      [2, BOUNDS.piece],
    ] as const) {
      const exchange = funded({ maxOrders: Infinity }, ["ann"]);
      for (let n = 0; n < orders; n += 1) exchange.place("ann", "YES 0.001 x 1");
      const close: MarketCommand = { kind: "lifecycle", actions: ["close"] };
      const { deltas, unfinished } = market.decide(exchange.market, close, exchange.nowMs, format);
      expect(deltas.filter(({ type }) => type === "order")).to.have.length(count);
      expect(unfinished).to.deep.equal(format === 1 ? [] : [close]);
    }
  });

  it("sweeps up to 1,000 orders at once, and more of them in pieces", () => {
    const sizes = [BOUNDS.atOnce, BOUNDS.atOnce + 1].map((orders) => {
      const exchange = funded({});
      restOfTwo(exchange, orders);
      exchange.takeDeltas();
      const before = exchange.batches;
      exchange.place("bob", `NO 0.400 x ${orders}`, { tif: "FOK" });
      expect(exchange.book()).to.equal("YES: -\nNO: -");
      return exchange.batches - before;
    });
    // One acceptance, and for each piece one batch of the market and one of each ledger with an order in it.
    expect(sizes).to.deep.equal([1 + 3, 1 + 3 + 4]);
  });

  it("ends the preview of a long sweep at 1,000 orders", () => {
    const exchange = funded({});
    restOfTwo(exchange, BOUNDS.atOnce + 5);
    const owner = { wallet: "bob", trader: "bob", ledger: ledgerShardOf("bob") };
    const order = orderOf(exchange.request("NO 0.400 x 2000"), owner, exchange.nowMs);
    const reply = exchange.operate({ kind: "preview", order });
    if (reply?.ok !== true || reply.kind !== "preview") throw new Error("no preview");
    expect([reply.preview.fills.length, reply.preview.rests]).to.deep.equal([BOUNDS.atOnce, 0]);
    expect(reply.preview).to.have.property("partial", true);
    const short = orderOf(exchange.request("NO 0.400 x 5"), owner, exchange.nowMs);
    const whole = exchange.operate({ kind: "preview", order: short });
    expect(whole).to.have.property("preview").that.does.not.have.property("partial");
  });

  it("does the same in pieces of any size, for any book and any sweep", function () {
    this.timeout(60_000);
    const order = fc.record({
      trader: fc.constantFrom(...TRADERS),
      outcome: fc.constantFrom("YES", "NO", "TIE"),
      price: fc.constantFrom("0.300", "0.320", "0.340", "0.400"),
      qty: fc.integer({ min: 1, max: 6 }),
    });
    const taker = fc.record({
      tif: fc.constantFrom("GTC", "IOC", "FOK", "PO"),
      selfTrade: fc.constantFrom("wash", "cancel_taker", "cancel_maker"),
      qty: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(
        fc.array(order, { maxLength: 25 }),
        taker,
        fc.boolean(),
        fc.integer({ min: 1, max: 5 }),
        (orders, { tif, selfTrade, qty }, three, maxOrders) => {
          const outcomes = three ? ["YES", "NO", "TIE"] : ["YES", "NO"];
          expectPieces(
            (exchange) => {
              for (const { trader, outcome, price, qty: size } of orders)
                if (outcomes.includes(outcome)) exchange.place(trader, `${outcome} ${price} x ${size}`);
            },
            (exchange) => {
              exchange.place("ann", `YES 0.900 x ${qty}`, { tif, selfTrade });
              exchange.lifecycle("golive", "close");
            },
            maxOrders,
            { outcomes },
          );
        },
      ),
      { numRuns: 200, interruptAfterTimeLimit: 40_000 },
    );
  });
});
