import { expect } from "chai";
import { openStream } from "../../stream/ws/support/client.js";
import { startStack, type Stack } from "../../support/stack.js";
import { addMarket, newEvent, newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";
import { callsOf, operatorCalls } from "../calls.js";

describe("the orders that rest", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  it("are those of GET /v3/account/orders and of the stream's snapshot, until a grade of the open market ends them", async () => {
    const operator = await operatorCalls(stack);
    const { trading } = await newTrader(stack);
    const calls = callsOf(stack.url, trading);
    const { eventId } = await newEvent(stack);
    const { marketId, outcomes } = await addMarket(stack, eventId, { liveDelayMs: 30_000 });
    const outcomeId = outcomes[0]?.outcomeId;
    await operator(`POST /admin/v1/events/${eventId}/status`, { action: "golive" });
    const place = async (tif: string): Promise<string> => {
      const answer = await calls("POST /v3/orders", { outcomeId, price: "0.300", qty: 5, tif });
      return String(answer.json["orderId"]);
    };
    const statusOf = async (orderId: string) => (await calls(`GET /v3/orders/${orderId}`)).json;
    // An order that could take liquidity waits out the delay of an event in play; one that only posts rests at once.
    const [rests, waits] = [await place("PO"), await place("GTC")];
    await until(
      () => statusOf(rests),
      ({ status }) => status === "OPEN",
    );
    expect(await statusOf(waits)).to.include({ status: "PENDING" });

    const client = await openStream(stack.url, trading);
    const snapshot = await client.request("subscribe", { private: ["orders"] });
    const streamed = (snapshot["orders"] as { open: object[] }).open;
    const { open } = (await calls("GET /v3/account/orders")).json as { open: { orderId: string }[] };
    expect(open.map(({ orderId }) => orderId)).to.deep.equal([rests]);
    expect(streamed).to.deep.equal(open);
    const pending = (await calls("GET /v3/orders?status=PENDING")).json["items"] as { orderId: string }[];
    expect(pending.map(({ orderId }) => orderId)).to.deep.equal([waits]);

    await operator(`POST /admin/v1/markets/${marketId}/grade`, { winner: outcomeId });
    await until(
      () => statusOf(rests),
      ({ status, reason }) => status === "CANCELED" && reason === "SETTLED",
    );
    expect((await calls("GET /v3/account/orders")).json["open"]).to.deep.equal([]);
    await until(() => JSON.stringify(client.frames).includes('"reason":"SETTLED"'));
    client.socket.terminate();
  });

  it("end with reasons, and transfers with statuses, that the documents name", async () => {
    const { paths } = (await (await fetch(`${stack.url}/openapi.json`)).json()) as { paths: object };
    const document = JSON.stringify(paths);
    expect(document).to.not.include('"Requested"');
    const asyncApi = await (await fetch(`${stack.url}/asyncapi.json`)).text();
    expect(asyncApi).to.include('"SETTLED"');
  });
});
