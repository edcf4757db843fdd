import { crc32 } from "node:zlib";
import { expect } from "chai";
import fc from "fast-check";
import { marketActor } from "../../../../actors/actor.js";
import { market } from "../../../../actors/market/market.js";
import { createMarket } from "../../../../actors/market/state.js";
import { CURRENCIES } from "../../../../actors/market/types.js";
import { formatPrice } from "../../../../actors/units.js";
import { PublicMarket } from "../../../../stream/ws/market/public-market.js";
import { publicBatch } from "../../../../stream/ws/wire.js";
import { maskOf } from "../../../../stream/ws/channels.js";
import { flow, FLOW_LENGTH, play } from "../support/flow.js";
import { TestExchange } from "../support/exchange.js";
import type { Entry } from "../../../../stream/log/ports.js";
import type { MarketDelta } from "../../../../actors/market/deltas.js";

const ALL = ["lifecycle", "trades", "bbo", "book"] as const;

describe("the public state of a market", () => {
  it("equals the market when folded from any point on", async () => {
    await fc.assert(
      fc.asyncProperty(
        flow,
        fc.integer({ min: 2, max: 3 }),
        fc.nat(FLOW_LENGTH),
        async (steps, outcomes, from) => {
          const exchange = new TestExchange();
          const { marketId } = exchange.createMarket(outcomes);
          const actor = marketActor(marketId);
          const entries: Entry<MarketDelta>[] = [];
          exchange.tail.follow<MarketDelta>(
            actor,
            0,
            (some) => entries.push(...some),
            () => expect.fail(),
          );
          await play(exchange, marketId, steps);
          exchange.commit();
          await new Promise((resolve) => setImmediate(resolve));

          const state = createMarket(actor);
          const early = entries.slice(0, 1 + from);
          const late = entries.slice(1 + from);
          for (const { batches } of early) {
            for (const { ts, deltas } of batches) for (const delta of deltas) market.evolve(state, delta, ts);
          }
          const definition = exchange.state(marketId).definition;
          if (definition === undefined) throw new Error("the market was not created");
          const replica = new PublicMarket(state, definition);
          for (const { batches } of late) {
            for (const batch of batches) replica.apply(batch.deltas, publicBatch(definition, batch));
          }

          const truth = exchange.state(marketId);
          expect(replica.status).to.equal(truth.status);
          expect(replica.seq("lifecycle", "CASH")).to.equal(truth.lifecycleSeq);
          for (const currency of CURRENCIES) {
            const book = truth.books[currency];
            for (const channel of ["book", "bbo", "trades"] as const) {
              expect(replica.seq(channel, currency), channel).to.equal(book.seqs[channel]);
            }
            const orders = truth.resting.ladders[currency].map((ladder) =>
              [...ladder.orders()].map(({ order, remaining }) => ({
                orderId: order.orderId,
                price: order.price,
                qty: remaining,
              })),
            );
            expect(replica.book(currency)).to.deep.equal({ seq: book.seqs.book, orders, hasMore: false });
            const ladders = truth.resting.ladders[currency].map((ladder) =>
              [...ladder.orders()].map(({ order, remaining }) => ({
                orderId: order.orderId,
                price: order.price,
                qty: remaining,
                originalQty: order.qty,
                acceptedTs: order.acceptedTs,
              })),
            );
            expect(replica.ladders(currency)).to.deep.equal(ladders);
            expect(replica.last(currency)).to.deep.equal(book.last);
            expect(replica.volume(currency)).to.equal(book.volume);
            const best = truth.resting.ladders[currency].map(({ best: level }) =>
              level === undefined ? null : { price: level.price, qty: level.qty },
            );
            expect(replica.bbo(currency)).to.deep.equal(best);
            const text = orders
              .flat()
              .map(({ orderId, price, qty }) => `${orderId}:${formatPrice(price)}:${qty}`);
            const heartbeat = JSON.parse(replica.heartbeat(maskOf(ALL, currency), currency)) as Record<
              string,
              number
            >;
            expect(heartbeat["checksum"]).to.equal(crc32(text.join("|")));
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it("has the last 50 batches of trades in its snapshot", () => {
    const exchange = new TestExchange();
    const definition = exchange.createMarket(2);
    const replica = new PublicMarket(exchange.state(definition.marketId), definition);
    const ts = 1;
    for (let seq = 1; seq <= 60; seq += 1) {
      const deltas = [
        {
          type: "trade",
          seq,
          currency: "CASH",
          tradeId: `t${seq}`,
          matchId: "m",
          outcome: 0,
          price: 500,
          qty: 1,
        },
      ] as unknown as MarketDelta[];
      replica.apply(deltas, publicBatch(definition, { ts, deltas }));
    }
    const snapshot = JSON.parse(replica.snapshot(maskOf(["trades"], "CASH"), "CASH")) as {
      eventId: string;
      trades: { seq: number; trades: { seq: number; deltas: object[] }[] };
      lifecycle: object;
    };
    expect(snapshot.eventId).to.equal(definition.eventId);
    expect(snapshot.trades.seq).to.equal(60);
    expect(snapshot.trades.trades.map(({ seq }) => seq)).to.deep.equal(
      Array.from({ length: 50 }, (_, i) => 11 + i),
    );
    expect(snapshot.trades.trades[49]?.deltas).to.deep.equal([
      {
        tradeId: "t60",
        matchId: "m",
        outcomeId: definition.outcomes[0]?.outcomeId,
        price: "0.500",
        qty: 1,
        ts,
      },
    ]);
    expect(snapshot.lifecycle).to.deep.equal({
      seq: exchange.state(definition.marketId).lifecycleSeq,
      status: "OPEN",
    });
  });
});
