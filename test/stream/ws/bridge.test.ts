import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { marketActor } from "../../../actors/actor.js";
import type { MarketDelta } from "../../../actors/market/deltas.js";
import { Unavailable } from "../../../stream/log/ports.js";
import { LongWork } from "../../../stream/services/long-work.js";
import { type Json, type TestServer, deltasOf, Mirror, serve, trader } from "./support/client.js";
import { ids, TestExchange } from "./support/exchange.js";
import { order } from "./support/order.js";
import { until } from "../../support/until.js";

const [ann = "", bob = ""] = ids(2);

describe("the bridge", () => {
  let exchange: TestExchange;
  let server: TestServer;

  beforeEach(async () => {
    exchange = new TestExchange();
    for (const traderId of [ann, bob]) exchange.fund(traderId);
    server = await serve(exchange);
  });

  afterEach(async () => {
    await server.close();
    expect(server.errors).to.deep.equal([]);
  });
  describe("subscribe", () => {
    it("answers with a snapshot of every channel, then sends deltas, in the shapes of the contract", async () => {
      const { marketId, eventId, outcomes } = exchange.createMarket(2);
      const [yes = "", no = ""] = outcomes.map(({ outcomeId }) => outcomeId);
      const first = await order(exchange, ann, yes, "0.600", 10);
      const client = await server.connect(trader(bob));
      const before = Date.now();
      const reply = await client.request("subscribe", { markets: { [marketId]: ["book", "bbo", "trades"] } });
      expect(reply["ts"]).to.be.within(before, Date.now());
      expect(reply).to.deep.include({
        nonce: 1,
        subscribed: { [`market:${marketId}`]: ["lifecycle", "trades", "bbo", "book"] },
        snapshot: {
          [marketId]: {
            eventId,
            lifecycle: { seq: 1, status: "OPEN" },
            trades: { seq: 0, trades: [] },
            bbo: { seq: 1, bbo: { [yes]: { price: "0.600", qty: 10 }, [no]: null } },
            book: { seq: 1, orders: { [yes]: [{ orderId: first, price: "0.600", qty: 10 }], [no]: [] } },
          },
        },
      });
      expect(server.charges).to.deep.equal(["stream 28"]);

      const second = await order(exchange, bob, no, "0.500", 4);
      exchange.operate(marketId, { kind: "lifecycle", actions: ["pause"] });
      exchange.commit();
      await until(() => deltasOf(client).length === 2);
      const [match = {}, pause] = deltasOf(client);
      const { trades } = (match["delta"] as Record<string, { trades: { deltas: Json[] } }>)[marketId] ?? {
        trades: { deltas: [] },
      };
      const { tradeId, matchId } = trades.deltas[0] ?? {};
      expect(second).to.match(/^[0-9a-f-]{36}$/);
      expect([tradeId, matchId].every((id) => typeof id === "string")).to.equal(true);
      expect(match).to.deep.equal({
        ts: match["ts"],
        delta: {
          [marketId]: {
            eventId,
            trades: {
              seq: 1,
              deltas: [{ tradeId, matchId, outcomeId: yes, price: "0.600", qty: 4, ts: match["ts"] }],
            },
            bbo: { seq: 2, deltas: [{ outcomeId: yes, bbo: { price: "0.600", qty: 6 } }] },
            book: { seq: 2, deltas: [{ kind: "update", orderId: first, remaining: 6 }] },
          },
        },
      });
      expect(pause?.["delta"]).to.deep.equal({
        [marketId]: { eventId, lifecycle: { seq: 2, deltas: [{ kind: "PAUSE", status: "OPEN" }] } },
      });
    });

    it("sends each socket its own channels, and continues an added channel from its snapshot", async () => {
      const { marketId, outcomes } = exchange.createMarket(2);
      const [bbo, book, lifecycle] = await Promise.all([
        server.connect(trader(ann)),
        server.connect(trader(bob)),
        server.connect(trader(bob)),
      ]);
      await bbo.request("subscribe", { markets: { [marketId]: "bbo" } });
      await book.request("subscribe", { markets: { [marketId]: "book" } });
      await lifecycle.request("subscribe", { markets: { [marketId]: "lifecycle" } });
      await order(exchange, ann, outcomes[0]?.outcomeId, "0.400", 1);
      await until(() => deltasOf(bbo).length === 1 && deltasOf(book).length === 1);
      const added = await bbo.request("subscribe", { markets: { [marketId]: "book" } });
      expect((added["snapshot"] as Json)[marketId]).to.have.nested.property("book.seq", 1);
      await order(exchange, ann, outcomes[0]?.outcomeId, "0.450", 1);
      await until(() => deltasOf(bbo).length === 2 && deltasOf(book).length === 2);
      const channels = (frame: Json | undefined): string[] =>
        Object.keys((frame?.["delta"] as Record<string, object>)[marketId] ?? {}).filter(
          (key) => key !== "eventId",
        );
      expect(deltasOf(bbo).map(channels)).to.deep.equal([
        ["bbo"],
        ["book", "bbo"].sort((a, b) => b.length - a.length),
      ]);
      expect(deltasOf(book).map(channels)).to.deep.equal([["book"], ["book"]]);
      expect(deltasOf(lifecycle)).to.deep.equal([]);
    });

    it("keeps the currencies apart and marks objects of the COIN book", async () => {
      const { marketId, outcomes } = exchange.createMarket(2);
      exchange.fund(ann, "COIN");
      const [yes = "", no = ""] = outcomes.map(({ outcomeId }) => outcomeId);
      const first = await order(exchange, ann, yes, "0.300", 2, { currency: "COIN" });
      const client = await server.connect(trader(ann));
      const reply = await client.request("subscribe", {
        markets: { [marketId]: ["book", "bbo"] },
        currency: "COIN",
      });
      expect((reply["snapshot"] as Json)[marketId]).to.deep.include({
        book: {
          seq: 1,
          currency: "COIN",
          orders: { [yes]: [{ orderId: first, price: "0.300", qty: 2, currency: "COIN" }], [no]: [] },
        },
        bbo: {
          seq: 1,
          currency: "COIN",
          bbo: { [yes]: { price: "0.300", qty: 2, currency: "COIN" }, [no]: null },
        },
      });
      await order(exchange, ann, yes, "0.400", 1);
      await order(exchange, ann, no, "0.200", 1, { currency: "COIN" });
      await until(() => deltasOf(client).length === 1);
      expect(deltasOf(client)[0]?.["delta"]).to.have.nested.property(`${marketId}.book.currency`, "COIN");
      expect(deltasOf(client)[0]?.["delta"]).to.have.nested.property(`${marketId}.book.seq`, 2);
      await client.request("subscribe", { markets: { [marketId]: "book" } });
      exchange.operate(marketId, { kind: "lifecycle", actions: ["clear"] });
      exchange.commit();
      await until(() => deltasOf(client).length === 3);
      const [cash, coin] = deltasOf(client)
        .slice(1)
        .map((frame) => (frame["delta"] as Record<string, Record<string, Json>>)[marketId] ?? {});
      expect(cash?.["book"]).to.deep.include({ seq: 2 }).and.not.have.property("currency");
      expect(coin?.["book"]).to.deep.include({ seq: 3, currency: "COIN" });
      expect(coin?.["bbo"]).to.deep.include({ seq: 3, currency: "COIN" });
      const status = await client.request("status", {});
      expect(status["status"]).to.deep.equal({
        selection: { markets: { [marketId]: ["lifecycle", "book"] }, events: {}, private: [] },
        coin: { markets: { [marketId]: ["lifecycle", "bbo", "book"] }, events: {}, currency: "COIN" },
        watchedMarkets: 1,
        maxWatchedMarkets: 2_048,
        tokens: 100,
      });
    });

    it("covers the markets of an event, and later ones from their first delta", async () => {
      const { marketId, eventId } = exchange.createMarket(2);
      const client = await server.connect(trader(bob));
      const reply = await client.request("subscribe", { events: { [eventId]: ["book", "lifecycle"] } });
      expect(Object.keys(reply["snapshot"] as Json)).to.deep.equal([marketId]);
      await client.request("snapshot", { events: { [eventId]: "bbo" } });
      const later = exchange.createMarket(2, eventId);
      await order(exchange, ann, later.outcomes[0]?.outcomeId, "0.400", 1);
      await order(exchange, ann, later.outcomes[1]?.outcomeId, "0.400", 1);
      await until(() => deltasOf(client).length === 3);
      expect(deltasOf(client).map((frame) => (frame["delta"] as Json)[later.marketId])).to.deep.include({
        eventId,
        lifecycle: { seq: 1, deltas: [{ kind: "OPEN", status: "OPEN" }] },
      });
      const mirror = new Mirror();
      mirror.catchUp(client);
      expect(mirror.markets.get(later.marketId)?.seqs).to.deep.equal({ lifecycle: 1, book: 2 });
      exchange.createMarket(2);
      exchange.announce(later.marketId);
      expect(await client.request("unsubscribe", [`event:${eventId}`])).to.deep.equal({
        nonce: 3,
        unsubscribed: { [`event:${eventId}`]: ["lifecycle", "book"] },
      });
      // After the unsubscribe the bridge no longer reads the catalog: a read would fail and be reported.
      exchange.catalogFailures = 1;
      exchange.createMarket(2, eventId);
      exchange.commit();
      const status = await client.request("status", {});
      expect(status["status"]).to.include({ watchedMarkets: 0 });
      expect(deltasOf(client)).to.have.length(3);
    });

    it("closes a socket when a new market of its event cannot be loaded", async () => {
      const { eventId } = exchange.createMarket(2);
      const client = await server.connect(trader(bob));
      await client.request("subscribe", { events: { [eventId]: "book" } });
      const later = exchange.createMarket(2, randomUUID());
      server.replicas.acquire = () => Promise.reject(new Unavailable("no answer"));
      exchange.market = () => Promise.resolve({ ...later, eventId });
      exchange.announce(later.marketId);
      expect((await client.closed).code).to.equal(1012);
      expect(server.errors.splice(0)).to.have.length(1);
    });

    it("refuses wrong selections, and then watches nothing", async () => {
      const { marketId, eventId } = exchange.createMarket(2);
      const client = await server.connect(trader(bob));
      const code = async (payload: object): Promise<unknown> =>
        (await client.request("subscribe", payload))["code"];
      expect(await code({})).to.equal("EMPTY_SELECTION");
      expect(await code({ markets: {}, events: {}, private: [] })).to.equal("EMPTY_SELECTION");
      expect(await code({ markets: { [marketId]: "book", [randomUUID()]: "book" } })).to.equal(
        "MARKET_NOT_FOUND",
      );
      expect(await code({ events: { [eventId]: "book", [randomUUID()]: "book" } })).to.equal(
        "EVENT_NOT_FOUND",
      );
      await order(exchange, ann, exchange.state(marketId).definition?.outcomes[0]?.outcomeId, "0.400", 1);
      expect(await client.request("status", {})).to.have.nested.property("status.watchedMarkets", 0);
      expect(deltasOf(client)).to.deep.equal([]);
    });

    it("counts an event as its markets against the cap", async () => {
      const { eventId, marketId } = exchange.createMarket(2);
      exchange.marketsOf = () => Promise.resolve([marketId, ...ids(2_048)]);
      const client = await server.connect(trader(bob));
      const reply = await client.request("subscribe", { events: { [eventId]: "lifecycle" } });
      expect(reply).to.include({ nonce: 1, code: "SUBSCRIPTION_LIMIT_EXCEEDED" });
      exchange.marketsOf = () => Promise.resolve([marketId, ...ids(2_047)]);
      const accepted = await client.request("subscribe", { events: { [eventId]: "book" } });
      expect(accepted).to.have.property("subscribed");
      expect(server.charges).to.deep.equal(["stream 512"]);
    });
  });

  it("closes the sockets of a market that lost deltas, and serves new sockets", async () => {
    const { marketId } = exchange.createMarket(2);
    const watching = await server.connect(trader(ann));
    const other = await server.connect(trader(bob));
    await watching.request("subscribe", { markets: { [marketId]: "book" } });
    for (const action of ["pause", "resume", "pause"] as const) {
      exchange.operate(marketId, { kind: "lifecycle", actions: [action] });
      exchange.commit();
      exchange.tail.trim(marketActor(marketId), 1_000);
    }
    expect((await watching.closed).code).to.equal(1012);
    const again = await other.request("subscribe", { markets: { [marketId]: "book" } });
    expect(again).to.have.nested.property(`snapshot.${marketId}.lifecycle.seq`, 4);
  });

  it("closes the sockets of a market with an unknown delta, and refuses the market until it is reloaded", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    const other = exchange.createMarket(2);
    const watching = await server.connect(trader(ann));
    const unaffected = await server.connect(trader(bob));
    await watching.request("subscribe", { markets: { [marketId]: "lifecycle" } });
    await unaffected.request("subscribe", { markets: { [other.marketId]: "book" } });
    exchange.loadFailures = 1_000;
    const unknown = { type: "auction", seq: 2 } as unknown as MarketDelta;
    exchange.tail.commit(marketActor(marketId), [{ ts: 1, deltas: [unknown] }]);
    expect(await watching.closed).to.include({ code: 1012 });
    expect(deltasOf(watching)).to.deep.equal([]);

    const again = await server.connect(trader(ann));
    for (const verb of ["subscribe", "snapshot"]) {
      const refused = await again.request(verb, { markets: { [marketId]: "book" } });
      expect(refused, verb).to.include({ code: "UNAVAILABLE" });
    }
    expect(await again.request("status", {})).to.have.nested.property("status.watchedMarkets", 0);
    exchange.loadFailures = 0;
    await until(() => server.errors.length >= 2);
    await order(exchange, ann, outcomes[0]?.outcomeId, "0.400", 3);
    const answer = await until(
      () => again.request("subscribe", { markets: { [marketId]: "book" } }),
      ({ code }) => code === undefined,
    );
    expect(answer).to.have.nested.property(`snapshot.${marketId}.book.seq`, 1);
    await order(exchange, ann, outcomes[0]?.outcomeId, "0.450", 1);
    await until(() => deltasOf(again).length === 1);
    expect(deltasOf(again)[0]?.["delta"]).to.have.nested.property(`${marketId}.book.seq`, 2);

    const [first, ...others] = server.errors.splice(0).map(String);
    expect(first).to.match(/^Error: unexpected value: .*auction/);
    expect(others.every((error) => error.includes("the state cannot be read"))).to.equal(true);
    expect(await unaffected.request("status", {})).to.have.nested.property("status.watchedMarkets", 1);
  });

  it("answers a snapshot without changing subscriptions", async () => {
    const { marketId } = exchange.createMarket(2);
    const client = await server.connect(trader(bob));
    const reply = await client.request("snapshot", { markets: { [marketId]: "book" }, private: ["orders"] });
    expect(reply).to.have.nested.property(`snapshot.${marketId}.book.seq`, 0);
    expect(reply["orders"]).to.deep.equal({ seq: 0, open: [] });
    expect(reply).to.not.have.property("subscribed");
    exchange.operate(marketId, { kind: "lifecycle", actions: ["pause"] });
    exchange.commit();
    const status = await client.request("status", {});
    expect(status).to.have.nested.property("status.watchedMarkets", 0);
    expect(deltasOf(client)).to.deep.equal([]);
  });

  describe("a large answer", () => {
    const line = `stream ${bob}`;
    const bounds = { most: 1_000, waitMs: 60_000 };
    let longWork: LongWork;
    let end: () => void;

    beforeEach(async () => {
      longWork = new LongWork();
      await server.close();
      server = await serve(exchange, { longWork });
      void longWork.run(line, bounds, () => new Promise<void>((resolve) => (end = resolve)));
    });

    it("waits for those of its trader before it is prepared, and is dropped with its socket", async () => {
      const { marketId } = exchange.createMarket(2);
      const client = await server.connect(trader(bob));
      const nonce = client.send("subscribe", { markets: { [marketId]: "book" } });
      await until(() => longWork.lengthOf(line) === 2);
      const other = await server.connect(trader(bob));
      other.send("snapshot", { markets: { [marketId]: "book" } });
      await until(() => longWork.lengthOf(line) === 3);
      expect(server.replicas.has(marketId)).to.equal(false);
      other.socket.terminate();
      await until(() => longWork.lengthOf(line) === 2);
      end();
      await client.next((frame) => frame["nonce"] === nonce);
      expect(server.charges).to.have.length(1);
    });

    it("is refused when too many wait, and lets a small one pass", async () => {
      const { marketId } = exchange.createMarket(2);
      const warm = await server.connect(trader(ann));
      await warm.request("subscribe", { markets: { [marketId]: "book" } });
      const waiting = Array.from({ length: 31 }, () => longWork.run(line, bounds, () => Promise.resolve()));
      const client = await server.connect(trader(bob));
      const refusal = await client.request("snapshot", { private: ["orders"] });
      expect(refusal).to.include({ code: "UNAVAILABLE" });
      expect(await client.request("subscribe", { markets: { [marketId]: "book" } })).to.have.property(
        "subscribed",
      );
      end();
      await Promise.all(waiting);
    });
  });

  it("drops subjects and answers which were watched", async () => {
    const one = exchange.createMarket(2);
    const two = exchange.createMarket(2);
    const client = await server.connect(trader(ann));
    await client.request("subscribe", {
      markets: { [one.marketId]: "book", [two.marketId]: "book" },
      events: { [one.eventId]: "bbo" },
      private: ["orders", "positions"],
    });
    const subjects = [`market:${one.marketId}`, "PRIVATE", `market:${randomUUID()}`];
    expect((await client.request("unsubscribe", subjects))["unsubscribed"]).to.deep.equal({
      [`market:${one.marketId}`]: ["lifecycle", "book"],
      PRIVATE: ["orders", "positions"],
    });
    expect(server.charges.at(-1)).to.equal("stream 3");
    const { status } = (await client.request("status", {})) as {
      status: { watchedMarkets: number; selection: Json };
    };
    expect(status.watchedMarkets).to.equal(2);
    expect(status.selection["private"]).to.deep.equal([]);
    await order(exchange, ann, one.outcomes[0]?.outcomeId, "0.400", 1);
    await until(() => deltasOf(client).length > 0);
    expect(
      deltasOf(client).map((frame) =>
        Object.keys((frame["delta"] as Record<string, Json>)[one.marketId] ?? {}),
      ),
    ).to.deep.equal([["eventId", "bbo"]]);
  });

  it("answers pages of the catalog", async () => {
    const client = await server.connect(trader(ann));
    expect(await client.request("query_markets", { league: "NBA" })).to.deep.equal({
      nonce: 1,
      markets: { items: ["a market"], asOf: null },
    });
    expect(await client.request("query_events", {})).to.include({ nonce: 2, code: "INVALID_QUERY" });
    expect(server.charges).to.deep.equal(["read 1", "read 1"]);
  });
});
