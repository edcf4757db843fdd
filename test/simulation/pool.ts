/** Runs tasks in as many processes as there are cores. Each process takes the next task when one is done. */

import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import type { Report, Task } from "./tasks.js";

/** Argument that makes `main.ts` run as a process of the pool. */
export const POOLED = "--pooled";

/** Largest half of the young generation in MB: most of what a simulation allocates is garbage at once. */
const YOUNG_MB = 64;

/**
 * Runs all tasks, in processes whose young generations have halves of `youngMb` (default 64). A task may collect garbage,
 * as a week does before it measures its heap. Rejects when a process dies.
 */
export async function inParallel(
  main: string,
  tasks: readonly Task[],
  onReport: (report: Report) => void,
  { youngMb = YOUNG_MB } = {},
): Promise<void> {
  const waiting = [...tasks];
  const processes = Math.min(availableParallelism(), tasks.length);
  const children = Array.from({ length: processes }, () =>
    fork(main, [POOLED], {
      execArgv: [...process.execArgv, "--expose-gc", `--max-semi-space-size=${youngMb}`],
    }),
  );
  try {
    await Promise.all(children.map((child) => runTasks(child, waiting, onReport)));
  } finally {
    for (const child of children) child.kill();
  }
}

function runTasks(child: ChildProcess, waiting: Task[], onReport: (report: Report) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let task: Task | undefined;
    const next = (): void => {
      task = waiting.shift();
      if (task === undefined) resolve();
      else child.send(task);
    };
    child.on("message", (report: Report) => {
      onReport(report);
      next();
    });
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      if (task === undefined) return;
      reject(
        new Error(
          `a process ended with ${signal ?? `code ${String(code)}`} while it ran ${JSON.stringify(task)}`,
        ),
      );
    });
    next();
  });
}
