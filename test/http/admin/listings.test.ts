import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import { send, signed, type Answer } from "../requests.js";
import { EmmClient, newClient } from "../surface-b/client.js";
import { bearerCalls } from "../calls.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

const MISSING = "6f9619ff-8b86-4011-b42d-00c04fc964ff";
const HOUR_MS = 3_600_000;

describe("the listings of an operator", function () {
  this.timeout(60_000);
  let stack: Stack;
  let token = "";

  const call = (method: string, target: string, body?: object): Promise<Answer> =>
    bearerCalls(stack.url, token)(`${method} /admin/v1${target}`, body);
  const read = (target: string): Promise<Answer> => send(stack.url, { target: `/v3/public${target}` });
  const itemsOf = ({ json }: Answer): readonly Readonly<Record<string, unknown>>[] =>
    json["items"] as readonly Readonly<Record<string, unknown>>[];
  const newEvent = () => ({
    sport: "FOOTBALL",
    league: "NFL",
    type: "Game",
    description: "Ants at Bees",
    startsTs: Date.now() + HOUR_MS,
  });

  const newMarketBody = async () => ({
    eventId: (await call("POST", "/events", newEvent())).json["eventId"],
    marketType: "MONEY",
    description: "Who wins",
    voids: "PUSH",
    outcomes: [{ name: "Ants" }, { name: "Bees" }],
  });

  before(async () => {
    stack = await startStack();
    token = await stack.operatorToken();
  });
  after(() => stack.stop());

  it("change the start, the description and the visibility of an event, and record it", async () => {
    const { eventId, marketId } = await newMarket(stack);
    const created = (await call("GET", `/events/${eventId}`)).json;
    const startsTs = Date.now() + 5 * HOUR_MS;
    const changed = await call("PATCH", `/events/${eventId}`, { startsTs, description: "Ants v Bees" });
    expect(changed.status, changed.text).to.equal(200);
    const { marketIds, ...before } = created;
    expect(marketIds).to.deep.equal([marketId]);
    expect(changed.json).to.deep.equal({ ...before, startsTs, description: "Ants v Bees" });
    expect((await read(`/catalog/markets/${marketId}`)).json).to.include({ startsTs });
    expect((await read(`/catalog/events/${eventId}`)).json).to.include({ description: "Ants v Bees" });
    const [record] = itemsOf(await call("GET", `/audit-log?subject=${eventId}`));
    expect(record).to.deep.include({
      action: "event.change",
      before: {
        visible: true,
        startsTs: created["startsTs"],
        description: created["description"],
      },
      after: { startsTs, description: "Ants v Bees" },
    });
    expect((await call("PATCH", `/events/${MISSING}`, { visible: true })).json["code"]).to.equal(
      "EVENT_NOT_FOUND",
    );
    for (const body of [{}, { sport: "GOLF" }, { visible: "no" }, { description: " " }])
      expect((await call("PATCH", `/events/${eventId}`, body)).json["code"]).to.equal("INVALID_BODY");
  });

  it("hide an event from the lists and the history of surface A, and show it again", async () => {
    const { eventId, marketId, outcomes } = await newMarket(stack);
    await call("POST", `/markets/${marketId}/grade`, { winner: outcomes[0] });
    await until(async () => (await call("GET", `/markets/${marketId}`)).json["status"] === "SETTLED");
    const trader = await newTrader(stack);
    const emm = new EmmClient(stack.url, await newClient(stack, trader));
    const shown = async (): Promise<readonly boolean[]> => {
      const history = await send(stack.url, signed(trader.trading, { target: "/v3/history/markets" }));
      return [
        itemsOf(await read("/catalog/events?limit=100")).some((event) => event["eventId"] === eventId),
        itemsOf(await read(`/catalog/markets?event=${eventId}`)).length === 1,
        (await read(`/catalog/events/${eventId}`)).status === 200,
        (await read(`/catalog/markets/${marketId}`)).status === 200,
        (await read(`/catalog/markets/${marketId}/book`)).status === 200,
        (await read(`/catalog/markets/${marketId}/trades`)).status === 200,
        itemsOf(history).some((market) => market["marketId"] === marketId),
      ];
    };
    const setVisible = async (visible: boolean): Promise<void> => {
      expect((await call("PATCH", `/events/${eventId}`, { visible })).json).to.include({ visible });
    };
    expect(await shown()).to.not.include(false);
    await setVisible(false);
    expect(await shown()).to.not.include(true);
    expect((await emm.read<{ id: string }>(`/events/${eventId}`)).id, "surface B").to.equal(eventId);
    await setVisible(true);
    expect(await shown()).to.not.include(false);
  });

  it("have a start that lies ahead, in ms", async () => {
    const { eventId } = await newMarket(stack);
    const nowMs = Date.now();
    const refused: readonly (readonly [number, RegExp])[] = [
      [nowMs - HOUR_MS, /^startsTs lies in the past; /],
      [1, /^startsTs lies in the past; /],
      [Math.floor((nowMs + HOUR_MS) / 1_000), /^startsTs is a time in seconds; /],
      [(nowMs + HOUR_MS) * 1_000, /^startsTs lies more than 10 years ahead; /],
    ];
    for (const [startsTs, message] of refused) {
      for (const answer of [
        await call("POST", "/events", { ...newEvent(), startsTs }),
        await call("PATCH", `/events/${eventId}`, { startsTs }),
      ]) {
        expect(answer.json["code"]).to.equal("INVALID_BODY");
        expect(answer.json["message"]).to.match(message);
      }
    }
    expect((await call("POST", "/events", { ...newEvent(), startsTs: nowMs })).status).to.equal(201);
  });

  it("belong to the sport of their league", async () => {
    const answer = await call("POST", "/events", { ...newEvent(), sport: "GOLF" });
    expect(answer.json).to.include({
      code: "INVALID_BODY",
      message: "sport is not that of the league NFL; send FOOTBALL",
    });
    expect((await read("/types/sports")).text)
      .to.include("GOLF")
      .and.not.to.include("CHESS");
    expect((await call("POST", "/events", { ...newEvent(), sport: "CHESS" })).status).to.equal(400);
    expect((await read("/types/sports")).text).to.not.include("CHESS");
  });

  it("have a strike when they are spreads, and outcomes of different names", async () => {
    const { eventId } = await newMarket(stack);
    const market = {
      eventId,
      marketType: "SPREAD",
      description: "Ants -3.5",
      voids: "PUSH",
      outcomes: [{ name: "Ants -3.5" }, { name: "Bees +3.5" }],
    };
    const codeOf = async (body: object): Promise<unknown> => (await call("POST", "/markets", body)).json;
    const strike = "-3.5";
    for (const marketType of ["SPREAD", "SPREAD_1H", "SET_SPREAD"]) {
      expect(await codeOf({ ...market, marketType })).to.deep.equal({
        code: "INVALID_BODY",
        message: "strike is missing, and a spread has no meaning without it; add it",
      });
    }
    const twice = { ...market, strike, outcomes: [{ name: "Ants" }, { name: "ants " }] };
    expect(await codeOf(twice)).to.deep.equal({
      code: "INVALID_BODY",
      message: "outcomes must have different names",
    });
    expect((await call("POST", "/markets", { ...market, strike })).status).to.equal(201);
    expect((await call("POST", "/markets", { ...market, marketType: "MONEY" })).status).to.equal(201);
  });

  it("may be of a type once it is promoted", async () => {
    const { eventId } = await newMarket(stack);
    const market = {
      eventId,
      marketType: "LONGEST_PUTT",
      description: "Over 9.5 m",
      voids: "PUSH",
      outcomes: [{ name: "Over 9.5" }, { name: "Under 9.5" }],
    };
    const type = { name: "LONGEST_PUTT", qaOnly: true };
    expect((await call("POST", "/market-types", type)).status).to.equal(201);
    expect((await call("POST", "/markets", market)).status).to.equal(400);
    const promoted = await call("PATCH", "/market-types/LONGEST_PUTT", { qaOnly: false });
    expect([promoted.status, promoted.json]).to.deep.equal([200, { ...type, qaOnly: false }]);
    expect((await read("/types/markets")).text).to.include("LONGEST_PUTT");
    expect((await call("POST", "/markets", market)).status).to.equal(201);
    const [record] = itemsOf(await call("GET", "/audit-log?subject=LONGEST_PUTT"));
    expect(record).to.deep.include({
      action: "market-type.promote",
      before: type,
      after: { ...type, qaOnly: false },
    });
    expect((await call("PATCH", "/market-types/NOTHING", { qaOnly: false })).json["code"]).to.equal(
      "MARKET_TYPE_NOT_FOUND",
    );
    for (const body of [{ qaOnly: true }, {}])
      expect((await call("PATCH", "/market-types/LONGEST_PUTT", body)).json["code"]).to.equal("INVALID_BODY");
    for (const name of ["Two words", "a,b", "a/b"])
      expect((await call("POST", "/market-types", { name })).json["code"]).to.equal("INVALID_BODY");
  });

  it("answer a new market when Postgres has it, or name it after three seconds without", async () => {
    const market = await newMarketBody();
    const holder = new pg.Client(stack.databaseUrl);
    await holder.connect();
    let isHeld = true;
    try {
      await holder.query("begin");
      await holder.query("lock table projector_cursors in share mode");
      const late = call("POST", "/markets", market);
      await sleep(1_800);
      const inTime = call("POST", "/markets", market);
      const { status, json, text } = await late;
      expect(status, text).to.equal(503);
      await holder.query("commit");
      isHeld = false;
      expect((await inTime).status).to.equal(201);
      const [named] = /market [-0-9a-f]{36}/.exec(String(json["message"])) ?? expect.fail();
      await until(async () => (await call("GET", named.replace("market ", "/markets/"))).status === 200);
    } finally {
      if (isHeld) await holder.query("rollback");
      await holder.end();
    }
  });
});
