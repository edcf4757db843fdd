import Mocha from "mocha";

/**
 * Mocha's spec reporter with a last line: `N passed, N failed`, and `, N skipped` when tests were skipped. The line is
 * printed at process exit, after the output of every teardown.
 */
export default class ClosingLineReporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      const skipped = pending > 0 ? `, ${pending} skipped` : "";
      process.once("exit", () => console.log(`${passes} passed, ${failures} failed${skipped}`));
    });
  }
}
