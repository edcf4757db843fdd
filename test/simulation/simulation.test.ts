import path from "node:path";
import { expect } from "chai";
import { FORMATS } from "../../actors/format.js";
import { inParallel } from "./pool.js";
import { MUTANT_NAMES, runTask, type Report, type Task } from "./tasks.js";

const MAIN = path.join(import.meta.dirname, "main.ts");
/** Seeds of the short form; `npm run simulate -- --seeds N` runs any number. */
const SEEDS = 150;

type Of<Kind extends Report["kind"]> = Extract<Report, { kind: Kind }>;

function isOf<Kind extends Report["kind"]>(report: Report, kind: Kind): report is Of<Kind> {
  return report.kind === kind;
}

async function reports<Kind extends Report["kind"]>(kind: Kind, tasks: readonly Task[]): Promise<Of<Kind>[]> {
  const all: Of<Kind>[] = [];
  await inParallel(MAIN, tasks, (report) => {
    if (isOf(report, kind)) all.push(report);
  });
  expect(all).to.have.length(tasks.length);
  return all;
}

async function traceOf(seed: number): Promise<string> {
  const report = await runTask({ kind: "seed", seed });
  return isOf(report, "seed") ? report.hash : "";
}

describe("the simulated exchange", function () {
  this.timeout(1_200_000);

  it(`keeps every invariant over ${SEEDS} seeds, which reach every kind of fault`, async () => {
    const seeds = Array.from({ length: SEEDS }, (_, i): Task => ({ kind: "seed", seed: i + 1 }));
    const reached = new Map<string, number>();
    const failed: string[] = [];
    for (const { seed, failure, reached: counts } of await reports("seed", seeds)) {
      for (const [name, times] of counts) reached.set(name, (reached.get(name) ?? 0) + times);
      if (failure !== undefined) failed.push(`npm run simulate -- --seed ${seed} --trace: ${failure}`);
    }
    expect(failed).to.deep.equal([]);
    const faults = [
      "clock step of the log",
      "worker crash",
      "worker pause",
      "hand-over",
      "power cut",
      "disconnect",
      "gateway crash",
    ];
    const losses = [
      "lost answer",
      "lost request",
      "late request",
      "repeated request",
      "projector crash",
      "lost notification",
    ];
    const recoveries = ["commit fenced", "commit conflict", "takeover", "readSnapshot", "asked again"];
    const trading = [
      "order fill netting",
      "order wash",
      "payout",
      "reversal",
      "transfer",
      "market REMEDIATE",
      "trader restricted",
    ];
    const formats = FORMATS.map((format) => `format ${format} becomes active`);
    const tifs = ["order GTC", "order GTT", "order IOC", "order FOK", "order PO"];
    for (const name of [...faults, ...losses, ...recoveries, ...trading, ...formats, ...tifs])
      expect(reached.get(name), `number of times that ${name} was reached`).to.be.above(0);
  });

  it("gives the same trace for the same seed, and another trace for another seed", async () => {
    const [first, again, other] = [await traceOf(3), await traceOf(3), await traceOf(4)];
    expect(again).to.equal(first);
    expect(other).to.not.equal(first);
  });

  it(`catches each of the ${MUTANT_NAMES.length} planted bugs`, async () => {
    const planted = MUTANT_NAMES.map((name): Task => ({ kind: "mutant", name }));
    const missed = (await reports("mutant", planted)).filter(({ caught }) => caught === undefined);
    expect(missed.map(({ name }) => name)).to.deep.equal([]);
  });
});
