import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Session } from "../../../http/client/rest/session.js";
import { generateKey, Signer } from "../../../http/client/client.js";
import { startStack, type Stack } from "../../support/stack.js";
import { addMarket, newEvent, type TestKey } from "../../support/traders.js";
import { type Client, deltasOf, type Json, Mirror, openStream } from "./support/client.js";
import { until } from "../../support/until.js";

interface Trader {
  readonly key: TestKey;
  readonly rest: RestClient;
}

describe("the stream of a whole exchange", function () {
  this.timeout(60_000);
  let stack: Stack;
  const clients: Client[] = [];

  before(async () => {
    stack = await startStack();
  });

  after(async () => {
    for (const { socket } of clients) socket.terminate();
    await stack.stop();
  });

  async function enter(email: string): Promise<Trader> {
    const connection = stack.connect();
    const session = new Session(connection, { email, password: "a long password" });
    const { traderId } = await session.register();
    await stack.operator.verifyTrader(traderId);
    await session.checkIn("US-NY");
    await stack.operator.deposit(traderId, "100.00", "first deposit", `${email}-1`);
    const managing = await generateKey("Ed25519");
    const management = await session.createManagementKey("mine", managing.publicKey, "Ed25519");
    const manager = new RestClient(
      connection,
      new Signer({ ...managing, keyId: management.keyId }, stack.brand),
    );
    const trading = await generateKey("Ed25519");
    const opened = await manager.openSubaccount("main", trading.publicKey, "Ed25519");
    await manager.transfer(opened.keyId, "fund", "60", "one");
    const key = { key: { ...trading, keyId: opened.keyId }, brand: stack.brand };
    return { key, rest: new RestClient(connection, new Signer(key.key, key.brand)) };
  }

  async function stream({ key }: Trader): Promise<Client> {
    const client = await openStream(stack.url, key);
    clients.push(client);
    return client;
  }

  it("sends a new market to the watchers of its event, and a trade to both of its sides", async () => {
    const { eventId } = await newEvent(stack);
    const [maker, taker] = [await enter("maker@example.com"), await enter("taker@example.com")];
    const [making, taking] = [await stream(maker), await stream(taker)];
    const mirror = new Mirror();
    const channels = { events: { [eventId]: ["book", "bbo", "trades"] }, private: ["orders", "positions"] };
    expect(await making.request("subscribe", channels)).to.deep.include({
      snapshot: {},
      orders: { seq: 0, open: [] },
    });
    const { marketId, outcomes } = await addMarket(stack, eventId, { voids: "FMV" });
    const [ants = "", bees = ""] = outcomes.map(({ outcomeId }) => outcomeId);
    await until(() => {
      mirror.catchUp(making);
      return mirror.markets.get(marketId)?.status === "OPEN";
    });
    expect(mirror.markets.get(marketId)?.seqs).to.deep.equal({ lifecycle: 1 });

    const order = { outcomeId: ants, price: "0.600", qty: 100, tif: "GTC" };
    const { placed } = (await making.request("place", { orders: [order] })) as {
      placed: { orderId: string }[];
    };
    const orderId = placed[0]?.orderId ?? "";
    await until(() => {
      mirror.catchUp(making);
      return mirror.orders.has(orderId) && mirror.markets.get(marketId)?.seqs["book"] === 1;
    });
    expect((await maker.rest.book(marketId)).orders[ants]).to.deep.equal([
      { orderId, price: "0.600", qty: 100 },
    ]);

    await taking.request("subscribe", { markets: { [marketId]: "trades" }, private: ["orders"] });
    await taker.rest.placeOrder({ outcomeId: bees, price: "0.450", qty: 40, tif: "IOC" });
    const fill = await taking.next(
      (frame) => (frame["orders"] as Json | undefined)?.["deltas"] !== undefined,
    );
    expect(fill).to.have.nested.property("orders.deltas[0].price", "0.400");
    await until(() => {
      mirror.catchUp(making);
      return mirror.positions.size === 1 && mirror.markets.get(marketId)?.seqs["trades"] === 1;
    });
    expect([...mirror.positions.values()]).to.deep.equal([
      { marketId, outcomeId: ants, qty: 40, cost: "0.24000" },
    ]);
    expect(mirror.book(marketId, [ants, bees])).to.deep.equal([[`${orderId}:0.600:60`], []]);

    const orderIds = [orderId, ants];
    expect((await making.request("cancel", { orderIds }))["canceled"]).to.deep.equal({
      canceled: [orderId],
      notCanceled: [{ orderId: ants, reason: "NOT_FOUND" }],
    });
    await until(() => {
      mirror.catchUp(making);
      return mirror.orders.size === 0 && mirror.book(marketId, [ants]).flat().length === 0;
    });
    const again = await stream(maker);
    const since = { [`market:${marketId}`]: { book: 1, trades: 0, lifecycle: 1 }, orders: 1 };
    const resumed = await again.request("subscribe", {
      markets: { [marketId]: ["book", "trades"] },
      private: ["orders"],
      since,
    });
    expect(resumed["resumed"]).to.deep.equal({
      [`market:${marketId}`]: { lifecycle: true, trades: true, book: true },
      orders: true,
    });
    await until(() => again.frames.filter((frame) => frame["delta"] !== undefined).length === 4);
    expect((await again.request("query_markets", { event: eventId }))["markets"]).to.have.nested.property(
      "items[0].marketId",
      marketId,
    );
    expect(await again.request("place", { orders: [{ ...order, price: "0.6001" }] })).to.include({
      code: "INVALID_PRICE",
    });
    expect(await again.request("place", { orders: [{ ...order, size: 1 }] })).to.have.property(
      "code",
      "INVALID_BODY",
    );
    again.sendRaw('{"nonce":9,"status":{},"status":{}}');
    await again.next((frame) => frame["code"] === "INVALID_REQUEST");
  });

  it("sends the fills of a placement beside its answer, with the same ids", async () => {
    const { eventId } = await newEvent(stack);
    const { outcomes } = await addMarket(stack, eventId, { voids: "FMV" });
    const [ants, bees] = outcomes.map(({ outcomeId }) => outcomeId);
    const [making, taking] = [await enter("first@example.com"), await enter("second@example.com")];
    await making.rest.placeOrder({ outcomeId: ants ?? "", price: "0.500", qty: 100, tif: "GTC" });
    const client = await stream(taking);
    await client.request("subscribe", { private: ["orders"] });
    const clientId = randomUUID();
    const order = { outcomeId: bees, price: "0.500", qty: 1, tif: "IOC", clientId };
    const { placed } = await client.request("place", { orders: [order] });
    const [{ orderId }] = placed as [{ orderId: string }];
    await until(() => deltasOf(client).length === 1);
    const fill = "orders.deltas[0]";
    expect(deltasOf(client)[0]).to.have.nested.property(`${fill}.kind`, "fill");
    expect(deltasOf(client)[0]).to.have.nested.property(`${fill}.orderId`, orderId);
    expect(deltasOf(client)[0]).to.have.nested.property(`${fill}.clientId`, clientId);
  });
});
