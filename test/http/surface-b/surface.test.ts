import { expect } from "chai";
import {
  BookOrder,
  Event,
  EventWithMarkets,
  Market,
  MarketWithBook,
  Names,
  Order,
  Placed,
  StrikeRequested,
  Ticks,
} from "../../../http/surface-b/schemas.js";
import { operate } from "./client.js";
import { bids, created, idOf, NOWHERE, place, startSurface, type Surface } from "./surface.js";
import { until } from "../../support/until.js";

const Book = MarketWithBook.shape.book;

describe("surface B", function () {
  this.timeout(60_000);
  let stack: Surface["stack"];
  let maker: Surface["maker"];
  let emm: Surface["emm"];
  let other: Surface["other"];
  let newFixture: Surface["newFixture"];
  let booked: Surface["booked"];

  before(async () => {
    ({ stack, maker, emm, other, newFixture, booked } = await startSurface());
  });
  after(() => stack.stop());

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
      // Engine time may be some milliseconds away from the clock of this process.
      expect(Date.parse(order?.created_at ?? "")).to.be.within(before - 1_000, Date.now() + 1_000);
      const [mine] = Order.array().parse(await emm.read("/orders/all?limit=1"));
      expect(mine?.createdAt).to.equal(order?.created_at);
    });

    it("the changing part of a market: sizes, last price, volume and status", async () => {
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

    it("each currency by itself, and books as levels with their implied asks", async () => {
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

    it("the books of markets, and the markets of several events at once", async () => {
      const [one, two] = [await newFixture(), await newFixture()];
      await place(emm, { outcomeId: one.over, price: 0.6, qty: 10, currency: "CASH" });
      const [first] = await until(
        () => booked(one.eventId),
        ([market]) => bids(market, one.over).length === 1,
      );
      const path = `/book/${one.marketId}?currency=CASH`;
      expect(await emm.read(path)).to.deep.equal(first?.book);
      const [simple] = await booked(one.eventId, "CASH", "&view=simple");
      expect(await emm.read(`${path}&view=simple`)).to.deep.equal(simple?.book);
      const etag = (await emm.call(`GET ${path}`)).headers.get("etag") ?? "";
      expect((await emm.call(`GET ${path}`)).headers.get("etag")).to.equal(etag);
      await place(emm, { outcomeId: one.under, price: 0.1, qty: 3, currency: "CASH" });
      await until(async () => {
        const book = Book.parse(await emm.read(path));
        expect(book.outcomeLadders.map((ladder) => ladder.bids.length)).to.deep.equal([1, 1]);
      });

      const eventIds = [two.eventId, one.eventId, two.eventId];
      const both = await emm.call("POST /events/getMarketsByEvents", { eventIds, currency: "CASH" });
      expect(both.body).to.deep.equal([...(await booked(two.eventId)), ...(await booked(one.eventId))]);
      expect(both.headers.get("x-ratelimit-cost"), "a token of each event").to.equal("3");
      const levels = { eventIds: [one.eventId], currency: "CASH", view: "simple" };
      expect((await emm.call("POST /events/getMarketsByEvents", levels)).body).to.deep.equal(
        await booked(one.eventId, "CASH", "&view=simple"),
      );
      const refused: readonly (readonly [unknown, number, string])[] = [
        [[one.eventId, NOWHERE], 404, "EVENT_NOT_FOUND"],
        [[], 400, "INVALID_BODY"],
        [Array.from({ length: 51 }, () => one.eventId), 400, "INVALID_BODY"],
        [one.eventId, 400, "INVALID_BODY"],
      ];
      for (const [ids, status, code] of refused) {
        const answer = await emm.call("POST /events/getMarketsByEvents", { eventIds: ids, currency: "CASH" });
        expect(answer.body).to.include({ statusCode: status, code });
      }
    });

    it("an answer compressed or plain as the client accepts, and 304 while nothing has changed", async () => {
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

    it("new markets of an event at once", async () => {
      const { eventId, marketId } = await newFixture();
      expect(await booked(eventId)).to.have.length(1);
      for (let i = 0; i < 5; i += 1) {
        const { marketId: next } = await created<{ marketId: string }>(stack, "POST /markets", {
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
      expect(await ids("?leagues=NFL&leagues=NBA&marketType=POINTS")).to.include(marketId);
      expect(await ids("?league=NFL,NBA")).to.include(marketId);
      expect(await ids("?leagues=NFL")).to.not.include(marketId);
      expect(await ids("?league=NFL")).to.not.include(marketId);
      expect(await ids("?marketTypes=MONEY")).to.not.include(marketId);
      await operate(stack, `POST /markets/${marketId}/status`, { action: "close" });
      expect(await ids("")).to.not.include(marketId);
    });

    it("visible and hidden events by offset, and one by one", async () => {
      const { eventId, marketId } = await newFixture(false);
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
      const startsTs = Date.parse("2030-01-01T00:00:00Z");
      const others = [
        ["REGULAR_SEASON", "A season"],
        ["Future", "A champion"],
      ] as const;
      const listed = async (types: string): Promise<[string, string][]> =>
        EventWithMarkets.array()
          .parse(await emm.read(`/events?type=${types}`))
          .map(({ type, description }) => [type, description]);
      for (const [type, description] of others) {
        const event = { sport: "SOCCER", league: "MLS", type, description, startsTs };
        const made = await operate(stack, "POST /events", event);
        expect(made.status, JSON.stringify(made.body)).to.equal(201);
        expect(await listed(type)).to.deep.equal([[type, description]]);
      }
      expect(await listed("REGULAR_SEASON,Future")).to.have.deep.members([...others]);
      expect(await emm.read("/events?status=FINAL,CANCELED")).to.deep.equal([]);
    });

    it("the ticks, and the names of leagues, types and statuses", async () => {
      const ticks = Ticks.parse(await emm.read("/ticks"));
      expect(ticks).to.have.length(279);
      expect([ticks[0], ticks[49], ticks[50], ticks.at(-1)]).to.deep.equal([0.001, 0.05, 0.055, 0.999]);
      const leagues = Names.parse(await emm.read("/event-metadata/leagues"));
      expect(leagues).to.include.members(["NFL", "FIFA Club World Cup", "NCAABSB", "WBC"]);
      expect(leagues).to.have.length(24);
      expect(Names.parse(await emm.read("/event-metadata/types"))).to.deep.equal([
        "REGULAR_SEASON",
        "Game",
        "Future",
      ]);
      expect(Names.parse(await emm.read("/event-metadata/statuses"))).to.include.members([
        "OPEN_PREGAME",
        "CLOSED_PREGAME",
        "OPEN_INGAME",
        "DELAYED",
      ]);
    });
  });

  it("accepts strike requests, and an approval creates the market", async () => {
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
      [`GET /book/${NOWHERE}?currency=CASH`, 404, "MARKET_NOT_FOUND"],
      [`GET /book/${NOWHERE}`, 400, "INVALID_QUERY"],
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
