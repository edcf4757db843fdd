import path from "node:path";
import { expect } from "chai";
import { inParallel } from "../pool.js";
import { PLANTED_BUGS } from "./planted.js";
import type { WeekReport, WeekTask } from "./run.js";

const MAIN = path.join(import.meta.dirname, "..", "main.ts");
const SEED = 1;

async function weeks(tasks: readonly WeekTask[]): Promise<ReadonlyMap<string | undefined, WeekReport>> {
  const reports = new Map<string | undefined, WeekReport>();
  await inParallel(MAIN, tasks, (report) => {
    if (report.kind === "week") reports.set(report.bug, report);
  });
  return reports;
}

function grown(report: WeekReport | undefined): readonly string[] {
  return (report?.verdicts ?? []).filter(({ isTooMuch }) => isTooMuch).map(({ name }) => name);
}

describe("a simulated week", function () {
  this.timeout(1_200_000);

  it("has no size that grows with history, and every planted growth is caught", async () => {
    const bugs = [undefined, ...PLANTED_BUGS.map(({ name }) => name)];
    const reports = await weeks(bugs.map((bug) => ({ kind: "week", form: "short", seed: SEED, bug })));
    const sound = reports.get(undefined);
    expect(sound?.failure).to.equal(undefined);
    expect(grown(sound), "sizes that grow").to.deep.equal([]);
    const reached = new Map(sound?.reached);
    for (const event of [
      ...["upgrade", "roll-back", "power cut", "log stall", "worker joins", "worker leaves", "worker crash"],
      ...["clock step of hosts", "clock step of the log", "gateway crash", "projector crash", "worker pause"],
      ...["market removed", "remediation", "client id repeated", "client id looked up"],
    ])
      expect(reached.get(event), `number of times that ${event} was reached`).to.be.above(0);
    for (const { name, grows } of PLANTED_BUGS)
      expect(grown(reports.get(name)), `sizes that grow when ${name}`).to.include(grows);
  });
});
