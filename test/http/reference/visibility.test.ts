import { expect } from "chai";
import { openStream } from "../../stream/ws/support/client.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { callsOf, openCalls, operatorCalls, resultOf, type Calls } from "../calls.js";
import { EmmClient, newClient } from "../surface-b/client.js";

describe("the markets of an event that an operator hides", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let operator: Calls;
  let emm: EmmClient;

  before(async () => {
    stack = await startStack();
    trader = await newTrader(stack);
    operator = await operatorCalls(stack);
    emm = new EmmClient(stack.url, await newClient(stack, trader), stack.prefix);
  });
  after(() => stack.stop());

  it("leave every public list of both surfaces and the stream, and come back with it", async () => {
    const { eventId, marketId } = await newMarket(stack);
    const signed = callsOf(stack.url, trader.trading);
    const anybody = openCalls(stack.url);
    const has = async (calls: Calls, path: string): Promise<boolean> => {
      const { json } = await calls(`GET ${path}?limit=5000`);
      return (json["items"] as object[]).some((item) => JSON.stringify(item).includes(eventId));
    };
    const client = await openStream(stack.url, trader.trading);
    const asked = async (verb: string): Promise<boolean> => {
      return JSON.stringify(await client.request(verb, { limit: 5_000 })).includes(eventId);
    };
    const subscribed = async (selection: object): Promise<string> => {
      const { code = "served" } = await client.request("snapshot", selection);
      return String(code);
    };
    const shown = async () => ({
      events: await has(signed, "/v3/catalog/events"),
      markets: await has(signed, "/v3/catalog/markets"),
      "public events": await has(anybody, "/v3/public/catalog/events"),
      "public markets": await has(anybody, "/v3/public/catalog/markets"),
      "open markets of surface B": JSON.stringify(await emm.read("/markets/open")).includes(marketId),
      "events of the stream": await asked("query_events"),
      "markets of the stream": await asked("query_markets"),
    });
    const all = (value: boolean) =>
      Object.fromEntries(Object.keys(before).map((name) => [name, value] as const));
    const one = async (): Promise<readonly string[]> => [
      resultOf(await anybody(`GET /v3/public/catalog/events/${eventId}`)),
      resultOf(await anybody(`GET /v3/public/catalog/markets/${marketId}`)),
      resultOf(await anybody(`GET /v3/public/catalog/markets/${marketId}/book`)),
      resultOf(await anybody(`GET /v3/public/catalog/markets/${marketId}/trades`)),
      await subscribed({ markets: { [marketId]: "book" } }),
      await subscribed({ events: { [eventId]: "book" } }),
    ];
    const before = await shown();
    expect(before).to.deep.equal(all(true));
    const setVisible = async (visible: boolean): Promise<void> => {
      expect(resultOf(await operator(`PATCH /admin/v1/events/${eventId}`, { visible }))).to.equal("200");
    };
    await setVisible(false);
    expect(await shown()).to.deep.equal(all(false));
    expect(await one()).to.deep.equal([
      "404 EVENT_NOT_FOUND",
      "404 MARKET_NOT_FOUND",
      "404 MARKET_NOT_FOUND",
      "404 MARKET_NOT_FOUND",
      "MARKET_NOT_FOUND",
      "EVENT_NOT_FOUND",
    ]);
    await setVisible(true);
    await until(shown, (lists) => Object.values(lists).every((listed) => listed));
    expect(await one()).to.deep.equal(["200", "200", "200", "200", "served", "served"]);
    client.socket.terminate();
  });
});
