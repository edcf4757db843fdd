import { expect } from "chai";
import type { z } from "zod";
import { RestClient } from "../../../http/client/rest.js";
import { Signer } from "../../../http/client/signer.js";
import { StreamClient } from "../../../http/client/stream.js";
import {
  BookOrder,
  Canceled,
  CanceledAll,
  Event,
  EventWithMarkets,
  Fill,
  Market,
  MarketWithBook,
  Names,
  Order,
  Placed,
  Position,
  StrikeRequested,
  Ticks,
  Transaction,
} from "../../../http/emm/schemas.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newTrader, type TestTrader } from "../../support/traders.js";
import { EmmClient, newClient, operate, until, type EmmAnswer } from "./client.js";

const NOWHERE = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
const Book = MarketWithBook.shape.book;

interface Fixture {
  readonly eventId: string;
  readonly marketId: string;
  readonly over: string;
  readonly under: string;
}

describe("surface B", function () {
  this.timeout(60_000);
  let stack: Stack;
  let maker: TestTrader;
  let taker: TestTrader;
  let emm: EmmClient;
  let other: EmmClient;
  let onA: RestClient;

  before(async () => {
    stack = await startStack();
    maker = await newTrader(stack);
    taker = await newTrader(stack);
    emm = new EmmClient(stack.url, await newClient(stack, maker));
    other = new EmmClient(stack.url, await newClient(stack, taker));
    onA = new RestClient(stack.connect(), new Signer(taker.trading.key, stack.brand));
  });
  after(() => stack.stop());

  const created = async <T>(line: string, body: object): Promise<T> => {
    const answer = await operate(stack, line, body);
    if (answer.status !== 201) throw new Error(`${line}: ${JSON.stringify(answer.body)}`);
    return answer.body as T;
  };

  /** A game with a market about a player's points, in which nothing has been traded. */
  async function newFixture(visible = false): Promise<Fixture> {
    const event = await created<{ eventId: string }>("POST /events", {
      sport: "BASKETBALL",
      league: "NBA",
      type: "Game",
      description: "Ants at Bees",
      startsTs: Date.parse("2030-01-02T03:04:05.678Z"),
      visible,
      game: {
        homeTeam: { name: "Bees", shortName: "BEE", symbol: "B", mascot: "Buzz" },
        awayTeam: { name: "Ants" },
      },
    });
    const player = await created<{ playerId: string }>("POST /players", {
      name: "A. Smith",
      fullName: "Alex Smith",
      position: "G",
      team: { league: "NBA", name: "Bees" },
    });
    const market = await created<{ marketId: string; outcomes: { outcomeId: string }[] }>("POST /markets", {
      eventId: event.eventId,
      marketType: "POINTS",
      description: "A. Smith over 20.5 points",
      strike: "20.5",
      voids: "PUSH",
      playerId: player.playerId,
      outcomes: [{ name: "Over 20.5" }, { name: "Under 20.5" }],
    });
    const [over, under] = market.outcomes;
    return {
      eventId: event.eventId,
      marketId: market.marketId,
      over: over?.outcomeId ?? "",
      under: under?.outcomeId ?? "",
    };
  }

  const booked = async (
    eventId: string,
    currency = "CASH",
    view = "",
  ): Promise<z.output<typeof MarketWithBook>[]> => {
    const path = `/events/getMarketsByEvent/${eventId}?currency=${currency}${view}`;
    return MarketWithBook.array().parse(await emm.read(path));
  };
  const bids = (market: z.output<typeof MarketWithBook> | undefined, outcomeId: string) =>
    market?.book.outcomeLadders.find((ladder) => ladder.outcomeId === outcomeId)?.bids ?? [];
  const place = (who: EmmClient, ...orders: object[]): Promise<EmmAnswer> =>
    who.call("POST /orders/place", orders);
  const idOf = (answer: EmmAnswer): string => Placed.parse(answer.body).accepted[0]?.orderId ?? "";

  describe("shows", () => {
    it("markets by event with their books, teams and players", async () => {
      const fixture = await newFixture();
      const { eventId, marketId, over, under } = fixture;
      const before = Date.now();
      const answer = await place(emm, { outcomeId: over, price: 0.6, qty: 100, currency: "CASH" });
      expect(answer.status).to.equal(201);
      const [market] = await until(
        () => booked(eventId),
        ([first]) => bids(first, over).length === 1,
      );
      const home = { name: "Bees", shortName: "BEE", symbol: "B", mascot: "Buzz" };
      const homeId = market?.competitor?.id ?? "";
      const awayId = market?.event.game?.awayTeam.id ?? "";
      expect(market).to.deep.equal({
        id: marketId,
        description: "A. Smith over 20.5 points",
        status: "OPEN",
        type: "POINTS",
        league: "NBA",
        volume: 0,
        eventId,
        outcomeIds: [over, under],
        outcomes: [
          { id: over, description: "Over 20.5", type: "OVER", status: "TBD", index: 0 },
          { id: under, description: "Under 20.5", type: "UNDER", status: "TBD", index: 1 },
        ],
        strike: 20.5,
        event: {
          id: eventId,
          type: "Game",
          status: "OPEN_PREGAME",
          description: "Ants at Bees",
          league: "NBA",
          scheduledStart: "2030-01-02T03:04:05.678Z",
          game: {
            id: market?.event.game?.id,
            league: "NBA",
            status: "SCHEDULED",
            scheduledStart: "2030-01-02T03:04:05.678Z",
            homeTeam: { id: homeId, ...home },
            awayTeam: { id: awayId, name: "Ants", shortName: "Ants", symbol: "Ants", mascot: "" },
          },
        },
        playerId: market?.playerId,
        player: { id: market?.playerId, name: "A. Smith", fullName: "Alex Smith", position: "G" },
        competitor: { id: homeId, ...home },
        book: {
          marketId,
          marketDescription: "A. Smith over 20.5 points",
          outcomeLadders: [
            { outcomeId: over, bids: bids(market, over) },
            { outcomeId: under, bids: [] },
          ],
        },
      });
      const [order] = BookOrder.array().parse(bids(market, over));
      expect(order).to.deep.include({
        id: idOf(answer),
        price: 0.6,
        qty: 100,
        originalQty: 100,
        currency: "CASH",
        outcomeId: over,
        marketId,
        status: "RESTING",
      });
      expect(Date.parse(order?.created_at ?? "")).to.be.within(before, Date.now());
      const [mine] = Order.array().parse(await emm.read("/orders/all?limit=1"));
      expect(mine?.createdAt).to.equal(order?.created_at);
    });

    it("what moves: sizes, the last price, the volume, the status", async () => {
      const { eventId, marketId, over, under } = await newFixture();
      await place(emm, { outcomeId: over, price: 0.6, qty: 100, currency: "CASH" });
      await until(
        () => booked(eventId),
        ([first]) => bids(first, over).length === 1,
      );
      await place(other, { outcomeId: under, price: 0.4, qty: 30, currency: "CASH", tif: "IOC" });
      const [market] = await until(
        () => booked(eventId),
        ([first]) => first?.volume === 0.3,
      );
      expect(bids(market, over)).to.have.length(1);
      expect(bids(market, over)[0]).to.include({ qty: 70, originalQty: 100 });
      expect(market?.outcomes.map(({ last }) => last)).to.deep.equal([0.6, 0.4]);
      expect((await booked(eventId, "COIN"))[0]?.outcomes.map(({ last }) => last)).to.deep.equal([
        undefined,
        undefined,
      ]);
      const one = Market.parse(await emm.read(`/markets/${marketId}`));
      expect(one).to.include({ volume: 0.3, status: "OPEN" });
      expect(one.outcomes.map(({ last }) => last)).to.deep.equal([0.6, 0.4]);

      expect((await operate(stack, `POST /markets/${marketId}/status`, { action: "close" })).status).to.equal(
        200,
      );
      const [closed] = await booked(eventId);
      expect(closed).to.include({ status: "CLOSED" });
      expect(bids(closed, over)).to.deep.equal([]);
    });

    it("currencies apart, and books as levels with the asks that they imply", async () => {
      const { eventId, over, under } = await newFixture();
      await operate(stack, `POST /traders/${maker.account.traderId}/transactions`, {
        kind: "DEPOSIT",
        amount: "10",
        currency: "COIN",
        reason: "coins",
        subaccountKeyId: maker.account.tradingKey.keyId,
      });
      const orders = [
        { outcomeId: over, price: 0.55, qty: 10, currency: "CASH" },
        { outcomeId: over, price: 0.55, qty: 5, currency: "CASH" },
        { outcomeId: over, price: 0.5, qty: 7, currency: "CASH" },
        { outcomeId: over, price: 0.7, qty: 3, currency: "COIN" },
      ];
      expect(Placed.parse((await place(emm, ...orders)).body).accepted).to.have.length(4);
      const [ladder] = await until(
        () => booked(eventId),
        ([first]) => bids(first, over).length === 3,
      );
      expect(bids(ladder, over).map(({ price, qty }) => `${price} x ${qty}`)).to.deep.equal([
        "0.55 x 10",
        "0.55 x 5",
        "0.5 x 7",
      ]);
      const [simple] = await booked(eventId, "CASH", "&view=simple");
      expect(simple?.book.outcomeLadders).to.deep.equal([
        {
          outcomeId: over,
          bids: [
            { price: 0.55, qty: 15 },
            { price: 0.5, qty: 7 },
          ],
          asks: [],
        },
        {
          outcomeId: under,
          bids: [],
          asks: [
            { price: 0.45, qty: 15 },
            { price: 0.5, qty: 7 },
          ],
        },
      ]);
      const [coin] = await booked(eventId, "COIN");
      expect(bids(coin, over)).to.have.length(1);
      expect(bids(coin, over)[0]).to.include({ currency: "COIN", price: 0.7, qty: 3 });
      expect(Book.safeParse(coin?.book).success).to.equal(true);
    });

    it("an answer packed or plain, as the client takes it, and none when nothing changed", async () => {
      const { eventId, over } = await newFixture();
      const url = `${stack.url}/${stack.prefix}/v2/emm/events/getMarketsByEvent/${eventId}?currency=CASH`;
      const Authorization = `Bearer ${await emm.token()}`;
      const ask = (headers: Record<string, string>): Promise<Response> =>
        fetch(url, { headers: { Authorization, ...headers } });
      const packed = await ask({ "Accept-Encoding": "gzip" });
      const plain = await ask({ "Accept-Encoding": "identity" });
      expect(packed.headers.get("content-encoding")).to.equal("gzip");
      expect(plain.headers.get("content-encoding")).to.equal(null);
      expect(plain.headers.get("vary")).to.include("Accept-Encoding");
      const etag = plain.headers.get("etag") ?? "";
      expect(packed.headers.get("etag")).to.equal(etag);
      expect(await packed.text()).to.equal(await plain.text());
      const same = await ask({ "If-None-Match": etag });
      expect(same.status).to.equal(304);
      expect(await same.text()).to.equal("");
      await place(emm, { outcomeId: over, price: 0.6, qty: 1, currency: "CASH" });
      await until(
        () => ask({ "If-None-Match": etag }),
        ({ status }) => status === 200,
      );
    });

    it("new markets of an event as soon as they are made", async () => {
      const { eventId, marketId } = await newFixture();
      expect(await booked(eventId)).to.have.length(1);
      for (let i = 0; i < 5; i += 1) {
        const { marketId: next } = await created<{ marketId: string }>("POST /markets", {
          eventId,
          marketType: "MONEY",
          description: `Who wins ${i}`,
          voids: "FMV",
          outcomes: [
            { name: "Ants", competitor: "Ants" },
            { name: "Bees", competitor: "Bees" },
          ],
        });
        const markets = await booked(eventId);
        expect(markets.at(-1)?.id).to.equal(next);
        expect(markets.at(-1)?.outcomes.map(({ type }) => type)).to.deep.equal(["AWAY", "HOME"]);
        const open = Market.array().parse(await emm.read("/markets/open"));
        expect(open.map(({ id }) => id)).to.include.members([marketId, next]);
      }
    });

    it("open markets by league and by type", async () => {
      const { marketId } = await newFixture();
      const ids = async (query: string): Promise<string[]> =>
        Market.array()
          .parse(await emm.read(`/markets/open${query}`))
          .map(({ id }) => id);
      expect(await ids("")).to.include(marketId);
      expect(await ids("?leagues=NFL,NBA&marketTypes=POINTS,MONEY")).to.include(marketId);
      expect(await ids("?leagues=NFL")).to.not.include(marketId);
      expect(await ids("?marketTypes=MONEY")).to.not.include(marketId);
      await operate(stack, `POST /markets/${marketId}/status`, { action: "close" });
      expect(await ids("")).to.not.include(marketId);
    });

    it("events, hidden ones too, by offset, and one by one", async () => {
      const { eventId, marketId } = await newFixture();
      const all = EventWithMarkets.array().parse(await emm.read("/events"));
      const found = all.find(({ id }) => id === eventId);
      expect(found?.marketIds).to.deep.equal([marketId]);
      expect(EventWithMarkets.parse(await emm.read(`/events/${eventId}`))).to.deep.equal(found);
      expect(Event.strip().safeParse(found).success).to.equal(true);
      const pages = await Promise.all(
        [0, 1, 2].map((offset) => emm.read<{ id: string }[]>(`/events?limit=1&offset=${offset}`)),
      );
      expect(pages.flat().map(({ id }) => id)).to.deep.equal(all.slice(0, 3).map(({ id }) => id));
      expect(await emm.read("/events?league=NFL")).to.deep.equal([]);
      expect(await emm.read("/events?type=Future")).to.deep.equal([]);
      expect(await emm.read("/events?status=FINAL,CANCELED")).to.deep.equal([]);
    });

    it("the ticks, and the names of things", async () => {
      const ticks = Ticks.parse(await emm.read("/ticks"));
      expect(ticks).to.have.length(279);
      expect([ticks[0], ticks[49], ticks[50], ticks.at(-1)]).to.deep.equal([0.001, 0.05, 0.055, 0.999]);
      const leagues = Names.parse(await emm.read("/event-metadata/leagues"));
      expect(leagues).to.include.members(["NFL", "FIFA Club World Cup", "NCAABSB", "WBC"]);
      expect(leagues).to.have.length(24);
      expect(Names.parse(await emm.read("/event-metadata/types"))).to.deep.equal(["Game", "Future"]);
      expect(Names.parse(await emm.read("/event-metadata/statuses"))).to.include.members([
        "OPEN_PREGAME",
        "CLOSED_PREGAME",
        "OPEN_INGAME",
        "DELAYED",
      ]);
    });
  });

  describe("tells the same truth as surface A", () => {
    it("what is placed on A is read on B, and what is placed on B is streamed on A", async () => {
      const { eventId, marketId, over, under } = await newFixture();
      const private_: string[] = [];
      const stream = new StreamClient(stack.url, new Signer(taker.trading.key, stack.brand), {
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
        const [fill] = Fill.array().parse(await emm.read("/fills/all"));
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

    it("while both sides change the books at once, and when they are done", async () => {
      const fixtures = await Promise.all([newFixture(true), newFixture(true)]);
      const stop = Date.now() + 2_000;
      let read = 0;
      const trade = async (who: EmmClient, { over, under }: Fixture, first: number): Promise<void> => {
        for (let i = first; Date.now() < stop; i += 1) {
          const outcomeId = i % 2 === 0 ? over : under;
          const price = (40 + (i % 12)) / 100;
          const placed = await place(who, { outcomeId, price, qty: 1 + (i % 5), currency: "CASH" });
          // What is over the rate is not placed.
          if (i % 3 === 0 && placed.status === 201)
            await who.call("POST /orders/cancel", { orderIds: [idOf(placed)] });
        }
      };
      const watch = async ({ eventId }: Fixture): Promise<void> => {
        while (Date.now() < stop) {
          const [market] = await booked(eventId);
          // A book that was put together of two moments would cross, or show an order twice.
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

    it("a settled market reads right, and a remediated one is open again to be graded", async () => {
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
    it("each order of a list by itself, and says which were refused", async () => {
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

    it("cancels by id, and everything at once, once in half a minute", async () => {
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
      const killed = await emm.call("DELETE /orders");
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
      const again = await emm.call("DELETE /orders");
      expect(again.status).to.equal(429);
      expect(Number(again.headers.get("retry-after"))).to.be.within(20, 30);
      // Another client of another subaccount has a switch of its own, and sees nothing of this one's orders.
      expect((await other.call("DELETE /orders")).status).to.equal(200);
      expect((await other.read<{ id: string }[]>("/orders/all")).map(({ id }) => id)).to.not.include(second);
    });

    it("not for an account that may not", async () => {
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
      expect((await client.call("GET /orders/all")).body).to.include({
        statusCode: 403,
        code: "SELF_EXCLUDED",
      });
      expect((await client.call("DELETE /orders")).body).to.deep.equal({ canceled: 1 });
      await set("/state", { state: "LOCKED", reason: "looked into" });
      expect((await client.call("POST /orders/cancel", { orderIds: [NOWHERE] })).body).to.include({
        statusCode: 403,
        error: "Forbidden",
        code: "ACCOUNT_LOCKED",
      });
    });
  });

  describe("lists", () => {
    it("positions by the rules of outcomeIds", async () => {
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

    it("history in pages that lose and repeat nothing", async () => {
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
      expect(await client.read(`/orders/all?before=2020-01-01T00:00:00Z`)).to.deep.equal([]);
      const transactions = Transaction.array().parse(await client.read("/transactions?kind=TRANSFER_IN"));
      expect(transactions.map(({ amount }) => amount)).to.deep.equal([100]);
    });
  });

  it("takes strike requests, and an approval makes the market", async () => {
    const { eventId, marketId } = await newFixture();
    const asked = await emm.call("POST /strike-requests", { marketId, strike: 24 });
    expect(asked.status).to.equal(202);
    const request = StrikeRequested.parse(asked.body);
    expect(request).to.deep.include({ marketId, strike: 24.5, status: "PENDING" });
    const again = await emm.call("POST /strike-requests", { marketId, strike: 24.5 });
    expect(again.body).to.deep.equal(request);
    const rejected = StrikeRequested.parse(
      (await emm.call("POST /strike-requests", { marketId, strike: -3 })).body,
    );
    expect(rejected.strike).to.equal(-2.5);
    expect((await emm.call("POST /strike-requests", { marketId: NOWHERE, strike: 1 })).status).to.equal(404);
    expect((await emm.call("POST /strike-requests", { marketId, strike: "7" })).status).to.equal(400);

    const listed = (await operate(stack, "GET /strike-requests?status=PENDING")).body as {
      items: { requestId: string }[];
    };
    expect(listed.items.map(({ requestId }) => requestId)).to.include.members([
      request.requestId,
      rejected.requestId,
    ]);
    const path = `POST /strike-requests/${request.requestId}`;
    const [approved, twice] = await Promise.all([
      operate(stack, path, { approve: true }),
      operate(stack, path, { approve: true }),
    ]);
    const decided = [approved, twice].find(({ status }) => status === 200);
    expect([approved.status, twice.status].toSorted((a, b) => a - b)).to.deep.equal([200, 409]);
    const { createdMarketId } = decided?.body as { createdMarketId: string };
    const made = Market.parse(await emm.read(`/markets/${createdMarketId}`));
    expect(made).to.include({ strike: 24.5, type: "POINTS", description: "A. Smith over 24.5 points" });
    expect(made.outcomes.map(({ description }) => description)).to.deep.equal(["Over 24.5", "Under 24.5"]);
    expect(made.player?.name).to.equal("A. Smith");
    expect(await booked(eventId)).to.have.length(2);

    const no = await operate(stack, `POST /strike-requests/${rejected.requestId}`, { approve: false });
    expect(no.body).to.include({ status: "REJECTED", createdMarketId: null });
    expect((await operate(stack, `POST /strike-requests/${NOWHERE}`, { approve: false })).status).to.equal(
      404,
    );
  });

  describe("refuses", () => {
    const cases: readonly (readonly [string, number, string])[] = [
      [`GET /events/getMarketsByEvent/${NOWHERE}?currency=CASH`, 404, "EVENT_NOT_FOUND"],
      [`GET /events/getMarketsByEvent/${NOWHERE}`, 400, "INVALID_QUERY"],
      [`GET /events/getMarketsByEvent/${NOWHERE}?currency=USD`, 400, "INVALID_QUERY"],
      [`GET /events/getMarketsByEvent/${NOWHERE}?currency=CASH&view=pretty`, 400, "INVALID_QUERY"],
      ["GET /events/getMarketsByEvent/x?currency=CASH", 400, "INVALID_REQUEST"],
      [`GET /events/${NOWHERE}`, 404, "EVENT_NOT_FOUND"],
      [`GET /markets/${NOWHERE}`, 404, "MARKET_NOT_FOUND"],
      ["GET /events?limit=101", 400, "INVALID_REQUEST"],
      ["GET /events?offset=-1", 400, "INVALID_QUERY"],
      ["GET /events?status=BROKEN", 400, "INVALID_QUERY"],
      ["GET /positions/all?limit=1001", 400, "INVALID_REQUEST"],
      ["GET /positions/all?outcomeIds=x", 400, "INVALID_QUERY"],
      ["GET /fills/all?limit=257", 400, "INVALID_REQUEST"],
      ["GET /fills/all?limit=0", 400, "INVALID_REQUEST"],
      ["GET /orders/all?before=yesterday", 400, "INVALID_QUERY"],
      ["GET /orders/all?after=x", 400, "INVALID_QUERY"],
      ["GET /transactions?kind=GIFT", 400, "INVALID_QUERY"],
      ["GET /ticks?x=1", 400, "INVALID_QUERY"],
      ["GET /nothing", 404, "ROUTE_NOT_FOUND"],
      ["GET /ticks/", 404, "ROUTE_NOT_FOUND"],
    ];
    for (const [line, status, code] of cases) {
      it(line, async () => {
        const answer = await emm.call(line);
        expect(answer.status).to.equal(status);
        expect(answer.body).to.include({ statusCode: status, code });
        expect(Object.keys(answer.body as object)).to.deep.equal(["statusCode", "error", "message", "code"]);
      });
    }
  });
});
