import { expect } from "chai";
import fc from "fast-check";
import { isFillable } from "../../actors/market/book/fillable.js";
import { RestingOrders } from "../../actors/market/book/resting.js";
import { sweep } from "../../actors/market/book/sweep.js";
import { market } from "../../actors/market/market.js";
import { CURRENCIES, SELF_TRADE_MODES, type Order } from "../../actors/market/types.js";
import { contracts, ticks } from "../../actors/units.js";
import { GRID } from "../support/exchange/commands.js";
import { Scenario } from "./scenario.js";

const TRADERS = ["ann", "bob", "cat"];

const OUTCOMES = 3;
const ORDER = fc.record({
  trader: fc.constantFrom(...TRADERS),
  currency: fc.constantFrom(...CURRENCIES),
  outcome: fc.nat(OUTCOMES - 1),
  price: fc.constantFrom(200, 300, 320, 400),
  qty: fc.integer({ min: 1, max: 6 }),
});
/** Removes an order, or reduces it. */
const CHANGE = fc.record({ index: fc.nat(40), remaining: fc.nat(5) });
const TAKER = fc.record({
  trader: fc.constantFrom(...TRADERS),
  currency: fc.constantFrom(...CURRENCIES),
  outcome: fc.nat(OUTCOMES - 1),
  price: fc.constantFrom(300, 360, 600, 800),
  qty: fc.integer({ min: 1, max: 12 }),
  selfTrade: fc.constantFrom(...SELF_TRADE_MODES),
});

type Fields = Pick<Order, "trader" | "currency"> & { outcome: number; price: number; qty: number };

function orderWith(orderId: string, { trader, currency, outcome, price, qty }: Fields): Order {
  return {
    orderId,
    wallet: trader,
    trader,
    ledger: 0,
    currency,
    outcome,
    price: ticks(price),
    qty: contracts(qty),
    tif: "FOK",
    selfTrade: "wash",
    fee: { coefficientPpm: 0, makerCreditPpm: 0, charged: "ALWAYS" },
    feeReserved: true,
    acceptedTs: 0,
    expiresAt: undefined,
    notAfter: undefined,
  };
}

describe("the judgment of a FOK order", () => {
  it("agrees with the whole sweep, for any book and any order", () => {
    const verdicts = new Map<boolean, number>();
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: OUTCOMES }),
        fc.array(ORDER, { maxLength: 40 }),
        fc.array(CHANGE, { maxLength: 20 }),
        TAKER,
        (outcomes, orders, changes, { selfTrade, ...fields }) => {
          const resting = new RestingOrders(outcomes);
          for (const [n, order] of orders.entries())
            if (order.outcome < outcomes) resting.add(orderWith(`o${n}`, order), contracts(order.qty), n);
          for (const { index, remaining } of changes) {
            const order = resting.get(`o${index}`);
            if (order !== undefined && remaining < order.remaining)
              resting.reduce(order, contracts(remaining));
          }
          const taker = {
            ...orderWith("taker", { ...fields, outcome: fields.outcome % outcomes }),
            selfTrade,
          };
          const { left } = sweep(resting.ladders[taker.currency], taker, taker.qty, GRID, Infinity);
          expect(isFillable(resting, taker)).to.equal(left === 0);
          verdicts.set(left === 0, (verdicts.get(left === 0) ?? 0) + 1);
          for (const trader of TRADERS) {
            const own = [...resting.values()].filter(({ order }) => order.trader === trader);
            expect([...resting.ofTrader(trader)].reverse()).to.deep.equal(own);
          }
        },
      ),
      { numRuns: 3_000 },
    );
    expect(Math.min(...verdicts.values()), "runs of the rarer verdict").to.be.above(50);
    expect(verdicts.size).to.equal(2);
  });

  for (const [fate, qty] of [
    ["fills", 20_000],
    ["is rejected", 20_001],
  ] as const) {
    it(`of 20,000 resting orders reads only as many as a commit executes: one that ${fate}`, () => {
      const exchange = new Scenario();
      for (const trader of TRADERS) exchange.fund(trader, 1_000_000_000);
      for (let n = 0; n < 20_000; n += 1) exchange.market.resting.add(restingOrder(n), contracts(1), n);
      let read = 0;
      for (const resting of exchange.market.resting.values()) {
        const { remaining } = resting;
        Object.defineProperty(resting, "remaining", {
          get: () => {
            read += 1;
            return remaining;
          },
        });
      }
      const order = orderWith("taker", { trader: "cat", currency: "CASH", outcome: 1, price: 500, qty });
      const { deltas, unfinished } = market.decide(exchange.market, { kind: "enter", order }, exchange.nowMs);
      expect(unfinished?.map(({ kind }) => kind)).to.deep.equal(fate === "fills" ? ["take"] : []);
      expect(deltas.length).to.be.above(0);
      expect(read, "reads of a remainder").to.be.below(2_000);
    });
  }
});

function restingOrder(n: number): Order {
  const fields = { trader: TRADERS[n % 2] ?? "", currency: "CASH", outcome: 0, qty: 1 } as const;
  return { ...orderWith(`o${n}`, { ...fields, price: 500 + (n % 7) }), tif: "GTC" };
}
