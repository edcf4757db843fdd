import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ledgerShardOf } from "../../actors/actor.js";
import type { LedgerDelta } from "../../actors/ledger/deltas.js";
import type { MarketDelta } from "../../actors/market/deltas.js";
import {
  createMarket,
  deposit,
  FEE,
  marketDefinition,
  orderRequest,
  placement,
} from "../support/exchange/commands.js";
import { ActorNetwork } from "../support/exchange/network.js";

/** Seqs that an actor skips after ten years without an entry. */
const COUNT = 10 * 365 * 86_400_000 * 100;

/** Ids that no two events may share. */
function idsOf(delta: MarketDelta | LedgerDelta): readonly string[] {
  if (delta.type === "entry") return [delta.transactionId];
  if (delta.type === "trade") return [delta.tradeId, `match ${delta.matchId}`];
  return delta.type === "order" && delta.kind === "fill" && !("seq" in delta) ? [delta.fillId] : [];
}

describe("an actor whose log may have lost entries", () => {
  it("goes on above every seq and every id that it may have sent", () => {
    const seqs: number[][] = [];
    const ids: string[] = [];
    const network = new ActorNetwork({
      onBatch: (_actor, { deltas }) => {
        for (const delta of deltas) {
          if ("seq" in delta) seqs.push([delta.seq]);
          ids.push(...idsOf(delta));
        }
      },
    });
    const market = marketDefinition({ fee: FEE });
    const [ann, bob] = [randomUUID(), randomUUID()];
    const trade = (): void => {
      for (const [trader, outcome] of [
        [ann, 0],
        [bob, 1],
      ] as const) {
        const order = orderRequest(market, { outcome, price: 500, qty: 3 });
        network.ledger(ledgerShardOf(trader), placement(trader, order));
        network.deliverAll();
      }
    };
    network.market(market.marketId, createMarket(market));
    for (const trader of [ann, bob]) network.ledger(ledgerShardOf(trader), deposit(trader, 1_000_000));
    trade();
    const before = seqs.flat();
    seqs.length = 0;

    network.market(market.marketId, { kind: "skip", count: COUNT });
    for (const shard of new Set([ann, bob].map(ledgerShardOf)))
      network.ledger(shard, { kind: "skip", count: COUNT });
    const snapshot = network.ledger(ledgerShardOf(ann), { kind: "wallet", wallet: ann });
    expect(snapshot).to.have.nested.property("wallet.orders.seq").above(COUNT);
    trade();
    expect(seqs.length).to.be.above(5);
    expect(Math.min(...seqs.flat())).to.be.above(COUNT);
    expect(Math.max(...seqs.flat())).to.be.below(COUNT + Math.max(...before) + 20);
    const fills = ids.filter((id) => !id.startsWith("match "));
    expect(new Set(fills).size).to.equal(fills.length);
    expect(new Set(ids.filter((id) => id.startsWith("match "))).size, "matches").to.equal(2);
  });

  it("does not number a market that does not exist", () => {
    const network = new ActorNetwork();
    const { marketId } = marketDefinition();
    network.market(marketId, { kind: "skip", count: COUNT });
    expect(network.marketOf(marketId).emitted.flatMap(({ deltas }) => deltas)).to.deep.equal([]);
  });
});
