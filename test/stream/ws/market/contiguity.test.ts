import { expect } from "chai";
import fc from "fast-check";
import { formatPrice } from "../../../../actors/units.js";
import { type Client, Mirror, serve, type TestServer, trader } from "../support/client.js";
import { TestExchange } from "../support/exchange.js";
import { flow, type Step, take, TRADERS } from "../support/flow.js";
import { randomOf } from "../support/random.js";
import { until } from "../../../support/until.js";

const [ann = ""] = TRADERS;

/** Compares the mirror of a market with the market itself. */
function compare(exchange: TestExchange, mirror: Mirror, marketId: string): void {
  const { definition, status, lifecycleSeq, books, resting } = exchange.state(marketId);
  const outcomeIds = definition?.outcomes.map(({ outcomeId }) => outcomeId) ?? [];
  const { seqs } = books.CASH;
  const ladders = resting.ladders.CASH;
  const mirrored = mirror.markets.get(marketId);
  expect(mirrored?.status).to.equal(status);
  expect(mirrored?.seqs).to.deep.equal({ lifecycle: lifecycleSeq, ...seqs });
  expect(mirror.book(marketId, outcomeIds)).to.deep.equal(
    ladders.map((ladder) =>
      [...ladder.orders()].map(
        ({ order, remaining }) => `${order.orderId}:${formatPrice(order.price)}:${remaining}`,
      ),
    ),
  );
  ladders.forEach(({ best }, outcome) => {
    const level = best === undefined ? null : { price: formatPrice(best.price), qty: best.qty };
    expect(mirrored?.bbo.get(outcomeIds[outcome] ?? "")).to.deep.equal(level);
  });
}

function isCurrent(exchange: TestExchange, mirror: Mirror, marketIds: readonly string[]): boolean {
  const { orders, positions } = exchange.wallet(ann);
  if (mirror.seqs["orders"] !== orders.seq || mirror.seqs["positions"] !== positions.seq) return false;
  return marketIds.every((marketId) => {
    const { books, lifecycleSeq } = exchange.state(marketId);
    const seqs = mirror.markets.get(marketId)?.seqs;
    const { book, bbo, trades } = books.CASH.seqs;
    return (
      seqs?.["book"] === book &&
      seqs["bbo"] === bbo &&
      seqs["trades"] === trades &&
      seqs["lifecycle"] === lifecycleSeq
    );
  });
}

const ALL = ["book", "bbo", "trades"];

describe("snapshot and deltas", () => {
  let server: TestServer;

  it("join without a gap for every socket, whenever it subscribes, leaves and resumes", async function () {
    this.timeout(60_000);
    let resumes = 0;
    await fc.assert(
      fc.asyncProperty(flow, flow, fc.infiniteStream(fc.nat(1_000)), async (first, second, stream) => {
        const random = randomOf(stream);
        const exchange = new TestExchange(random);
        server = await serve(exchange);
        const markets = [exchange.createMarket(2), exchange.createMarket(3)];
        const marketIds = markets.map(({ marketId }) => marketId);
        for (const traderId of TRADERS) exchange.fund(traderId);
        const steps = [...first, ...second].map((step): [string, Step] => [marketIds[random(2)] ?? "", step]);
        const watchers: { client: Client; mirror: Mirror; subscribed: Promise<unknown> }[] = [];
        const begin = async (mirror: Mirror, since: object | undefined): Promise<void> => {
          const client = await server.connect(trader(ann));
          const select = (channels: unknown): object => ({
            markets: Object.fromEntries(marketIds.map((marketId) => [marketId, channels])),
            private: ["orders", "positions"],
          });
          const subscribed =
            since === undefined
              ? client
                  .request("subscribe", { ...select("bbo"), private: ["orders"] })
                  .then(() => client.request("subscribe", select(ALL)))
              : client.request("subscribe", { ...select(ALL), since });
          watchers.push({ client, mirror, subscribed });
        };
        for (const [index, [marketId, step]] of steps.entries()) {
          if (index % 15 === 0) await begin(new Mirror(), undefined);
          if (index % 20 === 19) {
            const left = watchers.shift();
            await left?.subscribed;
            left?.client.socket.terminate();
            await left?.client.closed;
            left?.mirror.catchUp(left.client);
            const since = new Map<string, unknown>(Object.entries(left?.mirror.seqs ?? {}));
            for (const [id, { seqs }] of left?.mirror.markets ?? []) since.set(`market:${id}`, seqs);
            if (left !== undefined) await begin(left.mirror, Object.fromEntries(since));
          }
          await take(exchange, marketId, step);
          if (random(4) === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        exchange.commit();
        for (const { client, mirror, subscribed } of watchers) {
          const reply = (await subscribed) as { resumed?: Record<string, unknown> };
          expect(reply).to.have.property("subscribed");
          for (const resumed of Object.values(reply.resumed ?? {})) {
            const channels = typeof resumed === "object" ? Object.values(resumed ?? {}) : [resumed];
            expect(
              channels.every((channel) => channel === true),
              JSON.stringify(reply.resumed),
            ).to.equal(true);
            resumes += channels.length;
          }
          await until(() => {
            mirror.catchUp(client);
            return isCurrent(exchange, mirror, marketIds);
          });
          for (const marketId of marketIds) compare(exchange, mirror, marketId);
          const { orders, positions } = exchange.wallet(ann);
          const open = orders.open
            .filter(({ status }) => status === "OPEN")
            .map(({ orderId, qty }) => [orderId, qty]);
          expect([...mirror.orders].map(([orderId, order]) => [orderId, order["qty"]])).to.have.deep.members(
            open,
          );
          expect(mirror.positions.size).to.equal(positions.positions.length);
        }
        expect(server.errors).to.deep.equal([]);
        for (const { client } of watchers) client.socket.terminate();
        await server.close();
      }),
      { numRuns: 12 },
    );
    expect(resumes).to.be.above(0);
  });
});
