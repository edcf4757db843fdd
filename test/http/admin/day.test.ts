import { expect } from "chai";
import { addOperator } from "../../support/operators.js";
import { login, startStack, type Stack } from "../../support/stack.js";
import { addMarket, newEvent, newMarket, newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { bearerCalls, callsOf, operatorCalls, resultOf, type Calls } from "../calls.js";

interface Exposed {
  readonly eventId?: string;
  readonly marketId?: string;
  readonly openOrders: number;
  readonly openContracts: number;
  readonly escrow: { readonly CASH: string; readonly COIN: string };
}

describe("the day of an operator", function () {
  this.timeout(60_000);
  let stack: Stack;
  let author: Calls;
  let second: Calls;

  before(async () => {
    stack = await startStack({ settlementApprovals: 2 });
    author = await operatorCalls(stack);
    second = bearerCalls(stack.url, await login(stack.url, await addOperator(stack, "settlement")));
  });
  after(() => stack.stop());

  const itemsOf = async (line: string): Promise<readonly Exposed[]> =>
    (await author(line)).json["items"] as readonly Exposed[];

  it("shows the open orders and the escrow of events and of their markets", async () => {
    const { eventId } = await newEvent(stack);
    const { marketId, outcomes } = await addMarket(stack, eventId);
    const idle = await addMarket(stack, eventId, { description: "Nobody bids here" });
    const [first, other] = outcomes.map(({ outcomeId }) => outcomeId);
    const maker = callsOf(stack.url, (await newTrader(stack)).trading);
    const taker = callsOf(stack.url, (await newTrader(stack)).trading);
    await maker("POST /v3/orders", { outcomeId: first, price: "0.600", qty: 100, tif: "GTC" });
    await maker("POST /v3/orders", { outcomeId: other, price: "0.100", qty: 7, tif: "GTC" });
    await taker("POST /v3/orders", { outcomeId: other, price: "0.400", qty: 40, tif: "IOC" });
    await author(`POST /admin/v1/markets/${idle.marketId}/status`, { action: "pause" });

    const figures = { openOrders: 2, openContracts: 67, escrow: { CASH: "0.40000", COIN: "0.00000" } };
    const ofEvent = async () =>
      (await itemsOf("GET /admin/v1/exposure")).find((one) => one.eventId === eventId);
    await until(ofEvent, (one) => one?.openContracts === 67);
    expect(await ofEvent()).to.deep.equal({
      eventId,
      markets: { OPEN: 2, CLOSED: 0, SETTLED: 0 },
      paused: 1,
      ...figures,
    });
    const ofMarkets = await itemsOf(`GET /admin/v1/events/${eventId}/exposure`);
    expect(ofMarkets).to.have.deep.members([
      { marketId, ...figures },
      {
        marketId: idle.marketId,
        openOrders: 0,
        openContracts: 0,
        escrow: { CASH: "0.00000", COIN: "0.00000" },
      },
    ]);
  });

  it("answers the list of events again for a few seconds", async () => {
    const ids = async () => (await itemsOf("GET /admin/v1/exposure")).map(({ eventId }) => eventId);
    const missed = await until(
      async () => {
        await ids();
        const { eventId } = await newMarket(stack);
        return { eventId, listed: await ids() };
      },
      ({ eventId, listed }) => !listed.includes(eventId),
    );
    await until(ids, (listed) => listed.includes(missed.eventId));
  });

  it("leaves out events that are settled, and canceled ones whose markets are", async () => {
    const { eventId } = await newMarket(stack);
    const path = `/admin/v1/events/${eventId}/status`;
    const approval = await author(`POST ${path}`, { action: "cancel", reason: "the venue is flooded" });
    expect(approval.json["details"]).to.deep.equal({ reason: "the venue is flooded" });
    const owner = bearerCalls(
      stack.url,
      await login(stack.url, await addOperator(stack, "owner", { createdTs: 1 })),
    );
    const approved = await owner(`POST /admin/v1/approvals/${String(approval.json["approvalId"])}/approve`);
    expect(resultOf(approved)).to.equal("200");
    await until(
      () => itemsOf("GET /admin/v1/exposure"),
      (items) => items.every((one) => one.eventId !== eventId),
    );
  });

  it("shows a grade that waits to the second operator as the first one made it", async () => {
    const { marketId, eventId, outcomes } = await newMarket(stack, "FMV");
    const [first, other] = outcomes;
    const grade = { prices: { [first]: "0.700", [other]: "0.300" } };
    const path = `/admin/v1/markets/${marketId}`;
    await author(`POST ${path}/grade`, grade);
    const { json: session } = await author("GET /v3/session");
    const shown = (await second(`GET ${path}/settlement`)).json;
    expect(shown).to.include({ status: "PENDING_APPROVAL", requestedBy: session["traderId"] });
    expect(shown["grade"]).to.deep.equal(grade);
    const listed = async () => {
      const { json } = await second("GET /admin/v1/settlements");
      expect(json["approvals"]).to.equal(2);
      return (json["items"] as Record<string, unknown>[]).find((one) => one["marketId"] === marketId);
    };
    expect(await listed()).to.deep.equal({
      settlementId: shown["settlementId"],
      marketId,
      eventId,
      description: "Who wins",
      status: "PENDING_APPROVAL",
      requestedBy: session["traderId"],
      requestedTs: shown["requestedTs"],
    });
    expect(resultOf(await second(`POST ${path}/settlement/approve`))).to.equal("202");
    await until(
      () => author(`GET ${path}/settlement`),
      ({ json }) => json["status"] === "SETTLED",
    );
    const settled = (await author(`GET ${path}/settlement`)).json;
    expect(settled).to.include({ requestedBy: session["traderId"], requestedTs: shown["requestedTs"] });
    expect(settled["grade"]).to.deep.equal(grade);
    expect(await listed()).to.equal(undefined);
  });

  it("records the reason of an action on an event and on a market", async () => {
    const { marketId, eventId } = await newMarket(stack);
    const reason = "the feed of the venue is late";
    await author(`POST /admin/v1/markets/${marketId}/status`, { action: "pause", reason });
    await author(`POST /admin/v1/events/${eventId}/status`, { action: "close", reason });
    const recordOf = async (subject: string, action: string): Promise<unknown> => {
      const { json } = await author(`GET /admin/v1/audit-log?subject=${subject}&action=${action}`);
      return (json["items"] as { after: unknown }[])[0]?.after;
    };
    expect(await recordOf(marketId, "market.pause")).to.deep.equal({ reason });
    expect(await recordOf(eventId, "event.close")).to.deep.equal({ status: "CLOSED_PREGAME", reason });
  });

  it("shows the health of the exchange as /readyz does", async () => {
    const health = await author("GET /admin/v1/health");
    expect(resultOf(health)).to.equal("200");
    expect(health.json).to.include({ ready: true, redis: true, postgres: true });
    const readyz = (await (await fetch(`${stack.url}/readyz`)).json()) as object;
    expect(Object.keys(health.json).sort()).to.deep.equal([...Object.keys(readyz), "difference"].sort());
    expect(health.json["difference"]).to.deep.equal({ CASH: "0.00000", COIN: "0.00000" });
  });

  it("lists the leagues with their sports, and the market types", async () => {
    const { json: leagues } = await author("GET /admin/v1/leagues");
    expect(leagues["items"]).to.deep.include({ name: "NFL", sport: "FOOTBALL" });
    const { json: types } = await author("GET /admin/v1/market-types");
    expect(types["items"]).to.deep.include({ name: "SPREAD", qaOnly: false });
  });
});
