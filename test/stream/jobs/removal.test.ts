import { expect } from "chai";
import { marketActor, partitionOf } from "../../../actors/actor.js";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Signer } from "../../../http/client/client.js";
import { StreamClient } from "../../../http/client/stream/stream.js";
import { RedisLog } from "../../../stream/redis/redis-log.js";
import { bearerCalls, callsOf, operatorCalls, resultOf, type Calls } from "../../http/calls.js";
import { EmmClient, newClient } from "../../http/surface-b/client.js";
import { PREFIX, startStack, type Stack } from "../../support/stack.js";
import { newMarket, newTrader, type TestTrader } from "../../support/traders.js";
import { untilWithin } from "../../support/until.js";

describe("the removal of settled markets", function () {
  this.timeout(120_000);
  let stack: Stack;
  let log: RedisLog;
  let ann: TestTrader;
  let bob: TestTrader;
  let annA: RestClient;
  let bobA: RestClient;
  let operate: Calls;

  before(async () => {
    stack = await startStack({ removal: { keepMs: 500, idleMs: 200 } });
    log = await RedisLog.open({ url: stack.redisUrl });
    [ann, bob] = [await newTrader(stack), await newTrader(stack)];
    [annA, bobA] = [ann, bob].map(
      ({ trading }) => new RestClient(stack.connect(), new Signer(trading.key, trading.brand)),
    ) as [RestClient, RestClient];
    operate = await operatorCalls(stack);
  });
  after(async () => {
    await log.close();
    await stack.stop();
  });

  const headOf = async (marketId: string) => {
    const actor = marketActor(marketId);
    const [head] = await log.heads(partitionOf(actor), [actor]);
    return head ?? expect.fail("the log returned no head");
  };
  const isRemoved = (marketId: string) =>
    untilWithin(30_000, async () => (await headOf(marketId)).removed !== undefined);
  const isSettled = (marketId: string) =>
    untilWithin(15_000, async () => (await stack.operator.settlementStatus(marketId)) === "SETTLED");
  const balances = async () =>
    Promise.all([annA, bobA].map(async (client) => (await client.balance()).balance));

  it("leaves everything readable, and a remediation restores the market, whose seqs go on", async () => {
    const { marketId, outcomes } = await newMarket(stack);
    await trade(outcomes);
    await stack.operator.grade(marketId, { winner: outcomes[0] });
    await isSettled(marketId);
    const settled = await balances();
    await isRemoved(marketId);
    const { seq } = await headOf(marketId);
    expect((await log.scan(partitionOf(marketActor(marketId)))).map(({ actor }) => actor)).not.to.include(
      marketActor(marketId),
    );

    const asAnn = callsOf(stack.url, ann.trading);
    const onB = bearerCalls(stack.url, await new EmmClient(stack.url, await newClient(stack, ann)).token());
    for (const [calls, line] of [
      [asAnn, `GET /v3/catalog/markets/${marketId}`],
      [asAnn, `GET /v3/catalog/markets/${marketId}/book`],
      [asAnn, `GET /v3/catalog/markets/${marketId}/trades`],
      [asAnn, "GET /v3/history/markets"],
      [asAnn, `GET /v3/portfolio/fills?market=${marketId}`],
      [onB, `GET /${PREFIX}/v2/emm/markets/${marketId}`],
    ] as const) {
      const answer = await calls(line);
      expect(resultOf(answer), line).to.equal("200");
      expect(answer.text, line).to.include(outcomes[0]);
    }
    const snapshots: string[] = [];
    const stream = new StreamClient(stack.connect(), new Signer(ann.trading.key, stack.brand), {
      lifecycle: (id, deltas) => snapshots.push(`${id} ${deltas.map(({ kind }) => kind).join()}`),
    });
    await stream.connect();
    await stream.subscribe({ markets: { [marketId]: ["lifecycle", "trades", "book"] } });
    expect(snapshots).to.deep.equal([`${marketId} SNAPSHOT`]);
    // No read has brought the market back.
    expect((await headOf(marketId)).removed).to.be.a("string");

    const reason = { reason: "the score was corrected" };
    expect(resultOf(await operate(`POST /admin/v1/markets/${marketId}/remediate`, reason))).to.equal("202");
    await untilWithin(15_000, async () => (await balances()).join() !== settled.join());
    await untilWithin(15_000, async () => {
      const answer = await operate(`POST /admin/v1/markets/${marketId}/grade`, { winner: outcomes[1] });
      return resultOf(answer) === "202";
    });
    await isSettled(marketId);
    expect((await headOf(marketId)).seq).to.be.above(seq);
    await untilWithin(10_000, () => snapshots.length > 1);
    stream.close();
    const [annAfter, bobAfter] = await balances();
    expect([annAfter, bobAfter]).not.to.deep.equal(settled);
    await isRemoved(marketId);
    expect(resultOf(await asAnn(`GET /v3/catalog/markets/${marketId}/book`))).to.equal("200");
  });

  /** Trades 5 contracts at 0.400 between the two. */
  async function trade(outcomes: readonly [string, string]): Promise<void> {
    await annA.placeOrder({ outcomeId: outcomes[0], price: "0.400", qty: 5, tif: "GTC" });
    await bobA.placeOrder({ outcomeId: outcomes[1], price: "0.600", qty: 5, tif: "GTC" });
    await untilWithin(10_000, async () => (await annA.fills()).length > 0);
  }
});
