/** Carries out tasks in as many processes as there are cores; each takes the next when it is done with one. */

import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import type { Report, Task } from "./tasks.js";

/** The argument by which `main.ts` knows that it is one of the pool. */
export const POOLED = "--pooled";

/** Resolves when all are done. A process that dies ends everything with an error. */
export async function inParallel(
  main: string,
  tasks: readonly Task[],
  onReport: (report: Report) => void,
): Promise<void> {
  const waiting = [...tasks];
  const processes = Math.min(availableParallelism(), tasks.length);
  const children = Array.from({ length: processes }, () => fork(main, [POOLED]));
  try {
    await Promise.all(children.map((child) => work(child, waiting, onReport)));
  } finally {
    for (const child of children) child.kill();
  }
}

function work(child: ChildProcess, waiting: Task[], onReport: (report: Report) => void): Promise<void> {
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
      reject(new Error(`a process ended by ${signal ?? `code ${String(code)}`} at ${JSON.stringify(task)}`));
    });
    next();
  });
}
