import { availableParallelism } from "node:os";
import path from "node:path";
import proxyAddr from "proxy-addr";
import { z } from "zod";
import { listing } from "./command-line.mjs";
import { StartError } from "./supervisor/start-error.js";
import { type Format, LATEST_FORMAT, OLDEST_FORMAT } from "../actors/format.js";
import { MAX_OPEN_ORDERS } from "../actors/limits.js";
import { MAX_CONTRACTS, millicents } from "../actors/units.js";
import { isSentinelAddress } from "../stream/redis/address.js";

/** Reports configuration that the operator must correct; the message names each variable. */
export class ConfigError extends StartError {
  override readonly name = "ConfigError";
}

const SHORT_SECRET = "must be at least 32 characters of random text";

function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/** Most processes of one role under `npm start`. */
const MAX_PROCESSES = 64;

/** Number of processes of a role: a number, or `auto` for one process for every `cores` of the machine. */
function processes(cores: number) {
  const message = `must be a whole number from 1 to ${MAX_PROCESSES}, or auto`;
  const auto = Math.min(MAX_PROCESSES, Math.max(1, Math.round(availableParallelism() / cores)));
  return z
    .string()
    .regex(/^(\d{1,15}|auto)$/, message)
    .transform((value) => (value === "auto" ? auto : Number(value)))
    .refine((value) => value >= 1 && value <= MAX_PROCESSES, message)
    .default(1);
}

function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` });
}

function isUrlOf(protocols: readonly string[], value: string): boolean {
  if (!URL.canParse(value)) return false;
  const url = new URL(value);
  return protocols.includes(url.protocol) && url.hostname !== "";
}

function urlOf(protocols: readonly string[]) {
  const example = `${protocols[0] ?? ""}//host:port`;
  return z.string().refine((value) => isUrlOf(protocols, value), `must be a URL such as ${example}`);
}

/** Returns whether `text` is an origin as a browser sends it. */
function isOrigin(text: string): boolean {
  return isUrlOf(["https:", "http:"], text) && new URL(text).origin === text;
}

/** Returns whether `text` is an address or a network that the gateway can trust. */
function isNetwork(text: string): boolean {
  if (!/[.:]/.test(text)) return false;
  try {
    proxyAddr.compile([text]);
    return true;
  } catch {
    return false;
  }
}

/** Value of `TRUST_PROXY` and `GEOIP_FILES` that states that there is no proxy, and no file. */
const NONE = "none";

/** `TRUST_PROXY`: the number of proxies in front, or their networks. No value trusts every address. */
const trustProxy = z.string().transform((value, context): number | readonly string[] | undefined => {
  if (value === NONE) return undefined;
  if (/^[1-9]$/.test(value)) return Number(value);
  const networks = value.split(",").map((network) => network.trim());
  if (networks.every(isNetwork)) return networks;
  context.addIssue("must be a number of proxies (1 to 9), a comma list of addresses and networks, or none");
  return z.NEVER;
});

/** `REDIS_URL`: one URL, a comma list of the nodes of a cluster, or sentinels. */
const redisUrl = z
  .string()
  .transform((value) =>
    value
      .split(",")
      .map((node) => node.trim())
      .join(","),
  )
  .refine(
    (value) =>
      isSentinelAddress(value) || value.split(",").every((node) => isUrlOf(["redis:", "rediss:"], node)),
    "must be a URL such as redis://host:port, or redis+sentinel://host:port,host:port/name",
  );

/** First path segments of routes outside surface B. */
const TAKEN_SEGMENTS = new Set(["v3", "admin", "console", "docs", "healthz", "readyz", "metrics"]);

const EnvironmentVariables = z.object({
  PORT: wholeNumber(1, 65_535).default(8080).describe("TCP port of the gateway."),
  HOST: z.string().default("127.0.0.1").describe("Address that the gateway listens on."),
  OPS_PORT: wholeNumber(1, 65_535)
    .optional()
    .describe(
      "TCP port of the gateway for /healthz, /readyz and /metrics, which PORT then does not serve; unset, PORT serves them.",
    ),
  ADMIN_PORT: wholeNumber(1, 65_535)
    .optional()
    .describe(
      "TCP port of the gateway for the operators' routes, which PORT then does not serve; unset, PORT serves them.",
    ),
  ADMIN_ORIGINS: z
    .string()
    .transform((value) => value.split(",").map((origin) => origin.trim()))
    .refine(
      (origins) => origins.every(isOrigin),
      "must be a comma list of origins such as https://desk.example.com",
    )
    .default([])
    .describe("Comma list of the origins whose pages may call the operators' routes from a browser."),
  REDIS_URL: redisUrl
    .optional()
    .describe(
      "Redis of the exchange: a URL, a comma list of the nodes of a Redis Cluster, or redis+sentinel://host:port,host:port/name; unset, npm start embeds one.",
    ),
  REDIS_WAIT_REPLICAS: wholeNumber(0, 9)
    .default(0)
    .describe(
      "Replicas of Redis that must have a commit before it is acknowledged; 0 lets a fail-over lose the last ones.",
    ),
  DATABASE_URL: urlOf(["postgres:", "postgresql:"])
    .optional()
    .describe("Postgres database of the exchange; unset, npm start embeds one."),
  DATABASE_READ_URL: urlOf(["postgres:", "postgresql:"])
    .optional()
    .describe(
      "Streaming replica of DATABASE_URL, from which gateways read lists; unset, they read DATABASE_URL.",
    ),
  DATA_DIR: z
    .string()
    .default(".data")
    .describe("Directory of everything that npm start keeps on disk: data, secrets, log."),
  WORKERS: processes(4).describe("Workers that npm start runs: a number, or auto for one for every 4 cores."),
  GATEWAYS: processes(4).describe(
    "Gateways that npm start runs on one port: a number, or auto for one for every 4 cores.",
  ),
  PROJECTORS: processes(8).describe(
    "Projectors that npm start runs: a number, or auto for one for every 8 cores.",
  ),
  PROCESS_NAME: z
    .string()
    .regex(/^[A-Za-z0-9._-]{1,64}$/, "must be a word of letters, digits, dots, dashes and underscores")
    .optional()
    .describe(
      "Name of the process in logs, /readyz and /metrics, unique on its host; unset, the role and the process id.",
    ),
  LISTEN: oneOf(["on", "off"])
    .default("on")
    .describe(
      "on or off: whether a gateway listens itself; with off, which npm start sets, its parent process hands it the connections.",
    ),
  EXCHANGE_ENV: oneOf(["dev", "qa", "production"])
    .default("dev")
    .describe("dev, qa or production; dev generates secrets and an operator and runs the demo."),
  LOG_LEVEL: oneOf(["fatal", "error", "warn", "info", "debug", "trace", "silent"])
    .default("info")
    .describe("Least severe log lines that are written: fatal, error, warn, info, debug, trace or silent."),
  SIGNATURE_BRAND: z
    .string()
    .regex(/^[A-Z][A-Za-z0-9]{0,31}$/, "must be a capitalized word such as Svc")
    .default("Svc")
    .describe("Brand in the signature headers (Svc-Key-Id) and in the scheme (SVC-V3)."),
  SERVICE_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, "must be one lower-case path segment such as svc")
    .refine((segment) => !TAKEN_SEGMENTS.has(segment), "must not be the first segment of another route")
    .default("svc")
    .describe("First path segment of surface B."),
  OPERATOR_EMAIL: z
    .email("must be an e-mail address")
    .optional()
    .describe("Login of the first operator, who is created when there is no owner; production requires it."),
  OPERATOR_PASSWORD: z
    .string()
    .min(8, "must have at least 8 characters")
    .optional()
    .describe("Password of the first operator; npm run operator -- reset changes one that is stored."),
  DEMO: oneOf(["on", "off"])
    .default("on")
    .describe(
      "on or off: whether npm start in dev fills an empty exchange with demo markets and trades them.",
    ),
  TRUST_PROXY: trustProxy
    .optional()
    .describe(
      "Number of proxies in front of the gateway (1 to 9), a comma list of their networks, or none; production requires it.",
    ),
  THROTTLE: oneOf(["on", "off"])
    .default("on")
    .describe("on or off: whether the published rate limits of surface A apply; production requires on."),
  EDGE_RATE: wholeNumber(1, 1_000_000)
    .default(2_000)
    .describe("Requests per second that one client (an IPv4 address or an IPv6 /64 network) may send."),
  EDGE_BURST: wholeNumber(1, 1_000_000).default(4_000).describe("Requests that one client may send at once."),
  EDGE_PUBLIC_RATE: wholeNumber(1, 1_000_000)
    .default(50)
    .describe("Requests per second to /v3/public/ that one client may send."),
  EDGE_PUBLIC_BURST: wholeNumber(1, 1_000_000)
    .default(200)
    .describe("Requests to /v3/public/ that one client may send at once."),
  EDGE_BODY_BYTES: wholeNumber(1_024, 16_777_216)
    .default(65_536)
    .describe("Largest request body that passes the edge, in bytes; the routes accept at most 102,400."),
  EDGE_CONNECTIONS: wholeNumber(1, 1_000_000)
    .default(20_000)
    .describe("TCP connections that one gateway keeps open."),
  EDGE_HEADERS_MS: wholeNumber(100, 600_000)
    .default(5_000)
    .describe("Longest time in which a client may send the headers of a request, in ms."),
  EDGE_REQUEST_MS: wholeNumber(100, 600_000)
    .default(10_000)
    .describe("Longest time in which a client may send a whole request, in ms."),
  REDIS_FSYNC: oneOf(["always", "everysec"])
    .default("always")
    .describe(
      "appendfsync of the embedded Redis: with always, every acknowledged write survives a power failure; with " +
        "everysec, the last second may be lost.",
    ),
  REDIS_SERVER_BIN: z
    .string()
    .optional()
    .describe("Path of a redis-server or valkey-server program, version 7 or newer, to embed."),
  JWT_WEB_SECRET: z
    .string()
    .min(32, SHORT_SECRET)
    .optional()
    .describe(
      "Key that signs web sessions and encrypts second factors, at least 32 characters; production requires one, dev " +
        "and qa generate it.",
    ),
  JWT_SERVICE_SECRET: z
    .string()
    .min(32, SHORT_SECRET)
    .optional()
    .describe(
      "Key that signs the tokens of surface B: at least 32 characters (HS256), or an Ed25519 private key in PEM " +
        "(EdDSA); production requires one, dev and qa generate it.",
    ),
  JWT_SERVICE_ACCEPT: z
    .string()
    .transform((value) => value.split(",").map((key) => key.trim()))
    .pipe(z.array(z.string().min(32, SHORT_SECRET)))
    .optional()
    .describe("Comma list of further keys whose surface B tokens are accepted, for key rotation."),
  PUBLIC_URL: urlOf(["https:", "http:"])
    .transform((url) => url.replace(/\/+$/, ""))
    .optional()
    .describe(
      "Public base URL of the service in its documents and tokens; unset, the Host of the request is used.",
    ),
  MIN_FREE_DISK_MB: wholeNumber(0, 100_000_000)
    .default(1_024)
    .describe(
      "Free space of the disk of the embedded servers, in MB, below which no new orders are accepted; 0 turns it off. The " +
        "disk of Redis must have as much as Redis holds in addition, for a rewrite of its append-only file.",
    ),
  RESUME_WINDOW_MB: wholeNumber(1, 1_000_000)
    .default(1_024)
    .describe(
      "Memory of Redis, in MB, for the entries that clients of the stream resume from; at most a fifth of maxmemory.",
    ),
  LEASE_MS: wholeNumber(100, 60_000)
    .default(300)
    .describe(
      "Shortest lease of a worker on its partitions, in ms: another worker takes over after this time. A worker whose " +
        "heartbeats come late gets a longer lease, of at most ten times this.",
    ),
  DRAIN_NOTICE_MS: wholeNumber(0, 60_000)
    .default(0)
    .describe(
      "Time in ms after SIGTERM in which a gateway goes on as before and only /readyz says that it stops, for load balancers.",
    ),
  MARKET_KEEP_S: wholeNumber(1, 31_536_000)
    .default(86_400)
    .describe("Time in s that a settled market stays in Redis and in memory; it stays readable afterwards."),
  MAX_OPEN_ORDERS: wholeNumber(1, 1_000_000)
    .default(MAX_OPEN_ORDERS)
    .describe("Open orders that one wallet may have."),
  MAX_POSITION_CONTRACTS: wholeNumber(1, MAX_CONTRACTS)
    .default(MAX_CONTRACTS)
    .describe("Contracts of one outcome that one wallet may hold or have on order."),
  FORMAT: wholeNumber(OLDEST_FORMAT, LATEST_FORMAT)
    .default(LATEST_FORMAT)
    .transform((format) => format as Format)
    .describe(
      "Latest format of stored data that this role announces; the lowest one that any role announces is written.",
    ),
  GEOIP_FILES: z
    .string()
    .transform((value) => (value === NONE ? [] : value.split(",").map((file) => path.resolve(file.trim()))))
    .default([])
    .describe(
      "Comma list of MaxMind database files that locate client addresses, or none; production requires it.",
    ),
  SETTLEMENT_APPROVALS: oneOf(["1", "2"])
    .default("1")
    .transform(Number)
    .describe("Operators who must approve a settlement: 1 or 2."),
  APPROVAL_LIMIT: wholeNumber(0, 1_000_000_000)
    .default(1_000)
    .describe("Largest transaction that one operator posts with SETTLEMENT_APPROVALS=2, in dollars."),
});

type Values = z.infer<typeof EnvironmentVariables>;

/** Variables whose value is never printed, even when the value is invalid. */
const SECRET = new Set([
  "REDIS_URL",
  "DATABASE_URL",
  "DATABASE_READ_URL",
  "OPERATOR_PASSWORD",
  "JWT_WEB_SECRET",
  "JWT_SERVICE_SECRET",
  "JWT_SERVICE_ACCEPT",
]);

/** Frozen configuration of one process (contract section 9.4); a value is undefined when its variable is not set. */
export type Config = ReturnType<typeof arrange>;

function arrange(values: Values, missing: readonly string[]) {
  const { OPERATOR_EMAIL: email, OPERATOR_PASSWORD: password } = values;
  return Object.freeze({
    port: values.PORT,
    host: values.HOST,
    /** Ports besides `port` on which gateways serve; undefined: `port` serves their paths. */
    otherPorts: Object.freeze({ operations: values.OPS_PORT, admin: values.ADMIN_PORT }),
    /** Origins whose pages may call the operators' routes. */
    adminOrigins: values.ADMIN_ORIGINS,
    /** Variables that a gateway of this environment requires and that are not set. */
    missing,
    redisUrl: values.REDIS_URL,
    waitReplicas: values.REDIS_WAIT_REPLICAS,
    databaseUrl: values.DATABASE_URL,
    databaseReadUrl: values.DATABASE_READ_URL,
    /** Absolute path. */
    dataDir: path.resolve(values.DATA_DIR),
    /** Processes of each role in a set. */
    counts: Object.freeze({
      worker: values.WORKERS,
      projector: values.PROJECTORS,
      jobs: 1,
      gateway: values.GATEWAYS,
    }),
    processName: values.PROCESS_NAME,
    /** False: the supervisor accepts the connections of a gateway and hands them over. */
    listens: values.LISTEN === "on",
    exchangeEnv: values.EXCHANGE_ENV,
    logLevel: values.LOG_LEVEL,
    signatureBrand: values.SIGNATURE_BRAND,
    servicePrefix: values.SERVICE_PREFIX,
    operator: email === undefined || password === undefined ? undefined : Object.freeze({ email, password }),
    demo: values.DEMO === "on" && values.EXCHANGE_ENV === "dev",
    /** Express setting `trust proxy`; undefined: forwarding headers are ignored. */
    trustProxy: values.TRUST_PROXY,
    /** False: the gateway grants every request of surface A without asking the token buckets. */
    metered: values.THROTTLE === "on",
    edge: Object.freeze({
      ratePerSecond: values.EDGE_RATE,
      burst: values.EDGE_BURST,
      publicRatePerSecond: values.EDGE_PUBLIC_RATE,
      publicBurst: values.EDGE_PUBLIC_BURST,
      bodyBytes: values.EDGE_BODY_BYTES,
    }),
    /** Connection limits of the gateway's HTTP server. */
    server: Object.freeze({
      connections: values.EDGE_CONNECTIONS,
      headersMs: values.EDGE_HEADERS_MS,
      requestMs: values.EDGE_REQUEST_MS,
    }),
    redisFsync: values.REDIS_FSYNC,
    redisServerBin: values.REDIS_SERVER_BIN,
    jwtWebSecret: values.JWT_WEB_SECRET,
    jwtServiceSecret: values.JWT_SERVICE_SECRET,
    /** Keys besides the signing key: the next key before it signs, and the previous key until its tokens expire. */
    jwtServiceAccept: values.JWT_SERVICE_ACCEPT ?? [],
    publicUrl: values.PUBLIC_URL,
    /** Free space of the disks of the embedded servers below which no new orders are accepted, in bytes. */
    minFreeDiskBytes: values.MIN_FREE_DISK_MB * 1_048_576,
    /** Budget of the resume windows of all actors, in bytes. */
    resumeBytes: values.RESUME_WINDOW_MB * 1_048_576,
    leaseMs: values.LEASE_MS,
    drainNoticeMs: values.DRAIN_NOTICE_MS,
    marketKeepMs: values.MARKET_KEEP_S * 1_000,
    /** Format that the role announces; see `stream/log/formats.ts`. */
    format: values.FORMAT,
    /** Limits of every wallet. */
    limits: Object.freeze({
      openOrders: values.MAX_OPEN_ORDERS,
      positionContracts: values.MAX_POSITION_CONTRACTS,
    }),
    /** Absolute paths of files in MaxMind's format, with the regions and the anonymity flags of addresses. */
    geoIpFiles: values.GEOIP_FILES,
    settlementApprovals: values.SETTLEMENT_APPROVALS,
    /** Largest transaction that one operator posts where a settlement takes two. */
    approvalLimit: millicents(values.APPROVAL_LIMIT * 100_000),
  });
}

/** Variables that the gateways of production require, so that no safeguard is left out by mistake. */
const REQUIRED_IN_PRODUCTION = [
  "OPERATOR_EMAIL",
  "OPERATOR_PASSWORD",
  "JWT_WEB_SECRET",
  "JWT_SERVICE_SECRET",
  "TRUST_PROXY",
  "GEOIP_FILES",
] as const satisfies readonly (keyof Values)[];

/** Returns the problems that involve several variables, and misspelled edge limits. */
function problemsAcross(given: Record<string, string>): string[] {
  const problems: string[] = [];
  if ("OPERATOR_EMAIL" in given !== "OPERATOR_PASSWORD" in given) {
    problems.push("OPERATOR_EMAIL and OPERATOR_PASSWORD must be set together, or neither");
  }
  if ("DATABASE_READ_URL" in given && !("DATABASE_URL" in given)) {
    problems.push("DATABASE_READ_URL: set DATABASE_URL too, the database of which it is a replica");
  }
  if (given["THROTTLE"] === "off" && given["EXCHANGE_ENV"] === "production") {
    problems.push("THROTTLE cannot be off when EXCHANGE_ENV is production");
  }
  const ports = ["PORT", "OPS_PORT", "ADMIN_PORT"].filter((name) => name === "PORT" || name in given);
  const numbers = ports.map((name) =>
    Number(given[name] ?? EnvironmentVariables.shape.PORT.parse(undefined)),
  );
  if (new Set(numbers).size < numbers.length)
    problems.push(`${ports.join(", ")}: set each to a port of its own`);
  for (const name of Object.keys(given)) {
    if (name.startsWith("EDGE_") && !(name in EnvironmentVariables.shape)) {
      problems.push(`${name}: there is no such limit; npm start -- --help lists the variables`);
    }
  }
  return problems;
}

/**
 * Reads the configuration from the environment; an empty variable counts as absent.
 * @throws ConfigError with one line for each invalid variable.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && value.trim() !== "") given[name] = value.trim();
  }
  const parsed = EnvironmentVariables.safeParse(given);
  const problems = problemsAcross(given);
  if (parsed.success && problems.length === 0) {
    const required = parsed.data.EXCHANGE_ENV === "production" ? REQUIRED_IN_PRODUCTION : [];
    return arrange(
      parsed.data,
      required.filter((name) => !(name in given)),
    );
  }
  for (const issue of parsed.error?.issues ?? []) {
    const name = String(issue.path[0]);
    const shown = SECRET.has(name) ? "" : ` (it is "${given[name] ?? ""}")`;
    problems.push(`${name}: ${issue.message}${shown}`);
  }
  throw new ConfigError(problems.join("\n"));
}

/**
 * Refuses a configuration with which no gateway may start (contract section 9.5).
 * @throws ConfigError that names every missing variable.
 */
export function requireComplete({ missing, exchangeEnv }: Pick<Config, "missing" | "exchangeEnv">): void {
  if (missing.length === 0) return;
  throw new ConfigError(
    `EXCHANGE_ENV=${exchangeEnv} needs ${missing.join(", ")}: set each of them; TRUST_PROXY and GEOIP_FILES may be ${NONE}`,
  );
}

/** Returns the help on every environment variable: its description and its default. */
export function describeVariables(): string {
  const defaults: Readonly<Record<string, unknown>> = EnvironmentVariables.parse({});
  const rows = Object.entries(EnvironmentVariables.shape).map(([name, { description = "" }]) => {
    const initial = [defaults[name]].flat().join(",");
    return [name, initial === "" ? description : `${description} Default: ${initial}.`] as const;
  });
  return `Environment variables:\n${listing(rows)}`;
}

/** Returns the environment for a child process: the one of this process with `overrides`. */
export function childEnvironment(overrides: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...overrides };
}

/** Returns the directories of PATH. */
export function programPath(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env["PATH"] ?? "").split(path.delimiter).filter((directory) => directory !== "");
}
