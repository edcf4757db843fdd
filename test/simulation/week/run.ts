/** Runs a simulated week, and judges its sizes. */

import { unreachable } from "../../../actors/unreachable.js";
import { judge, type Verdict } from "./judge.js";
import { PLANTED_BUGS } from "./planted.js";
import { SHORT_WEEK, WEEK, type WeekPlan } from "./plan.js";
import { dayText, progressText, verdictText } from "./report.js";
import { Week } from "./week.js";

export interface WeekTask {
  readonly kind: "week";
  readonly form: "whole" | "short";
  readonly seed: number;
  /** Name of the bug to plant. */
  readonly bug?: string | undefined;
  /** True to print the progress and the sizes. */
  readonly prints?: boolean | undefined;
}

export interface WeekReport {
  readonly kind: "week";
  readonly bug: string | undefined;
  /** Violation that ended the week. */
  readonly failure: string | undefined;
  readonly verdicts: readonly Verdict[];
  readonly reached: readonly (readonly [string, number])[];
  readonly orders: number;
  readonly cpuSeconds: number;
}

/** Shortest time between two lines of progress, in ms. */
const PROGRESS_MS = 5_000;

function planOf(form: WeekTask["form"]): WeekPlan {
  switch (form) {
    case "whole":
      return WEEK;
    case "short":
      return SHORT_WEEK;
    default:
      return unreachable(form);
  }
}

/** Runs a week. The process collects its garbage before it measures its heap, if it was started with `--expose-gc`. */
export async function runWeek({ form, seed, bug, prints = false }: WeekTask): Promise<WeekReport> {
  const plan = planOf(form);
  const print = (text: string): void => {
    if (prints) console.log(text);
  };
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1_000;
  const cpuBefore = process.cpuUsage();
  let printedMs = -Infinity;
  const week = new Week({
    ...{ plan, seed },
    heapBytes: () => {
      globalThis.gc?.();
      return process.memoryUsage().heapUsed;
    },
    onSession: (progress) => {
      if (performance.now() - printedMs < PROGRESS_MS) return;
      printedMs = performance.now();
      print(progressText(progress, plan.days * plan.sessionsPerDay, seconds()));
    },
    onDay: (day) => print(dayText(day, seconds())),
  });
  const restore = PLANTED_BUGS.find(({ name }) => name === bug)?.plant();
  const report: WeekReport = {
    ...{ kind: "week", bug, verdicts: [], reached: [], orders: 0, cpuSeconds: 0 },
    failure: undefined,
  };
  try {
    const days = await week.run();
    const verdicts = judge(days, plan.tolerance);
    print(verdictText(verdicts, plan.tolerance));
    const { user, system } = process.cpuUsage(cpuBefore);
    const cpuSeconds = (user + system) / 1_000_000;
    return { ...report, verdicts, cpuSeconds, reached: [...week.reached], orders: days.at(-1)?.orders ?? 0 };
  } catch (error) {
    return {
      ...report,
      reached: [...week.reached],
      failure: error instanceof Error ? error.stack : String(error),
    };
  } finally {
    restore?.();
  }
}
