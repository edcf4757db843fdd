import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseCommandLine } from "../../../scripts/command-line.mjs";
import { optionsOf, REPLAY, type Options } from "../../../scripts/replay/options.js";
import type { Progress } from "../../../scripts/replay/progress.js";
import { replay, type Replayed, type ReplayHooks } from "../../../scripts/replay/replay.js";
import { isClean, reportLines } from "../../../scripts/replay/report.js";
import { startProxy } from "../../support/proxy.js";
import { makeRecording } from "../../support/recording.js";
import { startStack, type Stack } from "../../support/stack.js";

const CUT_EVERY_MS = 700;
const CUT_FOR_MS = 150;

describe("replay: a recording on the real exchange", function () {
  this.timeout(300_000);
  let stack: Stack;
  let folder: string;
  let lines: string[];

  before(async () => {
    stack = await startStack();
    folder = mkdtempSync(path.join(os.tmpdir(), "replay-"));
  });

  after(async () => {
    rmSync(folder, { recursive: true });
    await stack.stop();
  });

  beforeEach(() => {
    lines = [];
  });

  function optionsFor(name: string, recording: readonly string[], ...more: string[]): Options {
    const file = path.join(folder, name);
    writeFileSync(file, `${recording.join("\n")}\n`);
    const line = parseCommandLine(REPLAY, [file, "--check-every", "20", ...more]);
    if (line.help !== undefined) throw new Error("the arguments do not ask for help");
    return optionsOf(line);
  }

  function play(options: Options, url = stack.url, more: Partial<ReplayHooks> = {}): Promise<Replayed> {
    const progress: Progress = {
      update: () => undefined,
      say: (line) => lines.push(line),
      finish: () => undefined,
    };
    const exchange = { url, adminUrl: url, operator: stack.operatorLogin, brand: stack.brand };
    return replay(options, exchange, { say: () => undefined, progressOf: () => progress, ...more });
  }

  function expectClean({ outcome, setUp, shortTakes }: Replayed): void {
    const report = [...lines, ...reportLines(outcome, setUp, shortTakes)].join("\n");
    expect(isClean(outcome), report).to.equal(true);
  }

  it("settles the market without a difference at any check, and the money adds up", async () => {
    const replayed = await play(optionsFor("a.jsonl", makeRecording({ seed: 1, messages: 80, winner: 0 })));
    const { outcome, setUp, shortTakes } = replayed;
    expectClean(replayed);
    expect(outcome.messages).to.equal(167);
    expect(outcome.checks).to.be.at.least(8);
    expect(shortTakes).to.equal(0);
    const traders = [...setUp.makers, ...setUp.takers];
    expect(traders.reduce((sum, { tally }) => sum + tally.filled, 0)).to.be.greaterThan(20);
    for (const { tally } of traders) expect([tally.refused.size, tally.rejected.size]).to.deep.equal([0, 0]);
  });

  it("ends with the same balances when connections break repeatedly", async () => {
    const recording = makeRecording({ seed: 2, messages: 60, winner: 1 });
    const undisturbed = await play(optionsFor("b.jsonl", recording));
    const proxy = await startProxy(stack.url);
    const cutAgain = (): (() => void) => {
      const cutting = setInterval(() => {
        proxy.cut();
        setTimeout(() => proxy.heal(), CUT_FOR_MS);
      }, CUT_EVERY_MS);
      return () => clearInterval(cutting);
    };
    try {
      const disturbed = await play(optionsFor("c.jsonl", recording), proxy.url, { onTrading: cutAgain });
      const reconnects = [...disturbed.setUp.makers, ...disturbed.setUp.takers].map(
        ({ tally }) => tally.reconnects,
      );
      expect(reconnects.reduce((sum, times) => sum + times, 0)).to.be.greaterThan(0);
      expectClean(disturbed);
      expect(disturbed.outcome.balances).to.deep.equal(undisturbed.outcome.balances);
    } finally {
      await proxy.close();
    }
  });

  it("reports and skips a broken line, and cancels its orders when the recording has no result", async () => {
    const recording = makeRecording({ seed: 3, messages: 15 });
    recording.splice(4, 0, `{"op":"mcm","pt":`);
    const { outcome, setUp } = await play(optionsFor("d.jsonl", recording));
    expect(outcome.brokenLines).to.equal(1);
    expect(lines.filter((line) => line.includes("line 5"))).to.have.length(1);
    expect(outcome.settled).to.equal(false);
    expect(outcome.worstCheck?.difference.contracts).to.equal(0);
    const market = await stack.operator.market(setUp.market.marketId);
    expect(market.status).to.equal("OPEN");
    for (const { reserved } of Object.values(outcome.balances)) expect(reserved).to.equal("0.00000");
  });

  it("keeps the recorded pace, and cancels its orders when it is stopped", async () => {
    const options = optionsFor(
      "f.jsonl",
      makeRecording({ seed: 5, messages: 100, winner: 0 }),
      "--speed",
      "10",
    );
    const stopping = new AbortController();
    const onTrading = (): (() => void) => {
      const timer = setTimeout(() => stopping.abort(), 1_500);
      return () => clearTimeout(timer);
    };
    const { outcome, setUp } = await play(options, stack.url, { onTrading, stopped: stopping.signal });
    // Messages are 0.2 s apart and played ten times as fast: about 75 messages in 1.5 s, fewer on a busy machine.
    expect(outcome.messages).to.be.within(1, 110);
    expect(outcome.settled).to.equal(false);
    const book = await setUp.makers[0].rest.book(setUp.market.marketId);
    expect(Object.values(book.orders).flat()).to.deep.equal([]);
  });

  it("refunds every stake when the recording ends without a winner", async () => {
    const recording = makeRecording({ seed: 4, messages: 20, winner: 0 }).map((line) =>
      line.replace(`"status":"WINNER"`, `"status":"LOSER"`),
    );
    const replayed = await play(optionsFor("e.jsonl", recording));
    const { outcome } = replayed;
    expectClean(replayed);
    // All traders began with the same money and get the price of their contracts back, so that makers end with their
    // maker credits on top and takers without their fees.
    const amounts = (kind: string): number[] =>
      Object.entries(outcome.balances).flatMap(([name, { balance }]) =>
        name.startsWith(kind) ? [Number(balance)] : [],
      );
    expect(Math.min(...amounts("maker"))).to.be.greaterThan(Math.max(...amounts("taker")));
  });
});
