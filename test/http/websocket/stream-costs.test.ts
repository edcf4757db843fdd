import { expect } from "chai";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Signer } from "../../../http/client/client.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { type Client, openStream } from "../../stream/ws/support/client.js";

describe("costs of the stream", function () {
  this.timeout(60_000);
  let stack: Stack;
  let trader: TestTrader;
  let rest: RestClient;
  const clients: Client[] = [];

  before(async () => {
    stack = await startStack({ metered: true, gateways: 2 });
  });

  beforeEach(async () => {
    trader = await newTrader(stack);
    rest = new RestClient(stack.connect(), new Signer(trader.trading.key, stack.brand));
  });

  after(async () => {
    for (const { socket } of clients) socket.terminate();
    await stack.stop();
  });

  async function open(gateway = 0): Promise<Client> {
    const client = await openStream(stack.urls[gateway] ?? "", trader.trading);
    clients.push(client);
    return client;
  }

  /** Measures the tokens that a task takes from the `stream` bucket, which refills by four a second. Returns a check. */
  async function costOf(task: () => Promise<unknown>): Promise<(cost: number) => void> {
    const began = Date.now();
    const before = (await rest.limits()).stream.remaining;
    await task();
    const spent = before - (await rest.limits()).stream.remaining;
    const gained = Math.ceil(((Date.now() - began) * 4) / 1_000);
    return (cost) => expect(spent).to.be.within(cost - gained - 1, cost);
  }

  it("are charged to the key, as the contract states them", async () => {
    const { marketId, eventId } = await newMarket(stack);
    const [client, other] = [await open(0), await open(1)];
    const market = `market:${marketId}`;
    const since = { [market]: { book: 0 }, orders: 0 };
    (await costOf(() => open(1)))(32);
    const subscribe = (on: Client, payload: object): Promise<unknown> => on.request("subscribe", payload);
    (await costOf(() => subscribe(client, { markets: { [marketId]: "lifecycle" } })))(1);
    (await costOf(() => subscribe(other, { markets: { [marketId]: ["trades", "bbo", "book"] } })))(28);
    (await costOf(() => subscribe(client, { events: { [eventId]: "book" }, private: ["orders"] })))(17);
    (await costOf(() => subscribe(client, { markets: { [marketId]: "book" }, private: ["orders"], since })))(
      17,
    );
    (await costOf(() => client.request("snapshot", { markets: { [marketId]: "bbo" } })))(8);
    (await costOf(() => client.request("unsubscribe", [market, `event:${eventId}`, "PRIVATE"])))(3);
    (await costOf(() => client.request("status", {})))(1);
    (await costOf(() => client.request("safety", { cancelOnDisconnect: false })))(0);
  });

  it("are refused when the bucket has too few tokens, before the upgrade and after it", async () => {
    const first = await open();
    for (let i = 1; i < 15; i += 1) await open(i % 2);
    const { marketId } = await newMarket(stack);
    const book = { markets: { [marketId]: ["book", "bbo", "trades"] } };
    expect(await first.request("subscribe", book)).to.have.property("subscribed");
    const refused = await first.request("subscribe", book);
    expect(refused).to.include({ code: "RATE_LIMIT_EXCEEDED" });
    expect(refused["message"]).to.match(/^the stream bucket is empty; retry after [1-9] s$/);
    const late = await open().catch((error: unknown) => String(error));
    expect(late).to.equal("Error: Unexpected server response: 429");
    expect(await first.request("status", {})).to.have.property("status");
  });
});
