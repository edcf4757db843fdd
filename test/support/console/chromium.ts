/** Chromium on this machine: the installed program, or that of Debian or Ubuntu, which `install.ts` installs. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { programOf } from "../run/program.js";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export function findChromium(): string | undefined {
  return PROGRAMS.find((program) => existsSync(program));
}

/** Installs Chromium in a process of its own, so that whatever runs in this one goes on. */
export async function installChromium(): Promise<void> {
  const { entry, execArgv } = programOf("test/support/console/install.ts");
  await once(spawn(process.execPath, [...execArgv, entry], { stdio: "inherit" }), "close");
}
