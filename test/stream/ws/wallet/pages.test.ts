import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ledgerShardOf } from "../../../../actors/actor.js";
import { MAX_BATCH } from "../../../../actors/limits.js";
import type { WalletSnapshot } from "../../../../actors/ledger/types.js";
import { createMarket, deposit, marketDefinition, orderRequest } from "../../../support/exchange/commands.js";
import { ActorNetwork } from "../../../support/exchange/network.js";

const BATCHES = 9;
/** Largest answer, in bytes: a page has 1,000 rows on average. */
const PAGE_BYTES = 500_000;

describe("the pages of a wallet", () => {
  const trader = randomUUID();
  const shard = ledgerShardOf(trader);
  let network: ActorNetwork;

  type Part = "balances" | { readonly page: number; readonly of: number };
  function read(part?: Part): WalletSnapshot {
    const reply = network.ledger(shard, { kind: "wallet", wallet: trader, part });
    if (reply?.ok !== true || reply.kind !== "wallet") return expect.fail("the ledger has no wallet");
    return reply.wallet;
  }

  function place(count: number): void {
    const market = marketDefinition();
    network.market(market.marketId, createMarket(market));
    const orders = Array.from({ length: count }, (_, index) =>
      orderRequest(market, { outcome: index % 2, price: 10 + (index % 40), qty: 1 }),
    );
    network.ledger(shard, { kind: "place", wallet: trader, trader, orders, atomic: false });
    network.deliverAll();
  }

  beforeEach(() => {
    network = new ActorNetwork();
    network.ledger(shard, deposit(trader, 1_000_000_000));
  });

  it("have each order once, and each answer is bounded", () => {
    for (let batch = 0; batch < BATCHES; batch += 1) place(MAX_BATCH);
    const whole = read();
    expect(whole.orders.open).to.have.length(BATCHES * MAX_BATCH);
    const { pages = 0, orders, positions } = read({ page: 0, of: 1 });
    expect(pages).to.equal(Math.ceil((BATCHES * MAX_BATCH + BATCHES) / 1_000));
    expect([orders.open, positions.positions]).to.deep.equal([[], []]);
    const parts = Array.from({ length: pages }, (_, page) => read({ page, of: pages }));
    expect(parts.flatMap((part) => part.orders.open)).to.have.deep.members(whole.orders.open);
    expect(parts.map((part) => part.pages)).to.deep.equal(parts.map(() => undefined));
    for (const part of parts) {
      expect(part.orders.seq).to.equal(whole.orders.seq);
      expect(JSON.stringify(part).length).to.be.below(PAGE_BYTES);
    }
  });

  it("are one for a small wallet, which is whole", () => {
    place(10);
    expect(read({ page: 0, of: 1 })).to.deep.equal(read());
  });

  it("are left out of the balances", () => {
    place(MAX_BATCH);
    const { balances, orders, positions, policy } = read();
    const own = read("balances");
    expect([own.balances, own.policy]).to.deep.equal([balances, policy]);
    expect(own.orders).to.deep.equal({ seq: orders.seq, open: [] });
    expect(own.positions).to.deep.equal({ seq: positions.seq, positions: [] });
  });
});
