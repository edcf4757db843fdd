import { runInNewContext } from "node:vm";
import { setFlagsFromString } from "node:v8";
import { expect } from "chai";
import { type Client, serve, type TestServer, trader } from "../support/client.js";
import { ids, TestExchange } from "../support/exchange.js";
import { untilWithin } from "../../../support/until.js";

const CROWD = 200;
const ATTENTIVE = 3;
/** Orders in one batch; its frame has about 30 kB. */
const ORDERS = 250;
const GROWTH_BYTES = 100 * 2 ** 20;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function keptBytes(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A reader of a book that only counts frames and bytes. */
interface Reader {
  readonly client: Client;
  frames: number;
  bytes: number;
}

describe("200 readers that stop reading", function () {
  this.timeout(120_000);
  const [maker = "", reader = ""] = ids(2);
  let exchange: TestExchange;
  let server: TestServer;

  beforeEach(async () => {
    exchange = new TestExchange();
    exchange.fund(maker);
    server = await serve(exchange);
  });
  afterEach(() => server.close());

  async function join(marketId: string, count: number, stalled: boolean): Promise<Reader[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const client = await server.connect(trader(reader));
        await client.request("subscribe", { markets: { [marketId]: "book" } });
        const one: Reader = { client, frames: 0, bytes: 0 };
        client.socket.removeAllListeners("message");
        client.socket.on("message", (data: Buffer) => {
          one.frames += 1;
          one.bytes += data.length;
        });
        if (stalled) client.socket.pause();
        return one;
      }),
    );
  }

  it("cost the gateway little memory, and do not delay the other readers", async () => {
    const { marketId, outcomes } = exchange.createMarket(2);
    const [{ outcomeId } = { outcomeId: "" }] = outcomes;
    const attentive = await join(marketId, ATTENTIVE, false);

    /** Fills and empties the book. Returns how long each change took to reach every attentive reader, in ms. */
    const change = async (times: number): Promise<number[]> => {
      const latenciesMs: number[] = [];
      for (let i = 0; i < times; i += 1) {
        const orders = Array.from({ length: ORDERS }, () => ({
          outcomeId,
          price: "0.010",
          qty: 1,
          tif: "PO",
        }));
        for (const act of [
          () => exchange.place(trader(maker), orders, false),
          () => exchange.cancelAll(trader(maker), {}),
        ]) {
          const before = attentive.map(({ frames }) => frames);
          const began = performance.now();
          await act();
          exchange.commit();
          await untilWithin(20_000, () =>
            attentive.every(({ frames }, index) => frames > (before[index] ?? 0)),
          );
          latenciesMs.push(performance.now() - began);
        }
      }
      return latenciesMs.sort((a, b) => a - b);
    };
    const p99 = (sorted: readonly number[]): number => sorted[Math.floor(0.99 * sorted.length)] ?? NaN;

    const readers = await join(marketId, CROWD, false);
    const reading = await change(10);
    for (const { client } of readers) client.socket.terminate();

    const stalled = await join(marketId, CROWD, true);
    const before = keptBytes();
    const latenciesMs = await change(60);
    const grown = keptBytes() - before;
    expect(grown).to.be.below(GROWTH_BYTES);
    expect(p99(latenciesMs)).to.be.below(3 * p99(reading) + 250);
    // The stalled readers were sent far more than connections buffer, and received nothing.
    expect(stalled.every(({ bytes }) => bytes === 0)).to.equal(true);
    expect(attentive[0]?.bytes).to.be.above(5_000_000);
  });
});
