import { writeFileSync } from "node:fs";
import Mocha from "mocha";

/**
 * Mocha's spec reporter with a last line: `N passed, N failed`, and `, N skipped` when tests were skipped. The line is
 * printed at process exit, after the output of every teardown. The failed tests are also written to the file that
 * `FAILED_TESTS_FILE` names, for the caller of several runs: `{ title, file, error }[]` as JSON.
 */
export default class ClosingLineReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      const file = process.env.FAILED_TESTS_FILE;
      if (file !== undefined && failures > 0)
        writeFileSync(file, JSON.stringify(this.failures.map(failedTest)));
      const skipped = pending > 0 ? `, ${pending} skipped` : "";
      process.once("exit", () => console.log(`${passes} passed, ${failures} failed${skipped}`));
    });
  }
}

function failedTest(test) {
  return { title: test.fullTitle(), file: test.file ?? "", error: String(test.err?.stack ?? test.err) };
}
