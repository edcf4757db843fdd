import { expect } from "chai";
import fc from "fast-check";
import type { LedgerReply } from "../../actors/ledger/commands.js";
import type { CollateralPolicy } from "../../actors/ledger/types.js";
import { available } from "../../actors/ledger/state.js";
import { market } from "../../actors/market/market.js";
import { contracts, formatMoney, parsePrice, ticks } from "../../actors/units.js";
import { FREE } from "../support/exchange/commands.js";
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
