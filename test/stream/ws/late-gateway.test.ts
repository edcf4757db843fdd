import { expect } from "chai";
import type { Tail } from "../../../stream/log/ports.js";
import { type Client, type Json, serve, type TestServer, trader } from "./support/client.js";
import { ids, TestExchange } from "./support/exchange.js";
import { stopwatch } from "../../support/stopwatch.js";

const LATE_MS = 150;
const [ann = ""] = ids(1);

describe("a gateway that receives entries later than another gateway", () => {
  let exchange: TestExchange;
  let server: TestServer;
  let warm: Client;

  beforeEach(async () => {
    exchange = new TestExchange();
    exchange.fund(ann);
    exchange.commit();
    const late: Tail = {
      head: (actor) => exchange.tail.head(actor),
      read: (actor, afterSeq, throughSeq) => exchange.tail.read(actor, afterSeq, throughSeq),
      follow: (actor, afterSeq, onEntries, onGap) =>
        exchange.tail.follow(
          actor,
          afterSeq,
          (entries) => void setTimeout(() => onEntries(entries as never), LATE_MS),
          onGap,
        ),
    };
    server = await serve(exchange, { tail: late });
    warm = await server.connect(trader(ann));
  });

  afterEach(async () => {
    await server.close();
    expect(server.errors).to.deep.equal([]);
  });

  it("does not take a watcher back behind the seqs from the other gateway", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    const selection = { markets: { [marketId]: "book" }, private: ["orders"] };
    await warm.request("subscribe", selection);
    await exchange.place(
      trader(ann),
      [{ outcomeId: outcomes[0]?.outcomeId, price: "0.400", qty: 3, tif: "GTC" }],
      false,
    );
    exchange.commit();
    const since = { [`market:${marketId}`]: { lifecycle: 1, book: 1 }, orders: 1 };
    const moved = await server.connect(trader(ann));
    const { resumed, snapshot, orders } = await moved.request("subscribe", { ...selection, since });
    expect({ resumed, snapshot, orders }).to.deep.equal({
      resumed: { [`market:${marketId}`]: { lifecycle: true, book: true }, orders: true },
      snapshot: {},
      orders: undefined,
    });
    await new Promise((resolve) => setTimeout(resolve, 2 * LATE_MS));
    expect(moved.frames.filter((frame: Json) => frame["delta"] !== undefined)).to.deep.equal([]);
    expect(warm.frames.filter((frame: Json) => frame["delta"] !== undefined)).to.have.length(2);
  });

  it("sends a snapshot at once to a watcher whose seqs never existed", async () => {
    const { marketId } = exchange.createMarket(2);
    const selection = { markets: { [marketId]: "book" }, private: ["orders"] };
    await warm.request("subscribe", selection);
    const since = { [`market:${marketId}`]: { book: 77 }, orders: 77 };
    const elapsedMs = stopwatch();
    const { resumed, snapshot, orders } = await warm.request("subscribe", { ...selection, since });
    expect(resumed).to.deep.equal({ [`market:${marketId}`]: { book: false }, orders: false });
    expect(snapshot).to.have.nested.property(`${marketId}.book.seq`, 0);
    expect(orders).to.deep.equal({ seq: 0, open: [] });
    expect(elapsedMs()).to.be.below(900);
  });
});
