/** Command `npm run simulate`. Runs seeds of the simulation, one seed with a trace, or the planted bugs. */

import { fileURLToPath } from "node:url";
import { config } from "chai";
import { readCommandLine, UsageError, type CommandLine } from "../../scripts/command-line.mjs";
import { inParallel, POOLED } from "./pool.js";
import { MUTANT_NAMES, runTask, type Report, type Task } from "./tasks.js";
import type { WeekTask } from "./week/run.js";

const MAIN = fileURLToPath(import.meta.url);
const PROGRESS_MS = 1_000;
/** As `youngMb` of the pool. A week has so many callers that much of a smaller half would live on: 157 s became 140. */
const WEEK_YOUNG_MB = 256;

const SIMULATE = {
  name: "simulate",
  call: "npm run simulate --",
  summary:
    "Simulates the exchange under faults. Runs many seeds, one seed, the planted bugs, each of which must be caught, or " +
    "a week of a league, whose sizes must not grow with history. Exits with 1 when an invariant breaks, a planted bug " +
    "is not caught or a size grows.",
  options: {
    seeds: { value: "N", default: "100", description: "Number of seeds to run." },
    from: { value: "S", default: "1", description: "First of these seeds." },
    seed: { value: "S", description: "Runs this seed alone." },
    trace: { description: "Prints every event of --seed." },
    mutants: { description: "Runs the planted bugs instead of seeds." },
    week: {
      description:
        "Runs a week of 10,000 markets, 100,000 wallets and two million orders, in under 20 minutes on two cores, and " +
        "prints its sizes at the end of each day.",
    },
    short: { description: "Runs the short form of --week, as the tests do." },
  },
} as const;

function numberOf(text: string, name: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0) throw new UsageError(`--${name} takes a whole number`);
  return number;
}

/** Runs as one process of the pool: receives a task, sends its report. */
function serve(): void {
  // The proxies take a quarter of the time, and the types catch misspelled assertions as well.
  config.useProxy = false;
  process.on("message", (task: Task) => {
    void runTask(task).then((report) => process.send?.(report));
  });
}

async function runOne(seed: number, isTraced: boolean): Promise<boolean> {
  const trace = isTraced ? (line: string): void => console.log(line) : undefined;
  const report = await runTask({ kind: "seed", seed }, trace);
  if (report.kind !== "seed") return false;
  console.log(`seed ${seed}: ${report.events} events, trace ${report.hash}`);
  printReached(report.reached);
  if (report.failure !== undefined) console.log(`FAILED ${report.failure}`);
  return report.failure === undefined;
}

async function runSeeds(from: number, count: number): Promise<boolean> {
  const tasks = Array.from({ length: count }, (_, i): Task => ({ kind: "seed", seed: from + i }));
  const reached = new Map<string, number>();
  const failed: number[] = [];
  const began = Date.now();
  let events = 0;
  let done = 0;
  const printProgress = (): void => {
    const seconds = ((Date.now() - began) / 1_000).toFixed(0);
    console.log(`${done} of ${count} seeds, ${failed.length} failed, ${events} events, ${seconds} s`);
  };
  const progress = setInterval(printProgress, PROGRESS_MS * 5);
  await inParallel(MAIN, tasks, (report) => {
    if (report.kind !== "seed") return;
    done += 1;
    events += report.events;
    for (const [name, times] of report.reached) reached.set(name, (reached.get(name) ?? 0) + times);
    if (report.failure === undefined) return;
    failed.push(report.seed);
    console.log(`seed ${report.seed} FAILED ${report.failure}`);
    console.log(`  repeat with: npm run simulate -- --seed ${report.seed} --trace`);
  }).finally(() => clearInterval(progress));
  console.log("reached:");
  printReached([...reached]);
  printProgress();
  return failed.length === 0;
}

function printReached(reached: Extract<Report, { kind: "seed" }>["reached"]): void {
  const lines = reached.map(([name, times]) => `${String(times).padStart(9)} ${name}`).sort(byName);
  const rows = Math.ceil(lines.length / 2);
  for (let row = 0; row < rows; row += 1)
    console.log(`${(lines[row] ?? "").padEnd(58)} ${lines[row + rows] ?? ""}`);
}

function byName(a: string, b: string): number {
  return a.slice(10) < b.slice(10) ? -1 : 1;
}

async function runMutants(): Promise<boolean> {
  const reports = new Map<string, Extract<Report, { kind: "mutant" }>>();
  await inParallel(
    MAIN,
    MUTANT_NAMES.map((name): Task => ({ kind: "mutant", name })),
    (report) => {
      if (report.kind !== "mutant") return;
      reports.set(report.name, report);
      const { name, caught } = report;
      if (caught === undefined) console.log(`NOT CAUGHT ${name}`);
      else {
        const [by = ""] = caught.by.split("\n");
        console.log(`caught ${name}: seed ${caught.seed}, after ${caught.steps} steps: ${by.slice(0, 120)}`);
      }
    },
  );
  const missed = [...reports.values()].filter(({ caught }) => caught === undefined).length;
  console.log(`${reports.size - missed} of ${MUTANT_NAMES.length} planted bugs caught`);
  return missed === 0 && reports.size === MUTANT_NAMES.length;
}

/** Runs a week in a process of the pool, which prints it. */
async function runWeek(form: WeekTask["form"], seed: number): Promise<boolean> {
  let passed = false;
  const onReport = (report: Report): void => {
    if (report.kind !== "week") return;
    const { failure, verdicts, reached, cpuSeconds, orders } = report;
    console.log("reached:");
    printReached(reached);
    const grown = verdicts.filter(({ isTooMuch }) => isTooMuch);
    passed = failure === undefined && grown.length === 0;
    if (failure !== undefined) console.log(`FAILED ${failure}`);
    else console.log(`${orders} orders, ${cpuSeconds.toFixed(0)} s of processor time`);
    for (const { name } of grown) console.log(`FAILED ${name}: grows with history`);
  };
  await inParallel(MAIN, [{ kind: "week", form, seed, prints: true }], onReport, { youngMb: WEEK_YOUNG_MB });
  return passed;
}

function runOf({ values }: CommandLine<typeof SIMULATE.options>): () => Promise<boolean> {
  if (values.mutants) return runMutants;
  if (values.week || values.short) {
    const form = values.short ? "short" : "whole";
    const seed = numberOf(values.seed ?? "1", "seed");
    return () => runWeek(form, seed);
  }
  if (values.seed !== undefined) {
    const seed = numberOf(values.seed, "seed");
    return () => runOne(seed, values.trace);
  }
  const [from, count] = [numberOf(values.from, "from"), numberOf(values.seeds, "seeds")];
  return () => runSeeds(from, count);
}

if (process.argv.includes(POOLED)) serve();
else {
  const run = readCommandLine(SIMULATE, runOf);
  run().then(
    (passed) => {
      process.exitCode = passed ? 0 : 1;
    },
    (error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
      process.exitCode = 1;
    },
  );
}
