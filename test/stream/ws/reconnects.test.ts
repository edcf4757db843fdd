import { expect } from "chai";
import type { Currency } from "../../../actors/market/types.js";
import { Random } from "../../simulation/machine/random.js";
import { startStack, type Stack } from "../../support/stack.js";
import { expectSame, Trading, trueMarkets } from "./support/trading.js";
import { Watcher } from "./support/watcher.js";

/** Duration of the run; `STREAM_SECONDS=60 npm test -- test/stream/ws/reconnects.test.ts` makes a long one. */
const SECONDS = Number(process.env["STREAM_SECONDS"] ?? "8");
const SEED = Number(process.env["STREAM_SEED"] ?? String(Date.now() % 1_000_000));
const MARKETS = 6;
const OPEN_EVERY_MS = 2_500;
const TURN_EVERY_MS = 1_500;
const ALL = ["lifecycle", "trades", "bbo", "book"];
const OWN = ["orders", "positions"];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("clients that connect and disconnect at random", function () {
  this.timeout(SECONDS * 1_000 + 90_000);
  let stack: Stack;

  before(async () => {
    stack = await startStack({ gateways: 2, exchangeEnv: "qa" });
  });
  after(() => stack.stop());

  it(`receive each seq once, from either of two gateways, and end with the state of the server (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    const trading = new Trading(stack, random);
    await trading.prepare(MARKETS);
    const marketIds = trading.markets.map(({ marketId }) => marketId);
    const markets = Object.fromEntries(marketIds.map((marketId) => [marketId, ALL]));
    const [ann, bob] = trading.traders;
    if (ann === undefined || bob === undefined) throw new Error("there are no traders");

    const watch = (selection: Record<string, unknown>, currency: Currency, resumes: number, own = ann) => ({
      watcher: new Watcher(own.trading, { ...selection, currency, private: OWN }),
      events: "events" in selection,
      currency,
      own,
      /** Share of its connections that resume where the last one was cut. */
      resumes,
      connections: 0,
      triedToResume: 0,
      refusedToResume: 0,
    });
    const watches = [
      watch({ markets }, "CASH", 1),
      watch({ markets }, "COIN", 1, bob),
      watch({ markets }, "CASH", 0.5, bob),
      watch({ markets }, "COIN", 0.5),
      watch({ events: { [trading.eventId]: ALL } }, "CASH", 0.5),
    ];
    const until = Date.now() + SECONDS * 1_000;
    const comeAndGo = async (one: (typeof watches)[number]): Promise<void> => {
      for (;;) {
        const resume = one.connections > 0 && random.chance(one.resumes);
        const { resumed } = await one.watcher.connect(random.pick(stack.urls), resume);
        one.connections += 1;
        if (resume) one.triedToResume += 1;
        one.refusedToResume += [...JSON.stringify(resumed ?? {}).matchAll(/false/g)].length;
        if (Date.now() > until) return;
        await pause(random.below(900));
        await one.watcher.cut();
        await pause(random.chance(0.2) ? random.below(1_500) : random.below(100));
      }
    };
    const every = async (ms: number, result: (round: number) => Promise<unknown>): Promise<void> => {
      for (let round = 0; Date.now() + ms < until; round += 1) {
        await pause(ms);
        await result(round);
      }
    };
    trading.start();
    await Promise.all([
      ...watches.map(comeAndGo),
      every(OPEN_EVERY_MS, () => trading.openMarket(2)),
      every(TURN_EVERY_MS, (round) =>
        stack.operator.setEventStatus(trading.eventId, round % 2 === 0 ? "golive" : "unlive"),
      ),
    ]);
    await trading.stop();
    // The last accepted orders are still on their way through market and ledger.
    await pause(1_000);

    const everyMarketId = trading.markets.map(({ marketId }) => marketId);
    const truth = await trueMarkets(stack.redisUrl, everyMarketId);
    for (const one of watches) {
      const { watcher, currency, resumes, connections, triedToResume, refusedToResume } = one;
      const watched = one.events ? everyMarketId : marketIds;
      await expectSame(stack, truth, {
        ...one,
        markets: trading.markets.filter(({ marketId }) => watched.includes(marketId)),
      });
      const { fromSnapshot, resumed, total } = watcher.seqRecord;
      console.log(
        `      ${currency}, ${100 * resumes} % with since: ${connections} connections, ${total} batches, ` +
          `${resumed} channels resumed, ${fromSnapshot} started with a snapshot`,
      );
      expect(connections).to.be.above(3);
      if (triedToResume > 0) expect(resumed).to.be.above(0);
      expect(refusedToResume, "channels that were not resumed").to.equal(0);
      // A client that always resumes receives snapshots only on its first connection, so every seq came as a delta.
      if (resumes === 1) expect(fromSnapshot).to.equal(marketIds.length * ALL.length + OWN.length);
      await watcher.cut();
    }
    console.log(`      ${trading.placed} orders in ${SECONDS} s and ${trading.markets.length} markets`);
    expect(trading.placed).to.be.above(100);
  });
});
