import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { migrate } from "../db/migrate.js";
import { systemClock } from "../stream/log/clock.js";
import type { Logger } from "../stream/log/logger.js";
import { RedisLog } from "../stream/redis/redis-log.js";
import { ProcessReporter } from "../stream/services/process-reports.js";
import { readCommandLine } from "./command-line.mjs";
import { type Config, describeVariables, loadConfig, requireComplete } from "./config.js";
import { demoLogin } from "./demo/credentials.js";
import { AppendOnlyFile } from "./embedded/append-only-file.js";
import { isFree } from "./embedded/ports.js";
import { startPostgres } from "./embedded/postgres.js";
import { embeddedRedisUrl, startRedis } from "./embedded/redis.js";
import { NODE_OPTIONS } from "./roles/node-options.js";
import { loadSecrets } from "./secrets.js";
import { DiskGuard, type DiskReports } from "./supervisor/disk-guard.js";
import { waitForReadyz } from "./supervisor/readiness.js";
import type { RoleProgram } from "./supervisor/role.js";
import { SharedPort } from "./supervisor/shared-port.js";
import { describe, StartError } from "./supervisor/start-error.js";
import { lockDataDir } from "./supervisor/lock.js";
import { type LogFile, openLog } from "./supervisor/log.js";
import { BACKGROUND, GATEWAY, type Niceness, WORKER } from "./supervisor/priorities.js";
import { type ProcessSet, startSet } from "./supervisor/supervisor.js";

/** Roles in the order in which they start. They stop in the opposite order, so that none needs a stopped role. */
const ROLES = ["worker", "projector", "jobs", "gateway"] as const;
/** An order waits for a gateway, Redis and a worker, and for nothing else. */
const NICENESS: Readonly<Record<(typeof ROLES)[number], Niceness>> = {
  worker: WORKER,
  gateway: GATEWAY,
  projector: BACKGROUND,
  jobs: BACKGROUND,
};
/** Longest drain in ms of a process that is replaced, after its notice. */
const REPLACE_MS = 10_000;
/** Interval in ms within which two signals count as one: a Ctrl-C comes from the terminal and again through npm. */
const SAME_SIGNAL_MS = 1_000;
const DEMO = { role: "demo", name: "demo", env: {}, mayFinish: true, niceness: BACKGROUND } as const;
const HERE = path.dirname(fileURLToPath(import.meta.url));

function say(line: string): void {
  console.log(`overround: ${line}`);
}

/** Logger of a check at the start. */
const SAID: Logger = {
  info: () => undefined,
  warn: (_, message) => say(`warning: ${message}`),
  error: (_, message) => say(message),
};

function entryOf(role: string): string {
  return path.join(HERE, `${role}.js`);
}

/** Runs the whole exchange as one supervised set of processes (contract section 9.1): `npm start`. */
async function main(): Promise<void> {
  readCommandLine({
    name: "start",
    call: "npm start --",
    summary:
      "Starts the exchange as one supervised set of processes: an embedded Postgres and Redis unless their URLs are " +
      "set, the roles, and in dev the demo. Prints the addresses and the logins. Ctrl-C drains and stops the set.",
    options: {},
    notes: describeVariables,
  });
  const config = loadConfig();
  const lock = await lockDataDir(config.dataDir);
  const log = openLog(path.join(config.dataDir, "overround.log"));
  let exitCode = 0;
  try {
    exitCode = await run(config, log);
  } finally {
    lock.release();
    log.close();
  }
  process.exit(exitCode);
}

async function run(config: Config, log: LogFile): Promise<number> {
  requireComplete(config);
  for (const { name, port } of portsOf(config)) await checkHttpPort(name, port, config.host);
  const port = new SharedPort(config.server.connections);
  // The roles would report the same, each three times and with its attempts.
  if (config.redisUrl !== undefined)
    await (await RedisLog.open({ url: config.redisUrl, logger: SAID })).close();
  const set = startProcesses(config, log, port);
  restartOnSignal(set);
  const stopRequested = stopSignal(set);
  const disks = watchDisks(config);
  const waiting = new AbortController();
  try {
    await Promise.race([waitAndPresent(config, set, port, log, waiting.signal), stopRequested]);
    await stopRequested;
    return 0;
  } catch (error) {
    say(describe(error));
    say(`the log of every process is in ${log.path}`);
    return 1;
  } finally {
    waiting.abort();
    await disks?.stop();
    port.closeWithLast();
    await set.stop();
    say("stopped");
  }
}

/** Watches the disks of the embedded servers until it is stopped; returns `undefined` when there is none. */
function watchDisks({ dataDir, redisUrl, databaseUrl, minFreeDiskBytes }: Config): DiskGuard | undefined {
  const directories = [
    ...(redisUrl === undefined ? [path.join(dataDir, "redis")] : []),
    ...(databaseUrl === undefined ? [path.join(dataDir, "postgres")] : []),
  ];
  if (directories.length === 0) return undefined;
  const open = async (): Promise<DiskReports> => {
    const url = redisUrl ?? embeddedRedisUrl(dataDir);
    if (url === undefined) throw new StartError("the embedded Redis has not started yet");
    const log = await RedisLog.open({ url });
    const aof = redisUrl === undefined ? new AppendOnlyFile(url, path.join(dataDir, "redis")) : undefined;
    const reporter = new ProcessReporter({
      log,
      clock: systemClock,
      role: "start",
      name: "start",
      process: `start-${process.pid}`,
      figures: () => guard.figures(),
    });
    return {
      reportDisk: (reason, ttlMs) => log.reportDisk(reason, ttlMs),
      aof,
      async close() {
        reporter.stop();
        aof?.close();
        await log.close();
      },
    };
  };
  const guard = new DiskGuard({ open, directories, minFreeBytes: minFreeDiskBytes, say });
  return guard;
}

/** Starts the servers and the roles; `ready` of the set resolves when all of them run. */
function startProcesses(config: Config, log: LogFile, port: SharedPort): ProcessSet {
  const { dataDir, redisUrl, databaseUrl } = config;
  return startSet({
    postgres:
      databaseUrl === undefined
        ? {
            start: (again, signal) =>
              startPostgres({ dataDir, log: log.from("postgres"), say, keepPort: again, signal }),
          }
        : { url: databaseUrl },
    redis:
      redisUrl === undefined
        ? {
            start: (again, signal) =>
              startRedis({
                dataDir,
                log: log.from("redis"),
                say,
                serverBin: config.redisServerBin,
                cacheDir: path.resolve(".cache"),
                fsync: config.redisFsync,
                keepPort: again,
                signal,
              }),
          }
        : { url: redisUrl },
    migrate: async (url) => {
      say("bringing the database schema up to date");
      await migrate(url, say);
    },
    roles: programs(config, port),
    replaceMs: config.drainNoticeMs + REPLACE_MS,
    log,
    say,
  });
}

/** Returns the programs of all roles, one for each process. */
function programs(config: Config, port: SharedPort): RoleProgram[] {
  const secrets = loadSecrets(config);
  const ofGateway = {
    env: {
      JWT_WEB_SECRET: secrets.jwtWebSecret,
      JWT_SERVICE_SECRET: secrets.jwtServiceSecret,
      LISTEN: "off",
    },
    onReady: (child: ChildProcess): void => port.add(child),
  };
  return ROLES.flatMap((role) => {
    const count = config.counts[role];
    const { env, ...hooks } = role === "gateway" ? ofGateway : { env: {} };
    return Array.from({ length: count }, (_, index) => {
      const name = count === 1 ? role : `${role}-${index + 1}`;
      const program = { role, name, entry: entryOf(role), env: { ...env, PROCESS_NAME: name } };
      return { ...program, nodeOptions: NODE_OPTIONS[role], niceness: NICENESS[role], ...hooks };
    });
  });
}

/** Waits for the set, starts the demo, and prints the addresses. */
async function waitAndPresent(
  config: Config,
  set: ProcessSet,
  port: SharedPort,
  log: LogFile,
  signal: AbortSignal,
): Promise<void> {
  const begunMs = Date.now();
  const wanted = ROLES.map((role) => (config.counts[role] === 1 ? role : `${config.counts[role]} ${role}s`));
  say(`starting ${wanted.join(", ")}; data in ${config.dataDir}`);
  await set.ready;
  for (const { port: number, use } of portsOf(config)) await port.listen(number, config.host, use);
  const url = `http://${callableHost(config.host)}:${config.otherPorts.operations ?? config.port}/readyz`;
  for (const actor of await waitForReadyz({ url, say, signal })) {
    say(`warning: ${actor} is halted by an error; all other actors run. Its reason is in ${log.path}`);
  }
  if (config.demo && fs.existsSync(entryOf("demo"))) {
    say("starting the demo");
    await set
      .add({ ...DEMO, entry: entryOf("demo") })
      .catch((error: unknown) => say(`the exchange runs without the demo: ${describe(error)}`));
  }
  const seconds = ((Date.now() - begunMs) / 1_000).toFixed(1);
  console.log(`\noverround is ready after ${seconds} s\n\n${table(config, set, log)}\n`);
}

/** Returns the host to call: loopback for a wildcard address, which is for listening only. */
function callableHost(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/** Returns the ports on which the set listens, with the names of their variables. */
function portsOf({ port, otherPorts: { operations, admin } }: Config) {
  return [
    { name: "PORT", port, use: "clients" },
    ...(operations === undefined ? [] : [{ name: "OPS_PORT", port: operations, use: "further" } as const]),
    ...(admin === undefined ? [] : [{ name: "ADMIN_PORT", port: admin, use: "further" } as const]),
  ] as const;
}

async function checkHttpPort(name: string, port: number, host: string): Promise<void> {
  if (await isFree(port, host)) return;
  throw new StartError(
    `cannot listen on ${host}:${port}: stop the program that uses it, or choose another port, for example ` +
      `${name}=${port + 1} npm start`,
  );
}

function table(config: Config, set: ProcessSet, log: LogFile): string {
  const host = callableHost(config.host);
  const authority = `${host}:${config.port}`;
  const { operations, admin } = config.otherPorts;
  const operator = operatorLogin(config);
  const trader = config.demo ? demoLogin(config.dataDir) : undefined;
  const rows: (readonly [string, string])[] = [
    ["Console", `http://${authority}`],
    ["HTTP", `http://${authority}/v3`],
    ["Websocket", `ws://${authority}/v3/ws`],
    ["Docs", `http://${authority}/docs`],
    ...(operations === undefined ? [] : [["Operations", `http://${host}:${operations}/readyz`] as const]),
    ...(admin === undefined ? [] : [["Admin", `http://${host}:${admin}/admin/v1`] as const]),
    ...(operator === undefined ? [] : [["Operator", operator] as const]),
    ...(trader === undefined ? [] : [["Trader", `${trader.email} / ${trader.password}`] as const]),
    ["Processes", [...set.pids()].map(([name, pid]) => `${name} ${pid}`).join(", ")],
    ["Data", config.dataDir],
    ["Log", log.path],
    ["To restart", `kill -USR2 ${process.pid} replaces the roles one by one, without a refused request`],
    ["To stop", `Ctrl-C, or kill ${process.pid}`],
  ];
  return rows.map(([label, value]) => `  ${label.padEnd(12)}${value}`).join("\n");
}

const OperatorFile = z.object({ email: z.string(), password: z.string() });

/** Returns the login of the operator that the gateway generated in dev (contract section 8.5). */
function operatorLogin(config: Config): string | undefined {
  const file = path.join(config.dataDir, "operator.json");
  if (config.exchangeEnv !== "dev" || !fs.existsSync(file)) return undefined;
  try {
    const { email, password } = OperatorFile.parse(JSON.parse(fs.readFileSync(file, "utf8")));
    return `${email} / ${password}`;
  } catch {
    return `see ${file}`;
  }
}

/** Replaces the processes of all roles at each SIGUSR2. SIGHUP, of a terminal that closes, stops the set. */
function restartOnSignal(set: ProcessSet): void {
  let isRestarting = false;
  process.on("SIGUSR2", () => {
    if (isRestarting) {
      say("a restart is in progress; send SIGUSR2 again after its end");
      return;
    }
    isRestarting = true;
    say("restarting the roles one after the other");
    set
      .restart()
      .then(
        () => say("every role has been restarted"),
        (error: unknown) =>
          say(`the restart has ended early, and every process that runs goes on: ${describe(error)}`),
      )
      .finally(() => (isRestarting = false));
  });
}

/** Resolves at the first signal to stop; the second signal kills every process at once. */
function stopSignal(set: ProcessSet): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    const onSignal = (): void => {
      if (firstMs === undefined) {
        firstMs = Date.now();
        say("stopping; press Ctrl-C again to stop at once");
        resolve();
        return;
      }
      if (Date.now() - firstMs < SAME_SIGNAL_MS) return;
      set.kill();
      process.exit(130);
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, onSignal);
  });
}

// A terminal that closes before the set has stopped must not interrupt the stop.
process.stdout.on("error", () => undefined);
main().catch((error: unknown) => {
  console.error(`overround: ${describe(error)}`);
  process.exit(1);
});
