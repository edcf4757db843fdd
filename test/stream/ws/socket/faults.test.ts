import { expect } from "chai";
import { parseRequest } from "../../../../stream/ws/socket/protocol.js";
import { type Client, type Json, Mirror, serve, type TestServer, trader } from "../support/client.js";
import { ids, TestExchange } from "../support/exchange.js";
import { until } from "../../../support/until.js";

const [ann = ""] = ids(1);

describe("faults of the sandbox", () => {
  let exchange: TestExchange;
  let server: TestServer;
  let client: Client;
  let marketId: string;
  let outcomeIds: readonly string[];

  beforeEach(async () => {
    exchange = new TestExchange();
    exchange.fund(ann);
    exchange.fund(ann, "COIN");
    const definition = exchange.createMarket(2);
    marketId = definition.marketId;
    outcomeIds = definition.outcomes.map(({ outcomeId }) => outcomeId);
    server = await serve(exchange, { sandbox: true });
    client = await server.connect(trader(ann));
  });

  afterEach(() => server.close());

  async function place(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const order = { outcomeId: outcomeIds[i % 2] ?? "", price: "0.300", qty: i + 1, tif: "GTC" } as const;
      await exchange.place(trader(ann), [order], false);
      exchange.commit();
      // Each order gets its own tick, so that their frames do not leave in one write.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  const bookSeqs = (): number[] =>
    client.frames.flatMap((frame) => {
      const delta = frame["delta"] as Record<string, { book?: { seq: number } }> | undefined;
      const seq = delta?.[marketId]?.book?.seq;
      return seq === undefined ? [] : [seq];
    });

  it("are an unknown verb in production, and are validated in the sandbox", async () => {
    expect(parseRequest({ nonce: 1, fault: { stall: 5 } })).to.include({
      ok: false,
      message: "unknown verb; /asyncapi.json lists the verbs",
    });
    for (const payload of [
      {},
      { stall: -1 },
      { stall: 5, dropFrames: 0.1 },
      { dropFrames: 2 },
      { goLiveStorm: 0 },
    ]) {
      expect(await client.request("fault", payload)).to.include({ code: "INVALID_REQUEST" });
    }
  });

  it("dropFrames: some deltas are lost, answers and heartbeats are not", async () => {
    await client.request("subscribe", { markets: { [marketId]: "book" }, private: ["orders"] });
    expect(await client.request("fault", { dropFrames: 0.5 })).to.deep.include({
      fault: { dropFrames: 0.5 },
    });
    await place(40);
    expect(await client.request("fault", { dropFrames: 0 })).to.have.property("fault");
    await place(1);
    await until(() => bookSeqs().at(-1) === 41);
    expect(bookSeqs().length).to.be.within(4, 38);
    const mine = client.frames.filter(
      (frame) => frame["delta"] !== undefined && frame["orders"] !== undefined,
    );
    expect(mine.length).to.be.within(4, 38);
  });

  it("stall: nothing is sent for a time, then everything in order", async () => {
    await client.request("subscribe", { markets: { [marketId]: "book" } });
    client.send("fault", { stall: 150 });
    await until(() => client.frames.length === 2);
    const began = Date.now();
    await place(5);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(bookSeqs()).to.deep.equal([]);
    await until(() => bookSeqs().length === 5);
    expect(bookSeqs()).to.deep.equal([1, 2, 3, 4, 5]);
    expect(Date.now() - began).to.be.within(100, 2_000);
  });

  it("goLiveStorm: books empty and fill without a gap, and a reconnect brings the true state", async () => {
    await place(6);
    const mirror = new Mirror();
    await client.request("subscribe", { markets: { [marketId]: ["book", "bbo"] } });
    mirror.catchUp(client);
    const before = mirror.book(marketId, outcomeIds);
    expect(before.flat()).to.have.length(6);
    const shown: number[] = [];
    await client.request("fault", { goLiveStorm: 3 });
    expect(await client.closed).to.include({ code: 1012 });
    for (const frame of client.frames.slice(1)) {
      mirror.take(frame);
      if (frame["delta"] !== undefined) shown.push(mirror.book(marketId, outcomeIds).flat().length);
    }
    expect(shown).to.deep.equal([0, 6, 0, 6, 0, 6]);
    expect(mirror.book(marketId, outcomeIds)).to.deep.equal(before);
    const since = { [`market:${marketId}`]: { book: mirror.markets.get(marketId)?.seqs["book"] } };
    const again = await server.connect(trader(ann));
    const answer = await again.request("subscribe", { markets: { [marketId]: "book" }, since });
    expect(answer["resumed"]).to.deep.equal({ [`market:${marketId}`]: { book: false } });
    expect((answer["snapshot"] as Record<string, Json>)[marketId]).to.have.nested.property("book.seq", 6);
  });
});
