/** The end of the output of `npm test`: what took the time, and what failed. */

const SLOWEST = 15;

function row(name, seconds, cpuSeconds) {
  return `  ${seconds.toFixed(0).padStart(5)} s ${cpuSeconds.toFixed(0).padStart(5)} s  ${name}`;
}

/** Returns the lines of the time of every lane and of the slowest files, each with its processor time. */
export function summarize(results) {
  const reports = results.flatMap(({ lane, report }) => (report === undefined ? [] : [{ lane, report }]));
  const files = reports
    .flatMap(({ lane, report }) => report.files.map((file) => ({ lane, ...file })))
    .toSorted((a, b) => b.seconds - a.seconds);
  return [
    "",
    "   time  cores  lane",
    ...reports.map(({ lane, report }) => {
      const skipped = report.skipped > 0 ? `, ${report.skipped} skipped` : "";
      return row(`${lane.name}${skipped}`, report.seconds, report.cpuSeconds);
    }),
    `   time  cores  the ${SLOWEST} slowest of ${files.length} files`,
    ...files.slice(0, SLOWEST).map(({ file, seconds, cpuSeconds }) => row(file, seconds, cpuSeconds)),
  ];
}

/** Returns the lines of the failures by their outcome; those that passed alone have failed beside other tests. */
export function listFailures(failures) {
  return ["passed alone", "not run again", "failed again"].flatMap((outcome) =>
    failures
      .filter((failure) => failure.outcome === outcome)
      .map(({ title, file, error }) => `\nFAILED, ${outcome}: ${title}\n${file}\n${error}`),
  );
}
