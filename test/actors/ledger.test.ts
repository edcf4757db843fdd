import { expect } from "chai";
import fc from "fast-check";
import { LEDGER_SHARDS } from "../../actors/actor.js";
import { FillWindow } from "../../actors/ledger/fill-window.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import { MAX_MARKET_ORDERS, MAX_OPEN_ORDERS } from "../../actors/limits.js";
import { VOID_KINDS } from "../../actors/market/types.js";
import { contracts, MAX_MILLICENTS, MAX_SHARD_MILLICENTS, millicents } from "../../actors/units.js";
import { placement } from "../support/exchange/commands.js";
import { restoredCopy } from "../support/exchange/saved.js";
import { Scenario } from "./scenario.js";

const GAME = { coefficientPpm: 30_000, makerCreditPpm: 500_000, charged: "ALWAYS" } as const;

function funded(amount: number, options: ConstructorParameters<typeof Scenario>[0] = {}): Scenario {
  const exchange = new Scenario(options);
  for (const trader of ["ann", "bob"]) exchange.fund(trader, amount);
  exchange.takeDeltas();
  return exchange;
}

describe("collateral", () => {
  it("reserves price x qty, rejects an order beyond the available balance, and releases the reserve on cancel", () => {
    const exchange = funded(6_000);
    exchange.place("ann", "YES 0.600 x 10");
    expect(exchange.wallet("ann")).to.equal("0.06000 0.00000");
    expect(exchange.place("ann", "YES 0.001 x 1")).to.equal("INSUFFICIENT_BALANCE");
    exchange.cancel("ann", "o1");
    expect(exchange.wallet("ann")).to.equal("0.06000 0.06000");
  });

  it("reserves the highest taker fee until the order rests", () => {
    const exchange = funded(6_000, { fee: GAME });
    expect(exchange.place("ann", "YES 0.600 x 10")).to.equal("INSUFFICIENT_BALANCE");
    exchange.fund("bob", 1_000);
    exchange.place("bob", "YES 0.600 x 10");
    expect(exchange.wallet("bob")).to.equal("0.07000 0.01000");
  });

  it("rounds the taker's fee half up, and credits the maker its share", () => {
    const exchange = funded(1_000_000, { fee: GAME });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.400 x 10");
    // 0.03 x 0.4 x 0.6 x 10 contracts x 1 cent = $0.00072. The maker is credited half of it.
    expect(exchange.wallet("ann")).to.equal("9.94036 9.94036");
    expect(exchange.wallet("bob")).to.equal("9.95928 9.95928");
    expect(exchange.ledger("ann").totals.CASH.house + exchange.ledger("bob").totals.CASH.house).to.equal(
      exchange.ledger("ann") === exchange.ledger("bob") ? 72 : 36,
    );
  });

  for (const voids of VOID_KINDS) {
    it(`needs no cash to close a position on a ${voids} market, including the fee`, () => {
      const exchange = funded(6_100, { voids, fee: GAME });
      exchange.place("ann", "YES 0.600 x 10", { tif: "PO" });
      exchange.place("bob", "NO 0.400 x 10");
      exchange.place("bob", "YES 0.500 x 4", { tif: "PO" });
      exchange.ask("ann", {
        kind: "transact",
        transactionId: "out",
        transaction: "WITHDRAWAL",
        wallet: "ann",
        trader: "ann",
        currency: "CASH",
        amount: (exchange.ledger("ann").wallets.get("ann")?.funds.CASH.total ?? 0) as never,
        ref: "all of it",
      });
      expect(exchange.wallet("ann")).to.equal("0.00000 0.00000");
      expect(exchange.place("ann", "NO 0.500 x 4")).to.match(/^o/);
      expect(exchange.positions("ann")).to.equal("YES 6 @ 0.03600");
      expect(exchange.wallet("ann")).to.equal("0.01970 0.01970");
    });
  }
});

describe("cancels that leave out a market", () => {
  it("count the orders that they leave, and send the market nothing", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    exchange.takeDeltas();
    const exceptMarkets = [exchange.definition.marketId];
    const byId = { kind: "cancel", wallet: "ann", orderIds: ["o1", "gone"], exceptMarkets } as const;
    expect(exchange.ask("ann", byId)).to.deep.include({ queued: [], unknown: ["gone"], left: 1 });
    const filter = { exceptMarkets };
    const all = { kind: "cancelAll", wallet: "ann", filter } as const;
    expect(exchange.ask("ann", all)).to.deep.include({ queued: [], count: 0, left: 1 });
    expect(exchange.takeDeltas()).to.deep.equal({ market: [], ledger: [] });
    const inOthers = { ...all, filter: { exceptMarkets: ["another"] } } as const;
    expect(exchange.ask("ann", inOthers)).to.deep.include({ count: 1, left: 0 });
    expect(exchange.wallet("ann")).to.equal("10.00000 10.00000");
  });
});

describe("netting", () => {
  it("closes complete sets at once and keeps the average cost of the rest", () => {
    const exchange = funded(1_000_000, { voids: "FMV" });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.400 x 10");
    exchange.place("bob", "YES 0.300 x 4");
    exchange.place("ann", "NO 0.700 x 4");
    expect(exchange.positions("ann")).to.equal("YES 6 @ 0.03600");
    expect(exchange.positions("bob")).to.equal("NO 6 @ 0.02400");
    expect(exchange.wallet("ann")).to.equal("9.95200 9.95200");
  });

  it("pays the cost of a cheap set at once on a PUSH market, and the rest to a winner at settlement", () => {
    const exchange = funded(1_000_000, { voids: "PUSH" });
    exchange.place("ann", "YES 0.400 x 10");
    exchange.place("bob", "NO 0.600 x 10");
    exchange.place("bob", "YES 0.700 x 10");
    exchange.place("ann", "NO 0.300 x 10");
    expect(exchange.positions("ann")).to.equal("");
    expect(exchange.wallet("ann")).to.equal("10.00000 10.00000");
    exchange.settle({ kind: "WINNER", outcome: 1 });
    expect(exchange.wallet("ann")).to.equal("10.03000 10.03000");
    expect(exchange.wallet("bob")).to.equal("9.97000 9.97000");
  });
});

describe("idempotency", () => {
  it("answers a repeated clientId with the first order, or with CLIENT_ID_REUSED when the body differs", () => {
    const exchange = funded(1_000_000);
    expect(exchange.place("ann", "YES 0.600 x 10", { clientId: "c" })).to.equal("o1");
    expect(exchange.place("ann", "YES 0.600 x 10", { clientId: "c" })).to.equal("o1");
    expect(exchange.place("ann", "YES 0.600 x 11", { clientId: "c" })).to.equal("CLIENT_ID_REUSED");
    expect(exchange.place("bob", "YES 0.600 x 11", { clientId: "c" })).to.equal("o4");
    expect(exchange.book()).to.equal("YES: 0.600 x 10 ann, 0.600 x 11 bob\nNO: -");
  });

  for (const atomic of [false, true]) {
    it(`takes a request ${atomic ? "for all or none " : ""}whose order is open for a repeat, although it has no clientId`, () => {
      const exchange = funded(1_000_000);
      const order = exchange.request("YES 0.600 x 10", {});
      const command = { ...placement("ann", order), atomic } as const;
      const results = [1, 2].map(() => {
        const reply = exchange.ask("ann", command);
        return reply?.ok === true && reply.kind === "placed" ? reply.results : [];
      });
      const first = { ok: true, orderId: order.orderId, clientId: undefined } as const;
      expect(results).to.deep.equal([[{ ...first, repeated: false }], [{ ...first, repeated: true }]]);
      expect(exchange.wallet("ann")).to.equal("10.00000 9.94000");
      exchange.cancel("ann", order.orderId);
      expect(exchange.wallet("ann")).to.equal("10.00000 10.00000");
    });
  }

  it("forgets a clientId after 24 hours", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10", { clientId: "c" });
    exchange.wait(24 * 3_600_000);
    expect(exchange.place("ann", "YES 0.600 x 10", { clientId: "c" })).to.equal("o2");
  });
});

describe("an atomic placement", () => {
  it("places all orders, or places none and emits no delta", () => {
    const exchange = funded(10_000);
    const place = (...texts: string[]): unknown =>
      exchange.ask("ann", {
        kind: "place",
        wallet: "ann",
        trader: "ann",
        orders: texts.map((text) => exchange.request(text)),
        atomic: true,
      });
    expect(place("YES 0.600 x 10", "YES 0.500 x 10")).to.deep.include({
      results: [
        { ok: true, orderId: "o1", clientId: undefined, repeated: false },
        { ok: false, refusal: "INSUFFICIENT_BALANCE" },
      ],
    });
    expect(exchange.takeDeltas().ledger).to.deep.equal([]);
    expect(exchange.wallet("ann")).to.equal("0.10000 0.10000");
    place("YES 0.600 x 10", "YES 0.400 x 10");
    expect(exchange.wallet("ann")).to.equal("0.10000 0.00000");
  });
});

describe("the limits of open orders of a wallet", () => {
  const place = (exchange: Scenario, orders: readonly OrderRequest[]): readonly unknown[] => {
    const reply = exchange.ask("ann", {
      kind: "place",
      wallet: "ann",
      trader: "ann",
      orders,
      atomic: false,
    });
    if (reply?.ok !== true || reply.kind !== "placed") throw new Error("the orders were not placed");
    return reply.results.flatMap((result) => (result.ok ? [] : [result.refusal]));
  };
  const inCash = (exchange: Scenario, count: number): OrderRequest[] =>
    Array.from({ length: count }, () => exchange.request("YES 0.010 x 1"));
  const inCoin = (exchange: Scenario): OrderRequest =>
    exchange.request("YES 0.010 x 1", { currency: "COIN" });

  it("are 1,000 in one market, in both currencies together, and free again when an order ends", () => {
    const exchange = funded(1_000_000);
    exchange.fund("ann", 1_000, { currency: "COIN" });
    expect(place(exchange, inCash(exchange, MAX_MARKET_ORDERS - 1))).to.deep.equal([]);
    expect(place(exchange, [inCoin(exchange)])).to.deep.equal([]);
    expect(place(exchange, [...inCash(exchange, 1), inCoin(exchange)])).to.deep.equal(
      new Array(2).fill("OPEN_ORDER_LIMIT_EXCEEDED"),
    );
    exchange.cancel("ann", "o7");
    expect(place(exchange, inCash(exchange, 2))).to.deep.equal(["OPEN_ORDER_LIMIT_EXCEEDED"]);
    exchange.place("bob", "NO 0.990 x 1");
    expect(place(exchange, inCash(exchange, 2))).to.deep.equal(["OPEN_ORDER_LIMIT_EXCEEDED"]);
  });

  it("are counted within an atomic request, which changes nothing when it is refused", () => {
    const exchange = funded(1_000_000);
    place(exchange, inCash(exchange, MAX_MARKET_ORDERS - 1));
    const orders = inCash(exchange, 2);
    const command = { kind: "place", wallet: "ann", trader: "ann", orders, atomic: true } as const;
    const reply = exchange.ask("ann", command);
    expect(reply).to.have.deep.nested.property("results[1]", {
      ok: false,
      refusal: "OPEN_ORDER_LIMIT_EXCEEDED",
    });
    expect(place(exchange, inCash(exchange, 1))).to.deep.equal([]);
  });

  it("are kept by a restored wallet", () => {
    const exchange = funded(1_000_000);
    place(exchange, inCash(exchange, MAX_MARKET_ORDERS));
    const [actor, state] = [...exchange.ledgers][0] ?? expect.fail();
    const restored = restoredCopy(ledger, actor, state);
    const [order] = inCash(exchange, 1);
    if (order === undefined) throw new Error("there is no order");
    const preview = { kind: "preview", wallet: "ann", trader: "ann", order } as const;
    expect(ledger.decide(restored, preview, exchange.nowMs).reply).to.deep.include({
      refusal: "OPEN_ORDER_LIMIT_EXCEEDED",
    });
  });

  it("are 5,000 over all markets unless the request sets another number", () => {
    const exchange = funded(10_000_000);
    const [, state] = [...exchange.ledgers][0] ?? expect.fail();
    // The orders stay on their way to markets that nobody has created.
    const placeIn = (marketId: string, count: number, openOrders?: number): readonly unknown[] => {
      const orders = inCash(exchange, count).map(({ terms, ...order }) => ({
        ...order,
        terms: { ...terms, marketId },
      }));
      const command = { kind: "place", wallet: "ann", trader: "ann", orders, atomic: false } as const;
      const { reply } = ledger.decide(state, { ...command, limits: { openOrders } }, exchange.nowMs);
      return reply?.ok === true && reply.kind === "placed" ? reply.results.map(({ ok }) => ok) : [];
    };
    const markets = ["a", "b", "c", "d", "e"];
    const accepted = markets.flatMap((marketId) => placeIn(marketId, MAX_MARKET_ORDERS));
    expect(accepted).to.deep.equal(new Array(MAX_OPEN_ORDERS).fill(true));
    expect(placeIn("f", 1)).to.deep.equal([false]);
    expect(placeIn("f", 2, MAX_OPEN_ORDERS + 1)).to.deep.equal([true, false]);
  });
});

describe("transfers and transactions", () => {
  it("transfers money between a trader's wallets, rejects more than is available, and repeats by clientTransferId", () => {
    const exchange = funded(10_000);
    const transfer = (
      transferId: string,
      amount: number,
      clientTransferId?: string,
      wallet = "sub",
    ): unknown => {
      const reply = exchange.ask("ann", {
        kind: "transfer",
        transferId,
        direction: "fund",
        trader: "ann",
        wallet,
        amount: amount as never,
        clientTransferId,
      });
      return reply?.ok === true && reply.kind === "transfer"
        ? `${reply.transfer.transferId} ${reply.transfer.status}`
        : reply;
    };
    expect(transfer("t1", 4_000, "x")).to.equal("t1 Applied");
    expect(transfer("t2", 4_000, "x")).to.equal("t1 Applied");
    expect(transfer("t3", 4_000, "x", "other")).to.deep.equal({ ok: false, refusal: "TRANSFER_ID_REUSED" });
    expect(transfer("t4", 6_001)).to.equal("t4 Rejected");
    expect(exchange.wallet("ann")).to.equal("0.06000 0.06000");
  });

  it("transfers the currency that is named, and CASH when none is", () => {
    const exchange = funded(10_000);
    const give = { kind: "transact", transaction: "DEPOSIT", wallet: "ann", trader: "ann", ref: "" } as const;
    exchange.ask("ann", { ...give, transactionId: "d", currency: "COIN", amount: 700 as never });
    const fund = {
      kind: "transfer",
      direction: "fund",
      trader: "ann",
      wallet: "sub",
      amount: 600 as never,
    } as const;
    const statusOf = (transferId: string, currency?: "CASH" | "COIN"): unknown => {
      const reply = exchange.ask("ann", { ...fund, transferId, currency });
      return reply?.ok === true && reply.kind === "transfer" && reply.transfer;
    };
    expect(statusOf("t1", "COIN")).to.include({ status: "Applied", currency: "COIN" });
    expect(statusOf("t2", "COIN")).to.include({ status: "Rejected", available: 100 });
    expect(exchange.wallet("ann")).to.equal("0.10000 0.10000");
    const entries = exchange.takeDeltas().ledger.flatMap((delta) => (delta.type === "entry" ? [delta] : []));
    expect(
      entries.map(({ wallet, kind, currency, amount }) => [wallet, kind, currency, amount]),
    ).to.deep.equal([
      ["ann", "DEPOSIT", "COIN", 700],
      ["ann", "TRANSFER_OUT", "COIN", -600],
      ["sub", "TRANSFER_IN", "COIN", 600],
    ]);
    expect(statusOf("t3")).to.include({ status: "Applied", currency: undefined });
    expect(exchange.wallet("ann")).to.equal("0.09400 0.09400");
  });

  it("rejects a withdrawal of more than is available", () => {
    const exchange = funded(10_000);
    const withdraw = {
      kind: "transact",
      transactionId: "w",
      transaction: "WITHDRAWAL",
      wallet: "ann",
      trader: "ann",
      currency: "CASH",
      ref: "",
    } as const;
    exchange.place("ann", "YES 0.600 x 10");
    expect(exchange.ask("ann", { ...withdraw, amount: 4_001 as never })).to.deep.equal({
      ok: false,
      refusal: "INSUFFICIENT_BALANCE",
    });
    expect(exchange.ask("ann", { ...withdraw, amount: 4_000 as never })).to.deep.include({ ok: true });
    expect(exchange.wallet("ann")).to.equal("0.06000 0.00000");
  });
});

describe("the range of money", () => {
  const post = (
    exchange: Scenario,
    transaction: "DEPOSIT" | "WITHDRAWAL" | "ADJUSTMENT",
    amount: number,
  ): string => {
    const reply = exchange.ask("ann", {
      kind: "transact",
      transactionId: `${transaction} ${amount}`,
      transaction,
      wallet: "ann",
      trader: "ann",
      currency: "CASH",
      amount: millicents(amount),
      ref: "",
    });
    return reply?.ok === true ? "done" : (reply?.refusal ?? "no answer");
  };

  it("is not left by any sum of a shard: a transaction beyond it is refused, and nothing is emitted", () => {
    const exchange = new Scenario();
    expect(post(exchange, "DEPOSIT", MAX_MILLICENTS)).to.equal("AMOUNT_OUT_OF_RANGE");
    expect(exchange.takeDeltas().ledger).to.deep.equal([]);
    expect(post(exchange, "DEPOSIT", MAX_SHARD_MILLICENTS)).to.equal("done");
    expect(post(exchange, "DEPOSIT", 1)).to.equal("AMOUNT_OUT_OF_RANGE");
    expect(post(exchange, "ADJUSTMENT", MAX_SHARD_MILLICENTS)).to.equal("done");
    expect(post(exchange, "ADJUSTMENT", 1)).to.equal("AMOUNT_OUT_OF_RANGE");
    expect(post(exchange, "WITHDRAWAL", MAX_SHARD_MILLICENTS)).to.equal("done");
    expect(post(exchange, "WITHDRAWAL", 1)).to.equal("AMOUNT_OUT_OF_RANGE");
    expect(post(exchange, "ADJUSTMENT", -1)).to.equal("done");
    expect(exchange.place("ann", "YES 0.600 x 10")).to.match(/^o/);
  });

  it("holds all money of the exchange, whichever wallet wins it", () => {
    expect(MAX_SHARD_MILLICENTS * 2 * LEDGER_SHARDS).to.be.at.most(Number.MAX_SAFE_INTEGER);
  });
});

describe("the fills of an order group", () => {
  it("are summed up within their window, like a sum over all of them", () => {
    const steps = fc.array(
      fc.record({ after: fc.integer({ min: 0, max: 40 }), qty: fc.integer({ min: 1, max: 9 }) }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 100 }), (fills, windowMs) => {
        const window = new FillWindow();
        const all: { ts: number; qty: number }[] = [];
        let ts = 0;
        for (const { after, qty } of fills) {
          ts += after;
          all.push({ ts, qty });
          window.add({ ts, qty: contracts(qty) }, windowMs);
          const within = all.filter((fill) => fill.ts > ts - windowMs);
          expect(window.list()).to.deep.equal(within);
          expect(window.sum).to.equal(within.reduce((sum, fill) => sum + fill.qty, 0));
          expect(new FillWindow(window.list()).sum).to.equal(window.sum);
        }
      }),
      { numRuns: 30 },
    );
  });

  it("are counted without a walk over the fills before", () => {
    const window = new FillWindow();
    const started = process.hrtime.bigint();
    let greatest = 0;
    for (let n = 0; n < 200_000; n += 1) {
      window.add({ ts: n, qty: contracts(1) }, 100_000);
      greatest = Math.max(greatest, window.sum);
    }
    expect(greatest).to.equal(100_000);
    expect(window.list()).to.have.length(100_000);
    // A walk over the fills would take a minute.
    expect(Number(process.hrtime.bigint() - started) / 1e9).to.be.below(5);
  });
});
