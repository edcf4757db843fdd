import { expect } from "chai";
import { Signer } from "../../../http/client/client.js";
import { StreamClient } from "../../../http/client/stream/stream.js";
import {
  BookOrder,
  Canceled,
  CanceledAll,
  Fill,
  Market,
  Order,
  Placed,
  Position,
  Transaction,
} from "../../../http/surface-b/schemas.js";
import { LogGuard } from "../../../stream/services/log-guard.js";
import { newTrader } from "../../support/traders.js";
import { EmmClient, newClient, operate } from "./client.js";
import { bids, idOf, NOWHERE, place, startSurface, type Surface, type Fixture } from "./surface.js";
import { until } from "../../support/until.js";

describe("trading on surface B", function () {
  this.timeout(60_000);
  let stack: Surface["stack"];
  let taker: Surface["taker"];
  let emm: Surface["emm"];
  let other: Surface["other"];
  let onA: Surface["onA"];
  let newFixture: Surface["newFixture"];
  let booked: Surface["booked"];

  before(async () => {
    ({ stack, taker, emm, other, onA, newFixture, booked } = await startSurface());
  });
  after(() => stack.stop());

  describe("agrees with surface A", () => {
    it("on orders placed on A and read on B, and on orders placed on B and streamed on A", async () => {
      const { eventId, marketId, over, under } = await newFixture();
      const private_: string[] = [];
      const stream = new StreamClient(stack.connect(), new Signer(taker.trading.key, stack.brand), {
        orders: (deltas) => private_.push(...deltas.map(({ kind, orderId }) => `${kind} ${orderId}`)),
      });
      await stream.connect();
      try {
        await stream.subscribe({ markets: { [marketId]: "book" }, private: ["orders"] });
        const placedOnA = await onA.placeOrder({ outcomeId: over, price: "0.400", qty: 50, tif: "GTC" });
        const [seen] = await until(
          () => booked(eventId),
          ([first]) => bids(first, over).length === 1,
        );
        expect(bids(seen, over)[0]).to.include({ id: placedOnA.orderId, price: 0.4, qty: 50 });

        await place(emm, { outcomeId: under, price: 0.35, qty: 20, currency: "CASH" });
        await until(
          () => Promise.resolve(stream.book(marketId)?.best(under)),
          (best) => best?.price === "0.350" && best.qty === 20,
        );
        const filling = idOf(
          await place(emm, { outcomeId: under, price: 0.6, qty: 50, currency: "CASH", tif: "IOC" }),
        );
        await until(
          () => Promise.resolve(private_),
          (deltas) => deltas.includes(`fill ${placedOnA.orderId}`),
        );
        const [fill] = Fill.array().parse(await emm.read("/fills/all?offset=0"));
        expect(await emm.read("/fills/all?status=OPEN,FILLED&limit=1")).to.deep.equal([fill]);
        expect(await emm.read("/fills/all?status=CANCELED")).to.deep.equal([]);
        expect(await emm.read("/fills/all?offset=1000")).to.deep.equal([]);
        expect(fill).to.include({ orderId: filling, outcomeId: under, price: 0.6, qty: 50, isTaker: true });

        await onA.placeOrder({ outcomeId: over, price: "0.300", qty: 5, tif: "GTC" });
        await until(
          () => booked(eventId),
          ([first]) => bids(first, over).length === 1,
        );
        expect(await onA.cancelAll({ market: marketId })).to.equal(1);
        await until(
          () => booked(eventId),
          ([first]) => bids(first, over).length === 0,
        );
      } finally {
        stream.close();
      }
    });

    it("while both sides change the books, and afterwards", async () => {
      const fixtures = await Promise.all([newFixture(true), newFixture(true)]);
      const stop = Date.now() + 2_000;
      let read = 0;
      const goesOn = (): boolean => Date.now() < stop || read <= 10;
      const trade = async (who: EmmClient, { over, under }: Fixture, first: number): Promise<void> => {
        for (let i = first; goesOn(); i += 1) {
          const outcomeId = i % 2 === 0 ? over : under;
          const price = (40 + (i % 12)) / 100;
          const placed = await place(who, { outcomeId, price, qty: 1 + (i % 5), currency: "CASH" });
          // An order above the rate is not placed.
          if (i % 3 === 0 && placed.status === 201)
            await who.call("POST /orders/cancel", { orderIds: [idOf(placed)] });
        }
      };
      const watch = async ({ eventId }: Fixture): Promise<void> => {
        while (goesOn()) {
          const [market] = await booked(eventId);
          // A book of two different moments would be crossed, or show an order twice.
          const ladders = market?.book.outcomeLadders.map(({ bids: found }) => found) ?? [];
          const best = ladders.reduce((sum, [first]) => sum + (first?.price ?? 0), 0);
          if (ladders.every(({ length }) => length > 0)) expect(best).to.be.lessThan(1);
          const ids = ladders.flat().map((order) => BookOrder.parse(order).id);
          expect(new Set(ids).size).to.equal(ids.length);
          read += 1;
        }
      };
      await Promise.all(
        fixtures.flatMap((fixture) => [trade(emm, fixture, 0), trade(other, fixture, 1), watch(fixture)]),
      );
      expect(read).to.be.greaterThan(10);
      for (const { eventId, marketId, over, under } of fixtures) {
        await until(
          async () => {
            const [market] = await booked(eventId);
            const onB = [over, under].map((outcomeId) =>
              bids(market, outcomeId).map((order) => {
                const { id, price, qty } = BookOrder.parse(order);
                return `${id} ${price.toFixed(3)} ${qty}`;
              }),
            );
            const { orders } = await onA.book(marketId);
            const there = [over, under].map((outcomeId) =>
              (orders[outcomeId] ?? []).map(({ orderId, price, qty }) => `${orderId} ${price} ${qty}`),
            );
            return JSON.stringify(onB) === JSON.stringify(there);
          },
          (same) => same,
        );
      }
    });

    it("on a settled market, and on a reversed one that can be graded again", async () => {
      const { eventId, marketId, over, under } = await newFixture();
      await place(emm, { outcomeId: over, price: 0.6, qty: 10, currency: "CASH" });
      await until(
        () => booked(eventId),
        ([first]) => bids(first, over).length === 1,
      );
      await place(other, { outcomeId: under, price: 0.4, qty: 10, currency: "CASH" });
      await until(
        () => booked(eventId),
        ([first]) => first?.volume === 0.1,
      );
      const before = Date.now();
      expect((await operate(stack, `POST /markets/${marketId}/grade`, { winner: over })).status).to.equal(
        202,
      );
      const settled = await until(
        async () => Market.parse(await emm.read(`/markets/${marketId}`)),
        ({ status }) => status === "SETTLED",
      );
      expect(settled.outcomes.map(({ status }) => status)).to.deep.equal(["WIN", "LOSS"]);
      expect(Date.parse(settled.settledAt ?? "")).to.be.within(before, Date.now());
      const [byEvent] = await until(
        () => booked(eventId),
        ([first]) => first?.status === "SETTLED",
      );
      const { book, ...rest } = byEvent ?? { book: undefined };
      expect(rest).to.deep.equal(settled);
      expect(book?.outcomeLadders).to.deep.equal([
        { outcomeId: over, bids: [] },
        { outcomeId: under, bids: [] },
      ]);
      const [paid] = await until(
        async () => Transaction.array().parse(await emm.read("/transactions?limit=1")),
        ([first]) => first?.kind === "SETTLEMENT",
      );
      expect(paid).to.include({ kind: "SETTLEMENT", amount: 0.1, currency: "CASH" });

      await operate(stack, `POST /markets/${marketId}/remediate`, { reason: "wrong winner" });
      const reopened = await until(
        () => booked(eventId),
        ([first]) => first?.status === "CLOSED",
      );
      expect(reopened[0]).to.not.have.property("settledAt");
      expect(reopened[0]?.outcomes.map(({ status }) => status)).to.deep.equal(["TBD", "TBD"]);
    });
  });

  describe("trades", () => {
    it("each order of a list by itself, and names the refused ones", async () => {
      const { over } = await newFixture();
      const good = { outcomeId: over, price: 0.6, qty: 1, currency: "CASH" };
      const some = await place(
        emm,
        good,
        { ...good, price: 0.6001 },
        { ...good, outcomeId: NOWHERE },
        { ...good, qty: 0 },
      );
      expect(some.status).to.equal(207);
      const { accepted, rejected } = Placed.parse(some.body);
      expect(accepted).to.have.length(1);
      expect(rejected.map(({ index }) => index)).to.deep.equal([1, 2, 3]);
      const none = await place(emm, { ...good, price: 0.6001 });
      expect(none.status).to.equal(400);
      expect(none.body).to.deep.include({ statusCode: 400, error: "Bad Request", code: "INVALID_PRICE" });
      expect((none.body as { rejected: unknown[] }).rejected).to.have.length(1);
      const dear = await place(emm, { ...good, qty: 1_000_000 });
      expect(dear.body).to.include({ statusCode: 422, code: "INSUFFICIENT_BALANCE" });
      expect((await place(emm)).body).to.include({ code: "EMPTY_BATCH" });
      const many = Array.from({ length: 257 }, () => good);
      expect((await place(emm, ...many)).body).to.include({ code: "BATCH_TOO_LARGE" });
    });

    it("an order with a client id once", async () => {
      const { over } = await newFixture();
      const clientId = "0b4b9c63-6a2b-4a0e-9a55-3d2f3f3f2d10";
      const order = { outcomeId: over, price: 0.2, qty: 1, currency: "CASH", clientId };
      const first = await place(emm, order);
      expect(first.status).to.equal(201);
      const again = await place(emm, order);
      expect(again.status).to.equal(200);
      expect(again.body).to.deep.equal(first.body);
      expect((await place(emm, { ...order, qty: 2 })).body).to.include({
        statusCode: 409,
        code: "CLIENT_ID_REUSED",
      });
    });

    it("no order while the log has no room for it", async () => {
      const { over } = await newFixture();
      const order = { outcomeId: over, price: 0.2, qty: 1, currency: "CASH" };
      const original = Object.getOwnPropertyDescriptor(LogGuard.prototype, "refusalOf");
      LogGuard.prototype.refusalOf = ({ opensOrders }) => (opensOrders ? "no room" : undefined);
      try {
        for (const orders of [[order], [order, order]]) {
          const refused = await place(emm, ...orders);
          expect(refused.status).to.equal(503);
          expect(refused.body).to.include({ statusCode: 503, code: "UNAVAILABLE" });
          expect(refused.headers.get("retry-after")).to.match(/^[1-9]\d*$/);
        }
      } finally {
        if (original !== undefined) Object.defineProperty(LogGuard.prototype, "refusalOf", original);
      }
      expect((await place(emm, order)).status).to.equal(201);
    });

    it("one order that is no list, without flags, and names the field of one that is wrong", async () => {
      const { over } = await newFixture();
      const order = { outcomeId: over, price: 0.1, qty: 1, currency: "CASH" };
      for (const path of ["/orders/place", "/orders/batch"]) {
        const one = await emm.call(`POST ${path}`, { ...order, flags: [], clientId: null });
        expect(one.status, JSON.stringify(one.body)).to.equal(201);
        expect(Placed.parse(one.body).accepted).to.have.length(1);
        expect((await emm.call(`POST ${path}`, [order, { ...order, flags: null }])).status).to.equal(201);
        const wrong: readonly (readonly [unknown, string])[] = [
          [{ ...order, flags: ["POST_ONLY"] }, "flags must be empty"],
          [{ ...order, price: "0.1" }, "price must be a number, such as 0.665"],
          [[order, { ...order, price: "0.1" }], "[1].price must be a number, such as 0.665"],
          [{ ...order, colour: 1 }, "colour is not a field of this route; leave it out"],
          ["order", "the body must be a list of orders"],
        ];
        for (const [body, message] of wrong) {
          const refused = await emm.call(`POST ${path}`, body);
          expect(refused.body).to.include({ code: "INVALID_BODY", message });
        }
      }
    });

    it("until the orders of a list, a market or an event are canceled", async () => {
      const [one, two] = [await newFixture(), await newFixture()];
      const rest = async (): Promise<string[]> => {
        const orders = [one, two].map(({ over }) => ({
          outcomeId: over,
          price: 0.1,
          qty: 1,
          currency: "CASH",
        }));
        const placed = Placed.parse((await place(other, ...orders)).body).accepted;
        return placed.map(({ orderId }) => orderId);
      };
      const statusOf = async (orderId: string | undefined): Promise<string> =>
        Order.parse(await other.read(`/orders/${orderId ?? ""}`)).status;
      const [first = "", second = ""] = await rest();
      const some = await other.call("DELETE /orders/batch", { orderIds: [first, NOWHERE] });
      expect([some.status, some.body]).to.deep.equal([
        207,
        { canceled: [first], notCanceled: [{ orderId: NOWHERE, reason: "NOT_FOUND" }] },
      ]);
      const listed = await other.call("DELETE /orders/batch", [first, NOWHERE]);
      expect(listed.body).to.deep.equal({
        canceled: [],
        notCanceled: [
          { orderId: first, reason: "CANCELED" },
          { orderId: NOWHERE, reason: "NOT_FOUND" },
        ],
      });
      const line = `DELETE /orders/market/${two.marketId}?currency=CASH`;
      expect((await other.call(line, { market: two.marketId })).body).to.include({ code: "INVALID_BODY" });
      const ofMarket = await other.call(line, {});
      expect([ofMarket.status, ofMarket.body]).to.deep.equal([200, { canceled: 1 }]);
      await until(
        () => statusOf(second),
        (status) => status === "CANCELED",
      );
      const [third, fourth] = await rest();
      const ofEvent = await other.call(`DELETE /orders/event/${one.eventId}`, {});
      expect([ofEvent.status, ofEvent.body]).to.deep.equal([200, { canceled: 1 }]);
      await until(
        () => statusOf(third),
        (status) => status === "CANCELED",
      );
      expect(await statusOf(fourth)).to.be.oneOf(["OPEN", "PENDING"]);
      for (const path of [`market/${NOWHERE}`, `event/${NOWHERE}`, NOWHERE])
        expect((await other.call(`DELETE /orders/${path}`)).status).to.equal(404);
    });

    it("until an order is canceled by id, or by the kill switch once per half minute", async () => {
      const { eventId, over } = await newFixture();
      const order = { outcomeId: over, price: 0.2, qty: 1, currency: "CASH" };
      const [first = "", second = ""] = Placed.parse((await place(emm, order, order)).body).accepted.map(
        ({ orderId }) => orderId,
      );
      await until(
        () => booked(eventId),
        ([market]) => bids(market, over).length === 2,
      );
      const cancel = await emm.call("POST /orders/cancel", { orderIds: [first, NOWHERE] });
      expect(cancel.status).to.equal(207);
      expect(Canceled.parse(cancel.body)).to.deep.equal({
        canceled: [first],
        notCanceled: [{ orderId: NOWHERE, reason: "NOT_FOUND" }],
      });
      const killed = await emm.call("DELETE /orders", {});
      expect(killed.status).to.equal(200);
      expect(CanceledAll.parse(killed.body).canceled).to.be.greaterThan(0);
      await until(
        () => booked(eventId),
        ([market]) => bids(market, over).length === 0,
      );
      const orders = Order.array().parse(await emm.read("/orders/all?limit=256"));
      expect(orders.find(({ id }) => id === second)).to.include({
        status: "CANCELED",
        qty: 1,
        originalQty: 1,
      });
      expect((await emm.call("DELETE /kill")).status, "the same kill switch").to.equal(429);
      const again = await emm.call("DELETE /orders");
      expect(again.status).to.equal(429);
      expect(Number(again.headers.get("retry-after"))).to.be.within(20, 30);
      // A client of another subaccount has its own kill switch and does not see these orders.
      expect((await other.call("DELETE /orders")).status).to.equal(200);
      expect((await other.read<{ id: string }[]>("/orders/all")).map(({ id }) => id)).to.not.include(second);
    });

    it("no order of an account that may not trade", async () => {
      const { over } = await newFixture();
      const locked = await newTrader(stack);
      const client = new EmmClient(stack.url, await newClient(stack, locked));
      const order = { outcomeId: over, price: 0.2, qty: 1, currency: "CASH" };
      expect((await place(client, order)).status).to.equal(201);
      const set = (line: string, body: object) =>
        operate(stack, `POST /traders/${locked.account.traderId}${line}`, body);
      await set("/kyc", { status: "PENDING" });
      expect((await place(client, order)).body).to.include({ statusCode: 403, code: "KYC_REQUIRED" });
      expect((await client.call("GET /orders/all")).status).to.equal(200);
      await set("/state", { state: "SELF_EXCLUDED", reason: "asked" });
      expect((await place(client, order)).body).to.include({ statusCode: 403, code: "SELF_EXCLUDED" });
      await until(
        () => client.read<{ status: string }[]>("/orders/all"),
        ([only]) => only?.status === "CANCELED",
      );
      expect((await client.call("DELETE /orders")).body).to.deep.equal({ canceled: 0 });
      await set("/state", { state: "LOCKED", reason: "looked into" });
      expect((await client.call("POST /orders/cancel", { orderIds: [NOWHERE] })).body).to.include({
        statusCode: 403,
        error: "Forbidden",
        code: "ACCOUNT_LOCKED",
      });
    });
  });

  describe("lists", () => {
    it("positions as outcomeIds selects them", async () => {
      const fixture = await newFixture();
      const { eventId, marketId, over, under } = fixture;
      await place(emm, { outcomeId: over, price: 0.6, qty: 10, currency: "CASH" });
      await until(
        () => booked(eventId),
        ([first]) => bids(first, over).length === 1,
      );
      await place(other, { outcomeId: under, price: 0.4, qty: 10, currency: "CASH" });
      const mine = { marketId, outcomeId: over, size: 10, cost: 6 / 100, currency: "CASH" };
      const positions = async (query: string) =>
        Position.array().parse(await emm.read(`/positions/all${query}`));
      const all = await until(
        () => positions("?currency=CASH"),
        (found) => found.some(({ outcomeId }) => outcomeId === over),
      );
      expect(all.find(({ outcomeId }) => outcomeId === over)).to.deep.equal(mine);
      expect(await positions("?currency=CASH&outcomeIds=")).to.deep.equal([]);
      expect(await positions("?currency=COIN&outcomeIds=" + over)).to.deep.equal([]);
      expect(await positions(`?currency=CASH&outcomeIds=${under},${over}`)).to.deep.equal([mine]);
      expect(await positions("?limit=1&offset=9999")).to.deep.equal([]);
      await operate(stack, `POST /markets/${marketId}/status`, { action: "close" });
      await until(
        () => positions("?currency=CASH"),
        (found) => !found.some(({ outcomeId }) => outcomeId === over),
      );
      expect(await positions(`?currency=CASH&outcomeIds=${over}`)).to.deep.equal([mine]);
    });

    it("orders by status, and one by one, with the balance that they reserve", async () => {
      const reader = await newTrader(stack);
      const client = new EmmClient(stack.url, await newClient(stack, reader));
      const { over } = await newFixture();
      const order = { outcomeId: over, price: 0.1, qty: 10, currency: "CASH" };
      const [resting, canceled] = [idOf(await place(client, order)), idOf(await place(client, order))];
      expect((await client.call(`DELETE /orders/${canceled}`)).body).to.deep.equal({
        orderId: canceled,
        status: "CANCELED",
      });
      const ids = async (query: string) =>
        Order.array()
          .parse(await client.read(`/orders/all${query}`))
          .map(({ id }) => id);
      const open = await until(
        () => ids("?status=OPEN"),
        (found) => found.length === 1,
      );
      expect(open).to.deep.equal([resting]);
      expect(await ids("?status=CANCELED")).to.deep.equal([canceled]);
      expect(await ids("?status=OPEN&status=CANCELED")).to.have.members([resting, canceled]);
      expect(Order.parse(await client.read(`/orders/${canceled}`))).to.include({ status: "CANCELED" });
      expect((await other.call(`GET /orders/${resting}`)).status, "another client's").to.equal(404);
      expect((await other.call(`DELETE /orders/${resting}`)).status, "another client's").to.equal(404);
      const balance = { balance: 100, available: 99.99, reserved: 0.01, currency: "CASH" };
      expect(await client.read("/account/balance")).to.deep.equal(balance);
      const none = { balance: 0, available: 0, reserved: 0, currency: "COIN" };
      expect(await client.read("/account/balance?currency=COIN")).to.deep.equal(none);
    });

    it("history in pages without a lost or repeated row", async () => {
      const page = await newTrader(stack);
      const client = new EmmClient(stack.url, await newClient(stack, page));
      const { over } = await newFixture();
      const order = { outcomeId: over, price: 0.1, qty: 1, currency: "CASH" };
      const ids = Placed.parse(
        (await place(client, ...Array.from({ length: 25 }, () => order))).body,
      ).accepted.map(({ orderId }) => orderId);
      const seen: string[] = [];
      let path = "/orders/all?limit=10&currency=CASH";
      for (let i = 0; i < 3; i += 1) {
        const answer = await client.call(`GET ${path}`);
        seen.push(
          ...Order.array()
            .parse(answer.body)
            .map(({ id }) => id),
        );
        const next = answer.headers.get("x-next-cursor");
        const link = /^<\/\w+\/v2\/emm(\S+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
        expect(link === undefined).to.equal(next === null);
        expect(next === null).to.equal(i === 2);
        path = link ?? path;
      }
      expect(seen).to.deep.equal(ids.toReversed());
      const skipped = await client.call("GET /orders/all?limit=10&offset=12&currency=CASH");
      expect((skipped.body as { id: string }[]).map(({ id }) => id)).to.deep.equal(seen.slice(12, 22));
      const rest = /^<\/\w+\/v2\/emm(\S+)>/.exec(skipped.headers.get("link") ?? "")?.[1] ?? "";
      const last = await client.read<{ id: string }[]>(rest);
      expect(last.map(({ id }) => id)).to.deep.equal(seen.slice(22));
      expect(await client.read("/orders/all?limit=10&offset=25")).to.deep.equal([]);
      expect(await client.read("/orders/all?limit=10&offset=10000")).to.deep.equal([]);
      expect((await client.call("GET /orders/all?offset=10001")).body).to.include({ code: "INVALID_QUERY" });
      expect(await client.read(`/orders/all?before=2020-01-01T00:00:00Z`)).to.deep.equal([]);
      const transactions = Transaction.array().parse(await client.read("/transactions?kind=TRANSFER_IN"));
      expect(transactions.map(({ amount }) => amount)).to.deep.equal([100]);
      expect(await client.read("/transactions?kind=TRANSFER_IN&status=COMPLETED")).to.deep.equal(
        transactions,
      );
      expect(await client.read("/transactions?kind=TRANSFER_IN&offset=1")).to.deep.equal([]);
      expect((await client.call("GET /transactions?status=OPEN")).body).to.include({ code: "INVALID_QUERY" });
    });
  });
});
