import { expect } from "chai";
import { callsOf, openCalls, type Calls } from "../calls.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";
import { until } from "../../support/until.js";

interface Transition {
  readonly kind: string;
  readonly status: string;
  readonly ts: number;
}

describe("the state and the life of a market in the catalog", function () {
  this.timeout(60_000);
  let stack: Stack;
  let visitor: Calls;
  let trader: Calls;

  before(async () => {
    stack = await startStack();
    visitor = openCalls(stack.url);
    trader = callsOf(stack.url, (await newTrader(stack)).trading);
  });
  after(() => stack.stop());

  it("shows a pause to visitors and traders, on the market and in lists, until it ends", async () => {
    const { marketId, eventId } = await newMarket(stack);
    const seen = async (): Promise<unknown[]> => {
      const of = async (calls: Calls, base: string): Promise<unknown[]> => {
        const { json: market } = await calls(`GET ${base}/catalog/markets/${marketId}`);
        const { json: list } = await calls(`GET ${base}/catalog/markets?event=${eventId}`);
        const [listed] = list["items"] as Record<string, unknown>[];
        return [market["status"], market["paused"], listed?.["paused"]];
      };
      return [...(await of(visitor, "/v3/public")), ...(await of(trader, "/v3"))];
    };
    const running = ["OPEN", undefined, undefined];
    const paused = ["OPEN", true, true];
    expect(await seen()).to.deep.equal([...running, ...running]);
    await stack.operator.setMarketStatus(marketId, "pause");
    expect(await seen()).to.deep.equal([...paused, ...paused]);
    await stack.operator.setMarketStatus(marketId, "resume");
    expect(await seen()).to.deep.equal([...running, ...running]);
    await stack.operator.setMarketStatus(marketId, "pause");
    await stack.operator.setMarketStatus(marketId, "close");
    expect((await seen()).slice(0, 3)).to.deep.equal(["CLOSED", undefined, undefined]);
  });

  it("lists the last fifty transitions, newest first, to visitors and traders", async () => {
    const { marketId } = await newMarket(stack);
    for (const action of ["pause", "resume", "close"] as const)
      await stack.operator.setMarketStatus(marketId, action);
    const read = async (calls: Calls, base: string): Promise<Transition[]> =>
      (await calls(`GET ${base}/catalog/markets/${marketId}/lifecycle`)).json["items"] as Transition[];
    const first = await read(visitor, "/v3/public");
    expect(first.map(({ kind, status }) => `${kind} ${status}`)).to.deep.equal([
      "CLOSE CLOSED",
      "RESUME OPEN",
      "PAUSE OPEN",
      "OPEN OPEN",
    ]);
    const times = first.map(({ ts }) => ts);
    expect(times).to.deep.equal(times.toSorted((a, b) => b - a));
    expect(times[0]).to.be.closeTo(Date.now(), 60_000);
    expect(await read(trader, "/v3")).to.deep.equal(first);

    for (let turn = 0; turn < 25; turn += 1) {
      await stack.operator.setMarketStatus(marketId, "open");
      await stack.operator.setMarketStatus(marketId, "close");
    }
    // Visitors share a read for a second.
    const last = await until(
      () => read(visitor, "/v3/public"),
      (found) => found.length === 50,
    );
    expect(last).to.deep.equal(await read(trader, "/v3"));
    expect(last.slice(0, 2).map(({ kind }) => kind)).to.deep.equal(["CLOSE", "OPEN"]);
    expect(last.map(({ kind }) => kind)).to.not.include("PAUSE");
  });

  it("answers a market of a hidden event as a missing one", async () => {
    const { marketId } = await newMarket(stack, "PUSH", false);
    const { status, json } = await visitor(`GET /v3/public/catalog/markets/${marketId}/lifecycle`);
    expect([status, json["code"]]).to.deep.equal([404, "MARKET_NOT_FOUND"]);
  });
});
