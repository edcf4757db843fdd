import { appendFileSync } from "node:fs";
import Mocha from "mocha";

/**
 * Mocha's spec reporter with a last line: `N passed, N failed`, and `, N skipped` when tests were skipped. The line is
 * printed at process exit, after the output of every teardown. The failed tests are also appended to the file that
 * `FAILED_TESTS_FILE` names, so that a run of several Mochas can end with all of them.
 */
export default class ClosingLineReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      const file = process.env.FAILED_TESTS_FILE;
      if (file !== undefined && failures > 0) appendFileSync(file, this.failures.map(describe).join(""));
      const skipped = pending > 0 ? `, ${pending} skipped` : "";
      process.once("exit", () => console.log(`${passes} passed, ${failures} failed${skipped}`));
    });
  }
}

function describe(test) {
  return `- ${test.fullTitle()}\n  ${test.file ?? "no file"}\n${String(test.err?.stack ?? test.err).replace(/^/gm, "    ")}\n`;
}
