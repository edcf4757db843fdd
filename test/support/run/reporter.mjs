import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import Mocha from "mocha";

const { EVENT_RUN_END, EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_TEST_PASS } = Mocha.Runner.constants;
/** Length of a clock tick in `/proc`, in s. */
const TICK_S = 0.01;

/**
 * Mocha's spec reporter with a last line: `N passed, N failed`, and `, N skipped` when tests were skipped. The line is
 * printed at process exit, after the output of every teardown.
 *
 * `TEST_REPORT_FILE` names a file for the report of the run, which the caller of several runs reads:
 * `{ seconds, cpuSeconds, skipped, failed: { title, file, error }[], files: { file, passed, seconds, cpuSeconds }[],
 * hasCrashed }` as JSON. `hasCrashed` is true after an error that came later than the last test.
 */
export default class ClosingLineReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const began = now();
    const files = new Map();
    const passed = new Map();
    let beganSuite = began;
    let hasCrashed = false;
    runner.on(EVENT_TEST_PASS, (test) => {
      const file = relative(test.file);
      passed.set(file, (passed.get(file) ?? 0) + 1);
    });
    runner.on(EVENT_SUITE_BEGIN, (suite) => {
      if (suite.parent?.root) beganSuite = now();
    });
    runner.on(EVENT_SUITE_END, (suite) => {
      if (!suite.parent?.root) return;
      const file = relative(suite.file);
      const { seconds, cpuSeconds } = since(beganSuite);
      const sum = files.get(file) ?? { file, seconds: 0, cpuSeconds: 0 };
      files.set(file, {
        file,
        seconds: sum.seconds + seconds,
        cpuSeconds: sum.cpuSeconds + cpuSeconds,
      });
    });
    runner.once(EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      const failed = this.failures.map((test) => ({
        title: test.fullTitle(),
        file: relative(test.file),
        error: String(test.err?.stack ?? test.err),
      }));
      const skipped = pending > 0 ? `, ${pending} skipped` : "";
      process.once("uncaughtExceptionMonitor", () => {
        hasCrashed = true;
      });
      process.once("exit", () => {
        const timed = [...files.values()].map((times) => ({ ...times, passed: passed.get(times.file) ?? 0 }));
        const report = { ...since(began), skipped: pending, failed, files: timed, hasCrashed };
        const { TEST_REPORT_FILE: file } = process.env;
        if (file !== undefined) writeFileSync(file, JSON.stringify(report));
        console.log(`${passes} passed, ${failures} failed${skipped}`);
      });
    });
  }
}

function relative(file) {
  return file === undefined ? "" : path.relative(process.cwd(), file);
}

/** Returns the time, and the processor time of this process and of its children that have ended, in s. */
function now() {
  const { user, system } = process.cpuUsage();
  return { seconds: performance.now() / 1_000, cpuSeconds: (user + system) / 1e6 + cpuSecondsOfChildren() };
}

function since(began) {
  const { seconds, cpuSeconds } = now();
  return { seconds: seconds - began.seconds, cpuSeconds: cpuSeconds - began.cpuSeconds };
}

function cpuSecondsOfChildren() {
  if (process.platform !== "linux") return 0;
  const stat = readFileSync("/proc/self/stat", "latin1");
  // The name of the program stands in brackets and may contain any character, so fields count from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return TICK_S * (Number(fields[13]) + Number(fields[14]));
}
