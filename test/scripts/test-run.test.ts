import { spawn } from "node:child_process";
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { conclude, hasCrashed, type Report, type Result, showsPassed } from "../support/run/verdict.mjs";
import { isRunning, markOf } from "../../scripts/supervisor/identity.js";
import { until } from "../support/until.js";

const RUNS = pathToFileURL("test/support/run/runs.mjs").href;
const FILE = "test/a.test.ts";

function report(changes: Partial<Report> = {}): Report {
  return { skipped: 0, hasCrashed: false, failed: [], files: [{ file: FILE, passed: 2 }], ...changes };
}

describe("the verdict of the test run", () => {
  it("takes a repeat for passed only with exit code 0 and a passed test", () => {
    expect(showsPassed({ code: 0, report: report() }, FILE)).to.equal(true);
    const others: Result[] = [
      { code: 1, report: report() },
      { code: null, report: report() },
      { code: 0 },
      { code: 0, report: report({ hasCrashed: true }) },
      { code: 0, report: report({ files: [{ file: FILE, passed: 0 }] }) },
      { code: 0, report: report({ files: [] }) },
      { code: 1, report: report({ failed: [{ file: FILE }] }) },
    ];
    for (const other of others) expect(showsPassed(other, FILE), JSON.stringify(other)).to.equal(false);
  });

  it("fails for a lane that crashed after a failure that passed when it ran again", () => {
    const failed = [{ file: FILE }];
    const lane = { name: "others" };
    const repaired = [{ outcome: "passed alone" }];
    const failedOnce = { lane, code: 1, report: report({ failed }) };
    expect(hasCrashed(failedOnce)).to.equal(false);
    expect(conclude([failedOnce], repaired, 60)).to.deep.equal({
      passed: true,
      line: "all tests passed in 1.0 minutes, 1 of them only when they ran again alone",
    });
    for (const crash of [
      { lane, code: null, report: report({ failed }) },
      { lane, code: 7, report: report({ failed }) },
      { lane, code: 1, report: report({ failed, hasCrashed: true }) },
    ])
      expect(conclude([crash], repaired, 60).passed, JSON.stringify(crash)).to.equal(false);
    expect(conclude([failedOnce], [{ outcome: "failed again" }], 60).passed).to.equal(false);
  });

  it("names the lanes whose tests were skipped", () => {
    const lanes = [
      { lane: { name: "others" }, code: 0, report: report() },
      { lane: { name: "browser" }, code: 0, report: report({ skipped: 118 }) },
    ];
    expect(conclude(lanes, [], 600).line).to.equal(
      "all tests that ran passed in 10.0 minutes; 118 were SKIPPED (browser 118)",
    );
  });
});

describe("the programs of the test run", () => {
  /** A program that starts another one, as Mocha does, and prints both process ids. */
  const PROGRAM = `
    const { spawn } = require("node:child_process");
    const { pid } = spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"]);
    console.log(process.pid, pid);
    setInterval(() => 0, 1000);`;

  async function start(limitMs: number) {
    const code = `
      import { endRunsOnSignals, Run } from ${JSON.stringify(RUNS)};
      const run = new Run(["-e", ${JSON.stringify(PROGRAM)}], { later: true, limitMs: ${limitMs}, env: process.env });
      endRunsOnSignals((signal) => console.log(signal, String(run.output)));
      setInterval(() => run.output.length > 0 && console.error(String(run.output)), 20);
      console.log("code", await run.ended, run.isTooLong);
      process.exit(0);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code]);
    const written = { output: "", shown: "" };
    child.stdout.on("data", (chunk: Buffer) => (written.output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (written.shown += chunk.toString()));
    const closed = once(child, "close");
    const found = await until(
      () => /^(\d+) (\d+)\n/.exec(written.shown),
      (match) => match !== null,
    );
    const pids = [Number(found?.[1]), Number(found?.[2])];
    const marks = pids.map(markOf);
    return { child, pids, marks, written, closed };
  }

  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`end at ${signal}, and what they have written is printed`, async () => {
      const { child, pids, marks, written, closed } = await start(60_000);
      child.kill(signal);
      expect(await closed).to.deep.equal([signal === "SIGTERM" ? 143 : 130, null]);
      expect(written.output).to.equal(`${signal} ${pids.join(" ")}\n\n`);
      await until(() => !marks.some(isRunning));
    });
  }

  it("end when they take too long", async () => {
    const { marks, written, closed } = await start(1_000);
    expect(await closed).to.deep.equal([0, null]);
    expect(written.output).to.equal("code null true\n");
    await until(() => !marks.some(isRunning));
  });
});
