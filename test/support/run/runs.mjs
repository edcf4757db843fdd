/** Programs that the test run starts. Each has a process group of its own, and none outlives the run. */
import { spawn } from "node:child_process";
import os from "node:os";

/** Time in ms in which a program that is asked to end must have ended. */
const GRACE_MS = 5_000;

const running = new Set();
let isEnding = false;

/** One run of Node. */
export class Run {
  #child;
  #output = [];
  /** True when the run was ended because it took too long. */
  isTooLong = false;
  /** Resolves to the exit code, or to `null` after a signal. Stays open when the whole test run is ended. */
  ended;

  /**
   * Starts Node. `later` keeps the output for `output`, so that the lines of two runs do not mix. `inBackground` gives the
   * run the time that no other run uses. `limitMs` is the longest time of the run.
   */
  constructor(args, { cwd, env, later = false, inBackground = false, limitMs }) {
    this.#child = spawn(process.execPath, args, {
      cwd,
      env,
      detached: true,
      stdio: later ? ["ignore", "pipe", "pipe"] : ["ignore", "inherit", "inherit"],
    });
    const { pid, stdout, stderr } = this.#child;
    if (inBackground && pid !== undefined) os.setPriority(pid, os.constants.priority.PRIORITY_LOW);
    for (const stream of [stdout, stderr]) stream?.on("data", (chunk) => this.#output.push(chunk));
    running.add(this);
    const limit = setTimeout(() => {
      this.isTooLong = true;
      this.end();
    }, limitMs);
    this.ended = new Promise((resolve, reject) => {
      this.#child.on("error", reject);
      this.#child.on("close", (code) => {
        clearTimeout(limit);
        running.delete(this);
        if (!isEnding) resolve(code);
      });
    });
  }

  /** What the run has written so far, when its output is kept. */
  get output() {
    return Buffer.concat(this.#output);
  }

  /** Ends the run with its processes, by force when they take too long. */
  end() {
    this.signal("SIGTERM");
    setTimeout(() => this.signal("SIGKILL"), GRACE_MS).unref();
  }

  signal(name) {
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // The processes have ended.
    }
  }
}

/** Ends all runs when a signal ends the test run: calls `print`, and exits when no run is left. */
export function endRunsOnSignals(print) {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.once(name, () => {
      isEnding = true;
      for (const run of running) run.end();
      const began = performance.now();
      const wait = setInterval(() => {
        if (running.size > 0 && performance.now() - began < 2 * GRACE_MS) return;
        clearInterval(wait);
        print(name);
        process.exit(128 + os.constants.signals[name]);
      }, 20);
    });
  }
  process.once("exit", () => {
    for (const run of running) run.signal("SIGKILL");
  });
}
