/** Processes of the Redis program, for tests of several servers. */

import { type ChildProcess, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Redis } from "ioredis";
import { programPath } from "../../../scripts/config.js";
import { freePort } from "../../../scripts/embedded/ports.js";
import { findRedis } from "../../../scripts/embedded/redis-binary.js";
import { releaseWatcherAtExit, watched } from "../../../scripts/supervisor/watched.js";
import { cacheDir } from "../servers.js";

/** Password of the servers. */
export const PASSWORD = "the password of the tests";

/** Returns the URL of a server. */
export function urlOf(port: number): string {
  return `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`;
}

/** A server process. */
export class ServerProcess {
  readonly child: ChildProcess;
  readonly exited: Promise<void>;

  /** Starts a server of the Redis program; `mode` is for `--sentinel`. */
  constructor(directory: string, config: string, mode: readonly string[] = []) {
    const quiet = (): void => undefined;
    const serverBin = process.env["REDIS_SERVER_BIN"];
    const { command, env } = findRedis({ serverBin, programPath: programPath(), cacheDir, log: quiet });
    // A test run that is killed leaves no server behind.
    const args = watched({ signal: "KILL", afterSeconds: 0 }, command, [config, ...mode]);
    this.child = spawn("/bin/sh", args, {
      cwd: directory,
      env: { ...process.env, ...env },
      stdio: ["ignore", "ignore", "ignore", "pipe"],
    });
    releaseWatcherAtExit(this.child);
    this.exited = new Promise((resolve) => this.child.once("exit", () => resolve()));
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }
}

/** Writes a configuration file, and returns its name. */
export function writeConfig(
  directory: string,
  name: string,
  settings: readonly (readonly [name: string, value: string | number])[],
): string {
  const file = path.join(directory, name);
  fs.writeFileSync(file, settings.map(([key, value]) => `${key} ${value}\n`).join(""));
  return file;
}

/** Returns free ports, none of them twice: a server that has just started may not hold its port yet. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

/** Returns a directory of its own for servers. */
export function serverDirectory(): string {
  return fs.mkdtempSync(path.join(os.tmpdir(), "overround-redis-"));
}

/** Opens a connection to a server that may not be up yet, and may go. */
export function administer(port: number, password = PASSWORD): Redis {
  const admin = new Redis(port, "127.0.0.1", {
    password,
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  });
  admin.on("error", () => undefined);
  return admin;
}
