/** Finds the exchange to replay on, or starts one on a temporary directory. */

import { fork } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Credentials } from "../../http/client/rest/session.js";
import { childEnvironment, type Config } from "../config.js";
import { freePort } from "../embedded/ports.js";
import { StartError } from "../supervisor/start-error.js";

/** Address of an exchange and the login of its operator. */
export interface Exchange {
  readonly url: string;
  /** Address of the operators' routes. */
  readonly adminUrl: string;
  readonly operator: Credentials;
  readonly brand: string;
  readonly dataDir: string;
  /** Stops the exchange if this process started it. */
  readonly stop: () => Promise<void>;
}

/** Address and operator that the command line names; the rest comes from the configuration. */
export interface ExchangeOptions {
  readonly url?: string | undefined;
  /** Default: `url`. */
  readonly adminUrl?: string | undefined;
  readonly operatorEmail?: string | undefined;
  readonly operatorPassword?: string | undefined;
}

const OperatorFile = z.object({ email: z.string(), password: z.string() });
const READY_MS = 180_000;
const STOP_MS = 30_000;
const PROBE_MS = 3_000;

/** Returns the origin to call: loopback for a wildcard address, which is for listening only. */
function originOf(host: string, port: number): string {
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
    const { ok, status } = await fetch(new URL("/readyz", url), { signal: AbortSignal.timeout(PROBE_MS) });
    // An exchange with `OPS_PORT` shows its readiness on that port only.
    return ok || status === 404;
  } catch {
    return false;
  }
}

/**
 * Returns the running exchange that the options name, by default the one of this data directory. Throws `StartError`
 * with the remedy.
 */
export async function findExchange(options: ExchangeOptions, config: Config): Promise<Exchange> {
  const { host, port, otherPorts } = config;
  const url = options.url ?? originOf(host, port);
  const adminUrl = options.adminUrl ?? options.url ?? originOf(host, otherPorts.admin ?? port);
  const { operatorEmail: email, operatorPassword: password } = options;
  const given = email === undefined || password === undefined ? undefined : { email, password };
  const operator = given ?? config.operator ?? keptOperator(config.dataDir);
  if (!(await isReady(url))) {
    throw new StartError(
      `no exchange answers at ${url}: run npm start first (in another terminal), or give its address with --url, or ` +
        "start one for this replay with --standalone",
    );
  }
  if (operator === undefined) {
    throw new StartError(
      `the operator's login is not in ${config.dataDir}: give --operator-email and --operator-password`,
    );
  }
  return {
    url,
    adminUrl,
    operator,
    brand: config.signatureBrand,
    dataDir: config.dataDir,
    stop: () => Promise.resolve(),
  };
}

/**
 * Starts a whole exchange on a temporary directory and a free port, with the given environment variables; `stop` ends
 * the exchange and removes the directory. Throws `StartError` when the exchange does not start, or when `stopped`
 * aborts first.
 */
export async function startExchange(
  config: Config,
  say: (line: string) => void,
  environment: Readonly<Record<string, string>> = {},
  stopped?: AbortSignal,
): Promise<Exchange> {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "overround-replay-"));
  // Postgres may run as another user, who must be able to enter the directory.
  fs.chmodSync(dataDir, 0o755);
  const port = await freePort();
  say(`starting an exchange in ${dataDir}`);
  const entry = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "start.js");
  const child = fork(entry, [], {
    env: childEnvironment({
      DATA_DIR: dataDir,
      PORT: String(port),
      HOST: "127.0.0.1",
      OPS_PORT: "",
      ADMIN_PORT: "",
      DEMO: "off",
      THROTTLE: "off",
      REDIS_URL: "",
      DATABASE_URL: "",
      ...environment,
    }),
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    // A Ctrl-C at the terminal must not reach the exchange, which the replay still needs to cancel its orders.
    detached: true,
  });
  // The exchange ends with this process, however this process ends.
  process.once("exit", () => child.kill("SIGTERM"));
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const state = { exited: false };
  void exited.then(() => (state.exited = true));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const force = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await exited;
    clearTimeout(force);
    fs.rmSync(dataDir, { recursive: true, force: true });
  };
  const url = originOf("127.0.0.1", port);
  const deadlineMs = Date.now() + READY_MS;
  for (;;) {
    const operator = keptOperator(dataDir) ?? config.operator;
    if (operator !== undefined && (await isReady(url))) {
      return {
        url,
        adminUrl: url,
        operator,
        brand: config.signatureBrand,
        dataDir,
        stop,
      };
    }
    if (stopped?.aborted === true) {
      await stop();
      throw new StartError("stopped before the exchange had started");
    }
    if (state.exited || Date.now() > deadlineMs) {
      child.kill("SIGTERM");
      const log = path.join(dataDir, "overround.log");
      throw new StartError(`the exchange of this replay did not start; its log is ${log}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
