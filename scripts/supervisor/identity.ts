import { execFileSync } from "node:child_process";
import fs from "node:fs";

/** Identity of a process on disk: its id and its start, because the id alone may now belong to another process. */
export interface ProcessMark {
  readonly pid: number;
  readonly started: string;
}

/**
 * Returns the start of the process as an opaque text, or undefined when there is no such process. The text
 * distinguishes a process from a later one with the same id, which is common in containers, where ids restart at 1.
 */
function startOf(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      const fields = statOf(pid);
      if (fields[0] === "Z" || fields[0] === "X") return undefined;
      const boot = fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
      return `${boot} ${fields[19] ?? ""}`;
    } catch {
      return undefined;
    }
  }
  try {
    const line = execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return line === "" || line.startsWith("Z") ? undefined : line.replace(/^\S+\s+/, "");
  } catch {
    return undefined;
  }
}

/** Returns the fields of a process after its name, as Linux has them. Throws when there is no such process. */
function statOf(pid: number): readonly string[] {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program stands in brackets and may contain any character, so fields count from the last bracket.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Returns the id of the parent of a process on Linux. Throws when there is no such process. */
export function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

/** Returns the id of the session of a process on Linux. Throws when there is no such process. */
export function sessionOf(pid: number): number {
  return Number(statOf(pid)[3]);
}

/** Returns the mark of a running process. */
export function markOf(pid: number): ProcessMark {
  return { pid, started: startOf(pid) ?? "" };
}

/** Returns whether the process of the mark still runs. */
export function isRunning(mark: ProcessMark): boolean {
  return mark.started !== "" && startOf(mark.pid) === mark.started;
}

/**
 * Returns the identity of a directory: its device and its number on it, which a move within the device keeps and a copy
 * does not. A mark of a process in a copied directory names a process of the original.
 */
export function identityOf(directory: string): string {
  const { dev, ino } = fs.statSync(directory, { bigint: true });
  return `${dev}:${ino}`;
}

/** Waits until the process of the mark has ended; resolves to false when it still runs after `timeoutMs`. */
export async function waitUntilGone(mark: ProcessMark, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (isRunning(mark)) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}
