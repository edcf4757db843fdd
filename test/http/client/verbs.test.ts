import { expect } from "chai";
import { Signer, StreamClient } from "../../../http/client/client.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";

describe("client: the verbs of the stream", () => {
  let stack: Stack;
  let stream: StreamClient;
  before(async () => {
    stack = await startStack();
    const { trading } = await newTrader(stack);
    stream = new StreamClient(stack.connect(), new Signer(trading.key, stack.brand));
    await stream.connect();
  });
  after(async () => {
    stream.close();
    await stack.stop();
  });

  it("query the catalog", async () => {
    const { eventId, marketId } = await newMarket(stack);
    const { items } = await stream.queryMarkets({ event: eventId });
    expect(items.map((market) => market.marketId)).to.deep.equal([marketId]);
    const events = await stream.queryEvents({ limit: 100 });
    expect(events.items.map((event) => event.eventId)).to.include(eventId);
    expect(events.asOf).to.be.a("number");
  });

  it("add and remove subscriptions, which the status lists", async () => {
    const [kept, removed] = [await newMarket(stack), await newMarket(stack)];
    await stream.subscribe({
      markets: { [kept.marketId]: "book", [removed.marketId]: "book" },
      private: ["orders", "positions"],
    });
    expect(await stream.status()).to.deep.include({ watchedMarkets: 2 });
    expect(stream.wallet.seqs).to.have.all.keys("orders", "positions");
    await stream.unsubscribe([`market:${removed.marketId}`, "PRIVATE"]);
    const { selection, maxWatchedMarkets, tokens } = await stream.status();
    expect(Object.keys(selection.markets)).to.deep.equal([kept.marketId]);
    expect(selection.private).to.deep.equal([]);
    expect(maxWatchedMarkets).to.be.greaterThan(1);
    expect(tokens).to.be.greaterThan(0);
    expect(stream.book(removed.marketId)).to.equal(undefined);
    expect(stream.book(kept.marketId)?.size).to.equal(0);
    expect(stream.wallet.seqs).to.deep.equal({});
  });
});
