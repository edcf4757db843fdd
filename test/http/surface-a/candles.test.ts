import { expect } from "chai";
import { callsOf } from "../calls.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader } from "../../support/traders.js";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

describe("a request for candles", function () {
  this.timeout(60_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack();
  });
  after(() => stack.stop());

  it("spans less without a signature", async () => {
    const { marketId, outcomes } = await newMarket(stack);
    const calls = callsOf(stack.url, (await newTrader(stack)).trading);
    const query = (interval: string, spanMs: number): string => {
      const from = 1_790_000_000_000;
      const range = `interval=${interval}&from=${from}&to=${from + spanMs}`;
      return `catalog/markets/${marketId}/candles?outcome=${outcomes[0]}&${range}`;
    };
    const unsigned = async (interval: string, spanMs: number): Promise<unknown> => {
      const answer = await fetch(`${stack.url}/v3/public/${query(interval, spanMs)}`);
      return answer.status === 200 ? 200 : ((await answer.json()) as { message: string }).message;
    };
    const signedStatus = async (interval: string, spanMs: number): Promise<number> =>
      (await calls(`GET /v3/${query(interval, spanMs)}`)).status;

    expect(await unsigned("1m", 1_000 * MINUTE_MS)).to.equal(200);
    expect(await unsigned("1m", 1_001 * MINUTE_MS)).to.match(/span more than 1000 candles/);
    expect(await unsigned("1d", 31 * DAY_MS)).to.equal(200);
    expect(await unsigned("1d", 32 * DAY_MS)).to.match(/span more than 31 days/);
    expect(await signedStatus("1d", 365 * DAY_MS)).to.equal(200);
    expect(await signedStatus("1m", 5_000 * MINUTE_MS)).to.equal(200);
    expect(await signedStatus("1m", 5_001 * MINUTE_MS)).to.equal(400);
  });
});
