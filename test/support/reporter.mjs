import Mocha from "mocha";

/**
 * Mocha's spec reporter with one more line, the very last of the run: `N passed, N failed`, with
 * `, N skipped` when there were any. It is printed at process exit so that nothing a teardown says
 * comes after it.
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
