/**
 * Installs the Chromium of Debian or Ubuntu where there is none, which takes root. Of several processes one installs it, and
 * the others wait.
 */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { exclusively } from "../../../scripts/supervisor/setup-lock.mjs";
import { findChromium } from "./chromium.js";

const LOCK = path.resolve(".cache/chromium.lock");
/** Longest time in ms of an installation on a busy machine. */
const INSTALL_MS = 240_000;
/** Longest wait in s for another program that installs packages. */
const OTHERS_S = 120;

function apt(...args: string[]): void {
  execFileSync("apt-get", ["-qq", "-o", `DPkg::Lock::Timeout=${OTHERS_S}`, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}

function install(): void {
  if (findChromium() !== undefined) return;
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    console.error("chromium: there is none, and only root of a Debian or Ubuntu can install it here");
    return;
  }
  console.log("chromium: installing the one of the distribution");
  apt("update");
  apt("install", "--yes", "--no-install-recommends", "chromium");
}

if (findChromium() === undefined) {
  const onWait = (holder: number): void => console.log(`chromium: process ${holder} installs it`);
  try {
    exclusively(LOCK, { waitMs: INSTALL_MS, onWait }, install);
  } catch (error) {
    console.error(`chromium: it cannot be installed: ${String(error)}`);
    process.exitCode = 1;
  }
}
