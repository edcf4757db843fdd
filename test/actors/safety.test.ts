import { expect } from "chai";
import fc from "fast-check";
import type { AccountOrder } from "../../actors/ledger/account.js";
import type { LedgerReply } from "../../actors/ledger/commands.js";
import { ledger } from "../../actors/ledger/ledger.js";
import type { CollateralPolicy, Restriction } from "../../actors/ledger/types.js";
import { available } from "../../actors/ledger/state.js";
import { market } from "../../actors/market/market.js";
import { contracts, formatMoney, millicents, parsePrice, ticks } from "../../actors/units.js";
import { deposit, FREE, placement } from "../support/exchange/commands.js";
import { restoredCopy } from "../support/exchange/saved.js";
import { VOID_KINDS } from "../../actors/market/types.js";
import { MARKET_ID, Scenario } from "./scenario.js";

function funded(amount: number, options: ConstructorParameters<typeof Scenario>[0] = {}): Scenario {
  const exchange = new Scenario(options);
  for (const trader of ["ann", "bob"]) exchange.fund(trader, amount);
  exchange.takeDeltas();
  return exchange;
}

function amend(
  exchange: Scenario,
  orderId: string,
  change: { qty?: number; price?: string; notAfter?: number },
): LedgerReply | undefined {
  const { outcomes, voids } = exchange.definition;
  return exchange.ask("ann", {
    kind: "amend",
    wallet: "ann",
    orderId,
    qty: change.qty === undefined ? undefined : contracts(change.qty),
    price: change.price === undefined ? undefined : parsePrice(change.price),
    replacement: {
      orderId: "new",
      notAfter: change.notAfter,
      terms: { marketId: MARKET_ID, outcomes: outcomes.length, voids, fee: FREE, live: false },
    },
  });
}

/** Returns what a wallet keeps of an open order. */
function openOrder(exchange: Scenario, orderId: string): AccountOrder {
  for (const { wallets } of exchange.ledgers.values()) {
    const order = wallets.get("ann")?.orders.get(orderId);
    if (order !== undefined) return order;
  }
  throw new Error(`${orderId} is not open`);
}

describe("amending", () => {
  it("keeps the place in the queue when the quantity decreases", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "YES 0.600 x 10");
    expect(amend(exchange, "o1", { qty: 4 })).to.deep.equal({ ok: true, kind: "amended", orderId: "o1" });
    expect(exchange.book()).to.equal("YES: 0.600 x 4 ann, 0.600 x 10 bob\nNO: -");
    expect(exchange.wallet("ann")).to.equal("10.00000 9.97600");
  });

  it("replaces the order in one step when the quantity increases or the price changes", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    expect(amend(exchange, "o1", { qty: 12, price: "0.550" })).to.deep.include({ orderId: "new" });
    expect(exchange.orderEvents()).to.deep.equal(["o1 open 10", "o1 cancel", "new open 12"]);
    expect(exchange.book()).to.equal("YES: 0.550 x 12 ann\nNO: -");
    expect(exchange.wallet("ann")).to.equal("10.00000 9.93400");
  });

  it("reduces the replacement by the quantity that filled in the meantime", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.400 x 3");
    exchange.takeDeltas();
    const order = exchange.market.resting.get("o1")?.order;
    if (order === undefined) throw new Error("o1 does not rest");
    // The ledger sent the replacement when 10 contracts remained; 3 of them have filled since.
    const replacement = { ...order, orderId: "new", price: ticks(650) };
    const { deltas } = market.decide(
      exchange.market,
      { kind: "replace", order: replacement, orderId: "o1", remaining: contracts(10) },
      exchange.nowMs,
    );
    const kinds = deltas.flatMap((delta) => (delta.type === "order" ? [delta.kind] : []));
    expect(kinds).to.deep.equal(["cancel", "reduce", "open"]);
    expect(exchange.book()).to.equal("YES: 0.650 x 7 ann\nNO: -");
  });

  it("leaves the order as it is when the replacement comes after its notAfter", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    const late = { price: "0.550", notAfter: exchange.nowMs - 1 };
    expect(amend(exchange, "o1", late)).to.deep.include({ orderId: "new" });
    expect(exchange.orderEvents()).to.deep.equal(["o1 open 10", "new reject EXPIRED_IN_FLIGHT"]);
    expect(exchange.book()).to.equal("YES: 0.600 x 10 ann\nNO: -");
    expect(exchange.wallet("ann")).to.equal("10.00000 9.94000");
    expect(amend(exchange, "o1", { ...late, notAfter: exchange.nowMs })).to.deep.include({ ok: true });
    expect(exchange.book()).to.equal("YES: 0.550 x 10 ann\nNO: -");
  });

  it("does not hand the notAfter of the original on to the replacement", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10", { notAfter: exchange.nowMs + 10 });
    exchange.wait(11);
    expect(amend(exchange, "o1", { price: "0.550" })).to.deep.include({ orderId: "new" });
    expect(exchange.orderEvents()).to.deep.equal(["o1 open 10", "o1 cancel", "new open 10"]);
    expect(exchange.market.resting.get("new")?.order.notAfter).to.equal(undefined);
  });

  it("hands the group, the client id and the expiry on to the replacement", () => {
    const exchange = funded(1_000_000);
    const bounds = { maxFilledQty: contracts(100), windowMs: 1_000 };
    exchange.ask("ann", { kind: "setGroup", wallet: "ann", trader: "ann", groupId: "g", ...bounds });
    exchange.place("ann", "YES 0.600 x 10", { tif: "GTT", ttlMs: 5_000, groupId: "g", clientId: "c" });
    exchange.wait(3_000);
    const original = { ...openOrder(exchange, "o1") };
    expect(original).to.include({ groupId: "g", clientId: "c" });
    expect(amend(exchange, "o1", { qty: 12 })).to.deep.include({ orderId: "new" });
    const expected = { ...original, orderId: "new", remaining: 12 };
    expect(openOrder(exchange, "new")).to.deep.equal(expected);
    exchange.wait(1_999);
    expect(exchange.book()).to.contain("ann");
    exchange.wait(1);
    expect(exchange.book()).to.equal("YES: -\nNO: -");
  });

  it("rejects an order that is not open", () => {
    expect(amend(funded(1_000), "o9", { qty: 1 })).to.deep.equal({ ok: false, refusal: "ORDER_NOT_FOUND" });
  });
});

describe("the dead-man switch", () => {
  it("cancels all orders of the wallet, once, when it is not renewed in time", () => {
    const exchange = funded(1_000_000);
    exchange.ask("ann", { kind: "deadman", wallet: "ann", trader: "ann", timeoutMs: 5_000 });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.wait(4_000);
    exchange.ask("ann", { kind: "deadman", wallet: "ann", trader: "ann", timeoutMs: 5_000 });
    exchange.wait(4_999);
    expect(exchange.book()).to.contain("ann");
    exchange.wait(1);
    expect(exchange.orderEvents()).to.deep.equal(["o1 open 10", "o1 cancel DISCONNECTED"]);
    exchange.place("ann", "YES 0.600 x 10");
    exchange.wait(60_000);
    expect(exchange.book()).to.contain("ann");
  });

  it("is turned off by a timeout of 0", () => {
    const exchange = funded(1_000_000);
    exchange.ask("ann", { kind: "deadman", wallet: "ann", trader: "ann", timeoutMs: 5_000 });
    exchange.ask("ann", { kind: "deadman", wallet: "ann", trader: "ann", timeoutMs: 0 });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.wait(60_000);
    expect(exchange.book()).to.contain("ann");
  });
});

describe("an order group", () => {
  it("is canceled when it fills more than its limit within the window, and rejects new orders until its reset", () => {
    const exchange = funded(1_000_000);
    const wallet = "ann";
    const group = { wallet, groupId: "g" } as const;
    expect(exchange.place("ann", "YES 0.600 x 10", { groupId: "g" })).to.equal("GROUP_NOT_FOUND");
    exchange.ask("ann", {
      kind: "setGroup",
      ...group,
      trader: "ann",
      maxFilledQty: contracts(5),
      windowMs: 1_000,
    });
    exchange.place("ann", "YES 0.600 x 4", { groupId: "g" });
    exchange.place("ann", "YES 0.500 x 9", { groupId: "g" });
    exchange.place("ann", "YES 0.400 x 9");
    exchange.place("bob", "NO 0.400 x 4");
    exchange.wait(1_000);
    exchange.place("bob", "NO 0.500 x 5");
    expect(exchange.book()).to.equal("YES: 0.500 x 4 ann, 0.400 x 9 ann\nNO: -");
    exchange.place("bob", "NO 0.500 x 1");
    expect(exchange.book()).to.equal("YES: 0.400 x 9 ann\nNO: -");
    expect(exchange.orderEvents()).to.include("o3 cancel GROUP_LIMIT");
    expect(exchange.place("ann", "YES 0.300 x 1", { groupId: "g" })).to.equal("GROUP_LIMIT");
    exchange.ask("ann", { kind: "resetGroup", ...group });
    expect(exchange.place("ann", "YES 0.300 x 1", { groupId: "g" })).to.match(/^o/);
  });

  it("is one of at most 100 of its wallet, whose bounds can still be changed", () => {
    const exchange = funded(1_000_000);
    const bounds = { maxFilledQty: contracts(5), windowMs: 1_000 };
    const set = (groupId: string) =>
      exchange.ask("ann", { kind: "setGroup", wallet: "ann", trader: "ann", groupId, ...bounds });
    for (let n = 0; n < 100; n += 1) expect(set(`g${n}`)).to.include({ ok: true });
    expect(set("one more")).to.deep.equal({ ok: false, refusal: "GROUP_COUNT_EXCEEDED" });
    expect(set("g7")).to.include({ ok: true });
    exchange.ask("ann", { kind: "removeGroup", wallet: "ann", groupId: "g7" });
    expect(set("one more")).to.include({ ok: true });
  });
});

describe("net collateral", () => {
  it("reserves only the worst case of both sides", () => {
    const exchange = funded(1_000_000, { voids: "FMV" });
    exchange.ask("ann", { kind: "setPolicy", wallet: "ann", trader: "ann", policy: "net" });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("ann", "NO 0.300 x 10");
    expect(exchange.wallet("ann")).to.equal("10.00000 9.94000");
    expect(
      exchange.ask("ann", { kind: "setPolicy", wallet: "ann", trader: "ann", policy: "hold" }),
    ).to.include({ ok: true });
    expect(exchange.wallet("ann")).to.equal("10.00000 9.91000");
  });

  it("cannot be changed to hold without enough money", () => {
    const exchange = funded(6_000, { voids: "PUSH" });
    exchange.ask("ann", { kind: "setPolicy", wallet: "ann", trader: "ann", policy: "net" });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("ann", "NO 0.300 x 10");
    expect(
      exchange.ask("ann", { kind: "setPolicy", wallet: "ann", trader: "ann", policy: "hold" }),
    ).to.deep.equal({ ok: false, refusal: "INSUFFICIENT_BALANCE" });
  });
});

describe("the available balance of a wallet never falls below zero", () => {
  const step = fc.record({
    side: fc.constantFrom("YES", "NO"),
    price: fc.integer({ min: 1, max: 199 }),
    qty: fc.integer({ min: 1, max: 9 }),
    trader: fc.constantFrom("ann", "ann", "ann", "bob"),
    cancel: fc.nat({ max: 9 }),
  });
  for (const policy of ["hold", "net"] satisfies CollateralPolicy[]) {
    for (const voids of VOID_KINDS) {
      it(`under ${policy} on a ${voids} market with fees always charged`, () => {
        const fee = { coefficientPpm: 60_000, makerCreditPpm: 0, charged: "ALWAYS" } as const;
        fc.assert(
          fc.property(
            fc.integer({ min: 0, max: 9_000 }),
            fc.array(step, { maxLength: 40 }),
            (amount, steps) => {
              const exchange = new Scenario({ voids, fee });
              exchange.fund("ann", amount);
              exchange.fund("bob", 10_000_000);
              exchange.ask("ann", { kind: "setPolicy", wallet: "ann", trader: "ann", policy });
              steps.forEach(({ side, price, qty, trader, cancel }, i) => {
                exchange.place(trader, `${side} 0.${String(price * 5).padStart(3, "0")} x ${qty}`);
                if (cancel === 0) exchange.cancel("ann", `o${i}`);
                const wallet = exchange.ledger("ann").wallets.get("ann");
                if (wallet === undefined) return;
                expect(available(wallet, "CASH"), formatMoney(wallet.funds.CASH.total)).to.be.at.least(0);
              });
            },
          ),
          { numRuns: 150 },
        );
      });
    }
  }
});

describe("previews", () => {
  it("return the fills, fee, resting quantity and queue of an order, from the sweep that executes orders", () => {
    const fee = { coefficientPpm: 30_000, makerCreditPpm: 0, charged: "ALWAYS" } as const;
    const exchange = funded(1_000_000, { fee });
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("ann", "NO 0.300 x 7");
    const order = {
      ...exchange.request("NO 0.400 x 15"),
      wallet: "bob",
      trader: "bob",
      ledger: 0,
      fee,
      feeReserved: true,
      acceptedTs: 0,
    };
    const before = exchange.takeDeltas();
    const reply = exchange.operate({ kind: "preview", order });
    expect(reply).to.deep.equal({
      ok: true,
      kind: "preview",
      preview: { fills: [{ price: 400, qty: 10 }], fee: 72, rests: 5, queueAhead: 0 },
    });
    expect(before.market.length).to.be.greaterThan(0);
    expect(exchange.takeDeltas().market).to.deep.equal([]);
  });

  it("return the payouts of a grade, and change nothing", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    exchange.place("bob", "NO 0.400 x 10");
    expect(exchange.operate({ kind: "previewGrade", grade: { kind: "WINNER", outcome: 0 } })).to.deep.include(
      {
        payouts: [
          { wallet: "ann", currency: "CASH", amount: 10_000 },
          { wallet: "bob", currency: "CASH", amount: 0 },
        ],
      },
    );
    expect(exchange.market.status).to.equal("OPEN");
  });
});

describe("a restricted trader", () => {
  const restrict = (exchange: Scenario, restriction?: Restriction): void => {
    exchange.ask("ann", { kind: "restrict", trader: "ann", wallets: ["ann", "sub"], restriction });
  };

  for (const maxOrders of [undefined, 1]) {
    const how = maxOrders === undefined ? "at once" : "in pieces";
    it(`has no order in any wallet, and places none until released (${how})`, () => {
      const exchange = funded(1_000_000, { maxOrders });
      exchange.fund("ann", 1_000_000, { wallet: "sub" });
      exchange.place("bob", "YES 0.300 x 1");
      const first = exchange.place("ann", "YES 0.600 x 10", { clientId: "first" });
      exchange.place("ann", "YES 0.500 x 10");
      exchange.place("ann", "YES 0.400 x 10", { wallet: "sub" });
      exchange.place("ann", "NO 0.100 x 10", { wallet: "sub" });
      restrict(exchange, "SELF_EXCLUDED");
      expect(exchange.book()).to.equal("YES: 0.300 x 1 bob\nNO: -");
      expect(exchange.orderEvents().filter((event) => event.endsWith("cancel"))).to.have.length(4);
      expect(exchange.wallet("ann")).to.equal("10.00000 10.00000");
      for (const wallet of ["ann", "sub", "new"])
        expect(exchange.place("ann", "YES 0.200 x 1", { wallet })).to.equal("SELF_EXCLUDED");
      expect(exchange.place("bob", "YES 0.200 x 1")).to.match(/^o/);
      expect(exchange.place("ann", "YES 0.600 x 10", { clientId: "first" }), "a repeat").to.equal(first);
      restrict(exchange, "ACCOUNT_LOCKED");
      expect(exchange.place("ann", "YES 0.200 x 1")).to.equal("ACCOUNT_LOCKED");
      restrict(exchange);
      expect(exchange.place("ann", "YES 0.200 x 1")).to.match(/^o/);
    });
  }

  it("replaces no order that a cancel has not reached yet", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    const command = { kind: "restrict", trader: "ann", wallets: [], restriction: "ACCOUNT_LOCKED" } as const;
    ledger.decide(exchange.ledger("ann"), command, exchange.nowMs);
    expect(amend(exchange, "o1", { price: "0.650" })).to.deep.equal({ ok: false, refusal: "ACCOUNT_LOCKED" });
    expect(amend(exchange, "o1", { qty: 4 })).to.include({ ok: true });
  });

  it("is restricted after a restart, in every form of snapshots", () => {
    const exchange = funded(1_000_000);
    restrict(exchange, "ACCOUNT_LOCKED");
    const state = exchange.ledger("ann");
    const id = `ledger:${state.shard}` as const;
    const order = placement("ann", exchange.request("YES 0.200 x 1"));
    const whole: unknown = JSON.parse(JSON.stringify(ledger.saveWhole(state)));
    for (const restored of [restoredCopy(ledger, id, state), ledger.restoreWhole(id, whole)]) {
      const { reply } = ledger.decide(restored, order, exchange.nowMs);
      expect(reply).to.deep.include({ results: [{ ok: false, refusal: "ACCOUNT_LOCKED" }] });
    }
  });

  it("is not recorded in a format that has no form for it, in which the orders are canceled all the same", () => {
    const exchange = funded(1_000_000);
    exchange.place("ann", "YES 0.600 x 10");
    const command = {
      kind: "restrict",
      trader: "ann",
      wallets: ["ann"],
      restriction: "ACCOUNT_LOCKED",
    } as const;
    const { deltas } = ledger.decide(exchange.ledger("ann"), command, exchange.nowMs, 3);
    expect(deltas.map(({ type }) => type)).to.deep.equal(["canceling"]);
  });
});

describe("closing a wallet", () => {
  const close = (exchange: Scenario) =>
    exchange.ask("ann", { kind: "closeWallet", wallet: "sub", trader: "ann" });
  const transfer = (exchange: Scenario, direction: "fund" | "defund", amount: number) =>
    exchange.ask("ann", {
      kind: "transfer",
      transferId: `${direction} ${amount}`,
      direction,
      trader: "ann",
      wallet: "sub",
      amount: millicents(amount),
    });
  const NOT_EMPTY = { ok: false, refusal: "SUBACCOUNT_NOT_EMPTY" };

  it("is refused while it has money in any currency, an order or a position", () => {
    const exchange = funded(1_000_000);
    exchange.fund("ann", 5, { wallet: "sub", currency: "COIN" });
    expect(close(exchange), "COIN").to.deep.equal(NOT_EMPTY);
    transfer(exchange, "fund", 6_000);
    exchange.place("ann", "YES 0.600 x 10", { wallet: "sub" });
    expect(close(exchange), "an order").to.deep.equal(NOT_EMPTY);
    exchange.place("bob", "NO 0.400 x 10");
    expect(exchange.wallet("ann")).to.equal("9.94000 9.94000");
    expect(close(exchange), "a position").to.deep.equal(NOT_EMPTY);
  });

  it("refuses orders and money from then on, keeps what a late grade pays, and lets it out", () => {
    const exchange = funded(1_000_000);
    transfer(exchange, "fund", 6_000);
    exchange.place("ann", "YES 0.600 x 10", { wallet: "sub" });
    exchange.place("bob", "NO 0.400 x 10");
    exchange.settle({ kind: "WINNER", outcome: 1 });
    expect(close(exchange)).to.deep.equal({ ok: true, kind: "done" });
    expect(close(exchange), "once more").to.deep.equal({ ok: true, kind: "done" });
    expect(transfer(exchange, "fund", 10)).to.deep.equal({ ok: false, refusal: "SUBACCOUNT_NOT_FOUND" });
    expect(exchange.place("ann", "YES 0.600 x 10", { wallet: "sub" })).to.equal("SUBACCOUNT_NOT_FOUND");
    const credit = deposit("ann", 20, { wallet: "sub" });
    expect(exchange.ask("ann", credit)).to.deep.equal({ ok: false, refusal: "SUBACCOUNT_NOT_FOUND" });
    exchange.operate({ kind: "remediate", reason: "wrong result" });
    exchange.settleInBatches();
    exchange.settle({ kind: "WINNER", outcome: 0 });
    const debit = deposit("ann", 1_000, { wallet: "sub", transaction: "WITHDRAWAL" });
    expect(exchange.ask("ann", debit)).to.include({ ok: true });
    expect(transfer(exchange, "defund", 9_000)).to.deep.nested.include({ "transfer.status": "Applied" });
  });

  it("answers the repeat of an earlier credit, which is not posted again", () => {
    const exchange = funded(1_000_000);
    const credit = deposit("ann", 20, { wallet: "sub", transactionId: "first", clientRef: "bank-1" });
    expect(exchange.ask("ann", credit)).to.include({ ok: true });
    transfer(exchange, "defund", 20);
    expect(close(exchange)).to.deep.equal({ ok: true, kind: "done" });
    const repeat = exchange.ask("ann", { ...credit, transactionId: "second" });
    expect(repeat).to.include({ ok: true, transactionId: "first" });
  });

  it("lasts over a restart, in every form of snapshots", () => {
    const exchange = funded(1_000_000);
    close(exchange);
    const state = exchange.ledger("ann");
    const id = `ledger:${state.shard}` as const;
    const order = placement("ann", exchange.request("YES 0.200 x 1"), "sub");
    const whole: unknown = JSON.parse(JSON.stringify(ledger.saveWhole(state)));
    for (const restored of [restoredCopy(ledger, id, state), ledger.restoreWhole(id, whole)]) {
      const { reply } = ledger.decide(restored, order, exchange.nowMs);
      expect(reply).to.deep.include({ results: [{ ok: false, refusal: "SUBACCOUNT_NOT_FOUND" }] });
    }
  });
});
