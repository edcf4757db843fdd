import { expect } from "chai";
import { Random } from "../../simulation/machine/random.js";
import { startStack, type Stack } from "../../support/stack.js";
import { WorkerProcess } from "../../support/worker-process.js";
import { expectSame, Trading, trueMarkets } from "./support/trading.js";
import { Watcher } from "./support/watcher.js";

const KILLS = 3;
const MARKETS = 8;
const BETWEEN_MS = 1_500;
const ALL = ["lifecycle", "trades", "bbo", "book"];
const OWN = ["orders", "positions"];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns for each market the longest pause between two deltas that overlaps the time from `from` to `to`, rising. */
function silences({ receivedAt: heardAt }: Watcher, from: number, to: number): number[] {
  return [...heardAt.values()]
    .map((times) => {
      const touching = times.flatMap((time, index) => {
        const before = times[index - 1];
        return before !== undefined && time > from && before < to ? [time - before] : [];
      });
      return Math.max(0, ...touching);
    })
    .sort((a, b) => a - b);
}

describe("a worker that is killed while sockets are subscribed", function () {
  this.timeout(120_000);
  let stack: Stack;
  const workers: WorkerProcess[] = [];

  before(async () => {
    stack = await startStack({ actors: "elsewhere", gateways: 2, exchangeEnv: "qa" });
    await Promise.all([start(), start()]);
  });

  after(async () => {
    await stack.stop();
    for (const { child } of workers) child.kill("SIGKILL");
    await Promise.all(workers.map(({ exited }) => exited));
  });

  async function start(): Promise<void> {
    const worker = new WorkerProcess(stack.redisUrl);
    workers.push(worker);
    await worker.ready;
  }

  it("delays its readers, without a gap, a repeat or a lost connection", async () => {
    const trading = new Trading(stack, new Random(7));
    await trading.prepare(MARKETS);
    const { markets } = trading;
    const [ann, bob] = trading.traders;
    if (ann === undefined || bob === undefined) throw new Error("there are no traders");
    const selected = Object.fromEntries(markets.map(({ marketId }) => [marketId, ALL]));
    const watches = [
      { own: ann, currency: "CASH" as const, url: stack.urls[0] ?? "" },
      { own: bob, currency: "COIN" as const, url: stack.urls[1] ?? "" },
    ].map((one) => ({
      ...one,
      markets,
      watcher: new Watcher(one.own.trading, { markets: selected, currency: one.currency, private: OWN }),
    }));
    for (const { watcher, url } of watches) await watcher.connect(url, false);
    const [{ watcher: cash } = { watcher: undefined }] = watches;
    if (cash === undefined) throw new Error("there is no watcher");

    trading.start();
    await pause(BETWEEN_MS);
    const began = performance.now() - 1_000;
    const killed: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      workers[kill]?.child.kill("SIGKILL");
      killed.push(performance.now());
      await workers[kill]?.exited;
      await pause(BETWEEN_MS);
      await start();
    }
    await pause(BETWEEN_MS);
    await trading.stop();
    await pause(1_000);

    const truth = await trueMarkets(
      stack.redisUrl,
      markets.map(({ marketId }) => marketId),
    );
    for (const one of watches) {
      expect(one.watcher.connected).to.equal(true);
      await expectSame(stack, truth, one);
      expect(one.watcher.seqRecord.fromSnapshot).to.equal(MARKETS * ALL.length + OWN.length);
      await one.watcher.cut();
    }
    const usual = silences(cash, began, began + 1_000);
    const rounded = (times: readonly number[]): string => times.map((time) => time.toFixed(0)).join(", ");
    console.log(`      longest silence of each market in a quiet second: ${rounded(usual)} ms`);
    for (const killedAt of killed) {
      const times = silences(cash, killedAt, killedAt + BETWEEN_MS);
      console.log(`      around a kill -9: ${rounded(times)} ms`);
      expect(times).to.have.length(MARKETS);
      expect(times.at(-1)).to.be.below(10_000);
    }
  });
});
