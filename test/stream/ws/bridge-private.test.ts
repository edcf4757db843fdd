import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ledgerActor, ledgerShardOf } from "../../../actors/actor.js";
import type { LedgerDelta } from "../../../actors/ledger/deltas.js";
import { Unavailable } from "../../../stream/log/ports.js";
import type { Disconnects } from "../../../stream/ws/ports.js";
import { type Json, type TestServer, deltasOf, serve, trader } from "./support/client.js";
import { ids, TestExchange } from "./support/exchange.js";
import { order } from "./support/order.js";
import { until } from "../../support/until.js";

const [ann = "", bob = ""] = ids(2);

describe("the bridge, for private channels and trading", () => {
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
  describe("orders and positions of the caller", () => {
    it("start with a snapshot and are sent to no other wallet", async () => {
      const { marketId, outcomes } = exchange.createMarket(2);
      const [yes = "", no = ""] = outcomes.map(({ outcomeId }) => outcomeId);
      const resting = await order(exchange, ann, yes, "0.300", 2);
      const mine = await server.connect(trader(ann));
      const theirs = await server.connect(trader(bob, { scope: "trading::read" }));
      const reply = await mine.request("subscribe", { private: ["orders", "positions"] });
      expect(reply["subscribed"]).to.deep.equal({ PRIVATE: ["orders", "positions"] });
      expect(reply["orders"]).to.deep.equal({
        seq: 1,
        open: [{ orderId: resting, marketId, outcomeId: yes, price: "0.300", qty: 2, tif: "GTC" }],
      });
      expect(reply["positions"]).to.deep.equal({ seq: 0, positions: [] });
      await theirs.request("subscribe", { private: ["orders"] });
      await order(exchange, bob, no, "0.700", 2);
      await until(() => deltasOf(mine).length === 2 && deltasOf(theirs).length === 1);
      const kinds = deltasOf(mine).map((frame) =>
        Object.keys(frame).filter((key) => key !== "ts" && key !== "delta"),
      );
      expect(kinds).to.deep.equal([["orders"], ["positions"]]);
      expect(deltasOf(mine)[0]).to.have.nested.property("orders.deltas[0].orderId", resting);
      expect(JSON.stringify(deltasOf(theirs)))
        .to.not.include(resting)
        .and.not.include("positions");
      expect(server.charges).to.deep.equal(["stream 2", "stream 1"]);
    });

    it("close the socket when some deltas are lost", async () => {
      const client = await server.connect(trader(ann));
      await client.request("subscribe", { private: ["orders"] });
      const shard = ledgerActor(ledgerShardOf(ann));
      for (let i = 0; i < 3; i += 1) {
        exchange.fund(ann);
        exchange.commit();
        exchange.tail.trim(shard, 1_000);
      }
      expect((await client.closed).code).to.equal(1012);
      expect(server.errors.splice(0)).to.have.length(1);
    });
  });

  describe("deltas that the bridge cannot fold", () => {
    const commit = (deltas: readonly object[]): void =>
      exchange.tail.commit(ledgerActor(ledgerShardOf(ann)), [{ ts: 1, deltas: deltas as LedgerDelta[] }]);

    it("close the sockets of their ledger when they are unknown, and a new socket gets a snapshot", async () => {
      const [neighbor = ""] = ids(1_000).filter((id) => ledgerShardOf(id) !== ledgerShardOf(ann));
      const [client, unaffected] = [
        await server.connect(trader(ann)),
        await server.connect(trader(neighbor)),
      ];
      for (const one of [client, unaffected]) await one.request("subscribe", { private: ["orders"] });
      commit([{ type: "loan", wallet: bob }]);
      expect(await client.closed).to.include({ code: 1012 });
      expect(server.errors.splice(0).map(String).join()).to.match(/^Error: unexpected value: .*loan/);
      const { outcomes } = exchange.createMarket(2);
      await order(exchange, ann, outcomes[0]?.outcomeId, "0.400", 1);
      const again = await server.connect(trader(ann));
      expect(await again.request("subscribe", { private: ["orders"] })).to.have.nested.property(
        "orders.seq",
        1,
      );
      await order(exchange, ann, outcomes[0]?.outcomeId, "0.450", 1);
      await until(() => deltasOf(again).length === 1);
      expect(deltasOf(again)[0]).to.have.nested.property("orders.seq", 2);
      expect(await unaffected.request("status", {})).to.have.property("status");
    });

    it("close only the sockets of their wallet when they do not fit its orders", async () => {
      const { marketId, outcomes } = exchange.createMarket(2);
      const [friend = ""] = ids(1_000).filter((id) => ledgerShardOf(id) === ledgerShardOf(ann));
      const [client, unaffected] = [await server.connect(trader(ann)), await server.connect(trader(friend))];
      for (const one of [client, unaffected]) await one.request("subscribe", { private: ["orders"] });
      const never = { type: "order", kind: "open", wallet: ann, seq: 1, orderId: "o1", marketId, qty: 1 };
      exchange.catalogFailures = 1;
      commit([never]);
      expect(await client.closed).to.include({ code: 1012 });
      const errors = server.errors.splice(0).map(String);
      expect(errors[0]).to.include("the catalog is down");
      expect(errors[1]).to.include("order o1 opened but was never accepted");
      exchange.fund(friend);
      await order(exchange, friend, outcomes[0]?.outcomeId, "0.400", 1);
      await until(() => deltasOf(unaffected).length === 1);
      expect(deltasOf(client)).to.deep.equal([]);
    });
  });

  describe("trading", () => {
    it("places and cancels, and sends the effects on the private channels", async () => {
      const { outcomes } = exchange.createMarket(2);
      const client = await server.connect(trader(ann));
      await client.request("subscribe", { private: ["orders"] });
      const clientId = randomUUID();
      const orders = [
        { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC", clientId },
        { outcomeId: outcomes[0]?.outcomeId, price: "0.450", qty: 2, tif: "GTC" },
      ];
      const { placed } = (await client.request("place", { orders })) as { placed: { orderId: string }[] };
      expect(placed).to.have.length(2);
      expect(placed[0]).to.include({ clientId });
      exchange.commit();
      const [first = "", second = ""] = placed.map(({ orderId }) => orderId);
      const unknown = randomUUID();
      expect(await client.request("cancel", { orderIds: [first, unknown] })).to.deep.equal({
        nonce: 3,
        canceled: { canceled: [first], notCanceled: [{ orderId: unknown, reason: "NOT_FOUND" }] },
      });
      expect(await client.request("cancel_all", {})).to.deep.equal({ nonce: 4, canceled_all: 1 });
      exchange.commit();
      await until(() => deltasOf(client).length === 4);
      const published = deltasOf(client).map((frame) =>
        (frame["orders"] as { deltas: Json[] }).deltas.map((d) => [d["kind"], d["orderId"]]),
      );
      expect(published).to.deep.equal([
        [["open", first]],
        [["open", second]],
        [["cancel", first]],
        [["cancel", second]],
      ]);
      expect(server.charges.slice(1)).to.deep.equal(["place 2", "cancel 2", "cancel 1"]);
    });

    it("sends fills at once while placements have no answer", async () => {
      const { outcomes } = exchange.createMarket(2);
      const [yes = "", no = ""] = outcomes.map(({ outcomeId }) => outcomeId);
      const resting = await order(exchange, ann, yes, "0.400", 3);
      const client = await server.connect(trader(ann));
      await client.request("subscribe", { private: ["orders"] });
      const place = exchange.place.bind(exchange);
      const outstanding: (() => void)[] = [];
      exchange.place = (caller, orders, atomic) =>
        caller.traderId === bob
          ? place(caller, orders, atomic)
          : new Promise((_, reject) => outstanding.push(() => reject(new Unavailable("no answer"))));
      const clients = [client, await server.connect(trader(ann))];
      for (const each of clients)
        each.send("place", { orders: [{ outcomeId: yes, price: "0.100", qty: 1, tif: "GTC" }] });
      await until(() => outstanding.length === 2);
      for (let fills = 1; fills <= 3; fills += 1) {
        await order(exchange, bob, no, "0.600", 1);
        await until(() => deltasOf(client).length === fills);
        expect(deltasOf(client).at(-1)).to.have.nested.property("orders.deltas[0].orderId", resting);
      }
      expect(client.frames.filter((frame) => frame["nonce"] !== undefined)).to.have.length(1);
      for (const end of outstanding) end();
    });

    it("passes refusals of the exchange on with their code and items", async () => {
      const { outcomes } = exchange.createMarket(2);
      const client = await server.connect(trader(ann));
      const good = { outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 1, tif: "GTC" };
      const expensive = { ...good, price: "0.600", qty: 2_000_000_000 };
      const partly = await client.request("place", { orders: [good, expensive] });
      expect(partly).to.deep.include({ nonce: 1, code: "BATCH_PARTIALLY_REJECTED" });
      expect(partly["accepted"]).to.have.length(1);
      expect(partly["rejected"]).to.deep.equal([
        { index: 1, outcomeId: good.outcomeId, reason: "INSUFFICIENT_BALANCE" },
      ]);
      const lost = await client.request("place", { orders: [{ ...good, outcomeId: randomUUID() }] });
      expect(lost).to.include({ nonce: 2, code: "OUTCOME_NOT_FOUND" });
      expect(await client.request("place", { orders: [] })).to.include({ code: "EMPTY_BATCH" });
      const orderIds = ids(257);
      expect(await client.request("cancel", { orderIds })).to.include({ code: "BATCH_TOO_LARGE" });
    });

    it("is refused for keys with the scope trading::read", async () => {
      const client = await server.connect(trader(ann, { scope: "trading::read" }));
      for (const [verb, payload] of [
        ["place", { orders: [{}] }],
        ["cancel", { orderIds: ids(1) }],
        ["cancel_all", {}],
        ["safety", { cancelOnDisconnect: true }],
      ] as const) {
        expect(await client.request(verb, payload), verb).to.include({ code: "SIGNATURE_REJECTED" });
      }
      expect(server.charges).to.deep.equal([]);
    });

    it("answers UNAVAILABLE when the exchange does not answer, and serves the next request", async () => {
      exchange.place = () => Promise.reject(new Unavailable("no answer"));
      const client = await server.connect(trader(ann));
      const place = (): Promise<unknown> => client.request("place", { orders: [{}] });
      expect(await place()).to.include({ nonce: 1, code: "UNAVAILABLE", message: "no answer" });
      exchange.place = () => Promise.reject(new Error("a bug"));
      const message = "the exchange failed; the request may or may not have taken effect";
      expect(await place()).to.include({ nonce: 2, code: "UNAVAILABLE", message });
      expect(server.errors.splice(0)).to.have.length(1);
      expect(await client.request("cancel_all", {})).to.have.property("canceled_all", 0);
    });

    it("cancels all orders on a disconnect only when the switch is armed", async () => {
      const { outcomes } = exchange.createMarket(2);
      await order(exchange, ann, outcomes[0]?.outcomeId, "0.400", 1);
      const unarmed = await server.connect(trader(ann));
      await unarmed.request("status", {});
      await unarmed.close();
      const armed = await server.connect(trader(ann));
      expect(await armed.request("safety", { cancelOnDisconnect: true })).to.deep.equal({
        nonce: 1,
        safety: { cancelOnDisconnect: true },
      });
      expect(exchange.canceledAll).to.deep.equal([]);
      expect(server.armed).to.deep.equal([ann]);
      armed.socket.terminate();
      await until(() => exchange.canceledAll.length === 1);
      expect(exchange.canceledAll).to.deep.equal(["DISCONNECTED"]);
      await until(() => exchange.wallet(ann).orders.open.length === 0);
      await until(() => server.armed.length === 0);
    });

    it("cancels at once on a disconnect, whatever its subscribes wait for", async () => {
      const armed = await server.connect(trader(ann));
      await armed.request("safety", { cancelOnDisconnect: true });
      const answers: (() => void)[] = [];
      exchange.listed = () => new Promise((resolve) => answers.push(() => resolve(new Set())));
      armed.send("subscribe", { markets: { [ann]: "book" } });
      await until(() => answers.length === 1);
      armed.socket.terminate();
      await until(() => exchange.canceledAll.length === 1);
      for (const answer of answers) answer();
      await until(() => server.armed.length === 0);
    });

    it("retries until all orders are canceled, and can be disarmed", async () => {
      const armed = await server.connect(trader(ann));
      for (const cancelOnDisconnect of [true, true, false, true]) {
        await armed.request("safety", { cancelOnDisconnect });
        expect(server.armed).to.deep.equal(cancelOnDisconnect ? [ann] : []);
      }
      const cancelAll = exchange.cancelAll.bind(exchange);
      let failures = 0;
      exchange.cancelAll = () => {
        failures += 1;
        exchange.cancelAll = cancelAll;
        return Promise.reject(new Unavailable("no answer"));
      };
      await armed.close();
      await until(() => failures === 1);
      expect(server.armed).to.deep.equal([ann]);
      await until(() => server.armed.length === 0);
      expect(exchange.canceledAll).to.deep.equal(["DISCONNECTED"]);
      expect(server.errors.splice(0)).to.have.length(1);
    });

    it("arms the wallet again after a disarm of unknown outcome", async () => {
      const calls: string[] = [];
      let failures = 1;
      const disconnects: Disconnects = {
        arm: () => {
          calls.push("arm");
          return Promise.resolve(() => {
            calls.push("disarm");
            failures -= 1;
            return failures < 0 ? Promise.resolve() : Promise.reject(new Unavailable("no answer"));
          });
        },
      };
      await server.close();
      server = await serve(exchange, { disconnects });
      const armed = await server.connect(trader(ann));
      const answers = [];
      for (const cancelOnDisconnect of [true, false, true, false])
        answers.push(await armed.request("safety", { cancelOnDisconnect }));
      expect(answers.map((answer) => answer["code"])).to.deep.equal([
        undefined,
        "UNAVAILABLE",
        undefined,
        undefined,
      ]);
      expect(calls).to.deep.equal(["arm", "disarm", "arm", "disarm", "disarm"]);
    });

    it("closes the armed sockets of a gateway that lost its lease", async () => {
      const armed = await server.connect(trader(ann));
      const other = await server.connect(trader(ann));
      await armed.request("safety", { cancelOnDisconnect: true });
      server.bridge.closeArmed();
      expect(await armed.closed).to.include({ code: 1012 });
      expect(await other.request("status", {})).to.have.property("status");
    });
  });
});
