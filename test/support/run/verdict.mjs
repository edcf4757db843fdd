/** What the exit codes and the reports of `reporter.mjs` say about a run of Mocha. */

/** Returns whether a run ended otherwise than with the result of its tests: a crash, or an error after the last test. */
export function hasCrashed({ code, report }) {
  return report === undefined || report.hasCrashed || code !== Math.min(report.failed.length, 255);
}

/** Returns whether a run of several files shows that the tests of one of them pass. */
export function showsPassed(run, name) {
  if (hasCrashed(run)) return false;
  const { failed, files } = run.report;
  return (
    failed.every(({ file }) => file !== name && file !== "") &&
    files.some(({ file, passed }) => file === name && passed > 0)
  );
}

/**
 * Returns the last line of the test run, and whether it has passed. `results` are those of the lanes, `failures` the failed
 * tests with their outcomes.
 */
export function conclude(results, failures, seconds) {
  const minutes = (seconds / 60).toFixed(1);
  const repaired = failures.filter(({ outcome }) => outcome === "passed alone").length;
  if (results.some(hasCrashed) || failures.length > repaired)
    return { passed: false, line: `tests FAILED after ${minutes} minutes; they are listed above` };
  const skipping = results.filter(({ report }) => report.skipped > 0);
  const skipped = skipping.reduce((sum, { report }) => sum + report.skipped, 0);
  const where = skipping.map(({ lane, report }) => `${lane.name} ${report.skipped}`).join(", ");
  const what =
    skipped > 0
      ? `all tests that ran passed in ${minutes} minutes`
      : `all tests passed in ${minutes} minutes`;
  const again = repaired > 0 ? `, ${repaired} of them only when they ran again alone` : "";
  return {
    passed: true,
    line: `${what}${again}${skipped > 0 ? `; ${skipped} were SKIPPED (${where})` : ""}`,
  };
}
