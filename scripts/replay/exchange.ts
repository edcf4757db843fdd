/** Finds the exchange to replay on, or starts one of its own. */

import { fork } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Credentials } from "../../http/client/session.js";
import { childEnvironment, type Config } from "../config.js";
import { freePort } from "../embedded/ports.js";
import { StartError } from "../supervisor/start-error.js";

/** Where the exchange answers, and its operator's login. */
export interface Exchange {
  readonly url: string;
  readonly operator: Credentials;
  readonly brand: string;
  readonly dataDir: string;
  /** Ends it, when it is our own. */
  readonly stop: () => Promise<void>;
}

export interface Asked {
  readonly url?: string | undefined;
  readonly operatorEmail?: string | undefined;
  readonly operatorPassword?: string | undefined;
}

const OperatorFile = z.object({ email: z.string(), password: z.string() });
const READY_MS = 180_000;
const STOP_MS = 30_000;
const PROBE_MS = 3_000;

/** A wildcard address is for listening; to call it, loopback serves. */
function originOf({ host, port }: Pick<Config, "host" | "port">): string {
  const callable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `http://${callable.includes(":") ? `[${callable}]` : callable}:${port}`;
}

function keptOperator(dataDir: string): Credentials | undefined {
  try {
    return OperatorFile.parse(JSON.parse(fs.readFileSync(path.join(dataDir, "operator.json"), "utf8")));
  } catch {
    return undefined;
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(new URL("/readyz", url), { signal: AbortSignal.timeout(PROBE_MS) })).ok;
  } catch {
    return false;
  }
}

/** The running exchange that is asked for, or that of this data directory. Throws `StartError` with the remedy. */
export async function findExchange(asked: Asked, config: Config): Promise<Exchange> {
  const url = asked.url ?? originOf(config);
  const { operatorEmail: email, operatorPassword: password } = asked;
  const given = email === undefined || password === undefined ? undefined : { email, password };
  const operator = given ?? config.operator ?? keptOperator(config.dataDir);
  if (!(await isReady(url))) {
    throw new StartError(
      `no exchange answers at ${url}: run npm start first (in another terminal), or give --url, or let the replay ` +
        "start one of its own with --standalone",
    );
  }
  if (operator === undefined) {
    throw new StartError(
      `the operator's login is not in ${config.dataDir}: give --operator-email and --operator-password`,
    );
  }
  return {
    url,
    operator,
    brand: config.signatureBrand,
    dataDir: config.dataDir,
    stop: () => Promise.resolve(),
  };
}

/**
 * Starts a whole exchange on a scratch directory and a free port, with further environment variables where given;
 * `stop` ends it and removes the directory. Throws `StartError` when it does not come up, or when `stopped` is aborted
 * before it has.
 */
export async function startExchange(
  config: Config,
  say: (line: string) => void,
  environment: Readonly<Record<string, string>> = {},
  stopped?: AbortSignal,
): Promise<Exchange> {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-replay-"));
  // The database may run under another user, who must be able to pass through.
  fs.chmodSync(dataDir, 0o755);
  const port = await freePort();
  say(`starting an exchange of our own in ${dataDir}`);
  const entry = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "start.js");
  const child = fork(entry, [], {
    env: childEnvironment({
      DATA_DIR: dataDir,
      PORT: String(port),
      HOST: "127.0.0.1",
      DEMO: "off",
      THROTTLE: "off",
      REDIS_URL: "",
      DATABASE_URL: "",
      ...environment,
    }),
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    // A Ctrl-C at the terminal is for the replay, which still needs the exchange to take its orders back.
    detached: true,
  });
  // However we end, it is told to end too.
  process.once("exit", () => child.kill("SIGTERM"));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const state = { over: false };
  void exited.then(() => (state.over = true));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(force);
    fs.rmSync(dataDir, { recursive: true, force: true });
  };
  const url = originOf({ host: "127.0.0.1", port });
  const until = Date.now() + READY_MS;
  for (;;) {
    const operator = keptOperator(dataDir) ?? config.operator;
    if (operator !== undefined && (await isReady(url))) {
      return {
        url,
        operator,
        brand: config.signatureBrand,
        dataDir,
        stop,
      };
    }
    if (stopped?.aborted === true) {
      await stop();
      throw new StartError("stopped before it had begun");
    }
    if (state.over || Date.now() > until) {
      child.kill("SIGTERM");
      const log = path.join(dataDir, "overround.log");
      throw new StartError(`the exchange of our own did not start; its log is ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
