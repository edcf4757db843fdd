import type { ChildProcess } from "node:child_process";

/** Position of the watcher's pipe in the `stdio` of a watched process. */
const WATCH_PIPE = 3;

/**
 * Shell script that starts a watcher and then replaces itself by the program, which keeps the process id. The watcher
 * reads a pipe from the supervisor: when the pipe closes without a line, the supervisor was killed, and the watcher
 * signals the program after some seconds, unless the program has ended by then. The double fork keeps the watcher from
 * being a child of the program, and the watcher closes descriptor 4, the channel of a role to its supervisor.
 */
const SCRIPT =
  `(({ read -r _ || { i=0; while kill -0 "$$" && [ "$i" -lt "$2" ]; do sleep 1; i=$((i+1)); done; ` +
  `kill -"$1" "$$"; } ; } <&3 >/dev/null 2>&1 4<&- &) 3<&3); shift 2; exec "$@" 3<&-`;

/** Signal that a watched process receives some seconds after the end of its supervisor. */
export interface Watch {
  readonly signal: "INT" | "TERM" | "KILL";
  readonly afterSeconds: number;
}

/** Returns the arguments of `/bin/sh` that run a program under a watcher. */
export function watched({ signal, afterSeconds }: Watch, command: string, args: readonly string[]): string[] {
  return ["-c", SCRIPT, "sh", signal, String(afterSeconds), command, ...args];
}

/** Informs the watcher when the process has ended, so that it does not signal another process with the same id. */
export function releaseWatcherAtExit(child: ChildProcess): void {
  const pipe = child.stdio[WATCH_PIPE];
  if (pipe === null || pipe === undefined || !("end" in pipe)) return;
  pipe.on("error", () => undefined);
  child.once("exit", () => pipe.end("done\n"));
}
