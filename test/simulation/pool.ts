/** Runs tasks in as many processes as there are cores. Each process takes the next task when one is done. */

import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import type { Report, Task } from "./tasks.js";

/** Argument that makes `main.ts` run as a process of the pool. */
export const POOLED = "--pooled";

/**
 * Options of the processes of the pool: a week measures its heap without garbage, and most of what a simulation
 * allocates is garbage at once.
 */
const NODE_OPTIONS = ["--expose-gc", "--max-semi-space-size=64"];

/** Runs all tasks. Rejects when a process dies. */
export async function inParallel(
  main: string,
  tasks: readonly Task[],
  onReport: (report: Report) => void,
): Promise<void> {
  const waiting = [...tasks];
  const processes = Math.min(availableParallelism(), tasks.length);
  const children = Array.from({ length: processes }, () =>
    fork(main, [POOLED], { execArgv: [...process.execArgv, ...NODE_OPTIONS] }),
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
