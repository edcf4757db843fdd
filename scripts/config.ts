import path from "node:path";
import { z } from "zod";
import { StartError } from "./supervisor/start-error.js";

/** What the operator has to correct before anything can run; the message names each variable. */
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

function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `must be one of ${values.join(", ")}` });
}

function urlOf(protocols: readonly string[]) {
  const example = `${protocols[0] ?? ""}//host:port`;
  return z.string().refine((value) => {
    if (!URL.canParse(value)) return false;
    const url = new URL(value);
    return protocols.includes(url.protocol) && url.hostname !== "";
  }, `must be a URL such as ${example}`);
}

/** `TRUST_PROXY`: how many proxies stand in front, or their networks. Trusting everybody is not offered. */
const trustProxy = z.string().transform((value, context): number | readonly string[] => {
  if (/^[1-9]$/.test(value)) return Number(value);
  const networks = value.split(",").map((network) => network.trim());
  if (networks.every((network) => /^[0-9a-f.:]*[.:][0-9a-f.:]*(\/\d{1,3})?$/i.test(network))) return networks;
  context.addIssue("must be a number of proxies (1 to 9) or a comma list of addresses and networks");
  return z.NEVER;
});

const redisUrl = z
  .string()
  .transform((value) => value.split(",").map((node) => node.trim()))
  .pipe(z.array(urlOf(["redis:", "rediss:"])))
  .transform((nodes) => nodes.join(","));

/** `WS_ORIGINS`: a comma list of origins as browsers send them. */
const origins = z
  .string()
  .transform((value): readonly string[] => value.split(",").map((origin) => origin.trim()))
  .refine(
    (values) => values.every((value) => URL.canParse(value) && new URL(value).origin === value),
    "must be a comma list of origins such as https://trade.example.com",
  );

/** First segments of paths that are not surface B's. */
const TAKEN_SEGMENTS = new Set(["v3", "admin", "console", "docs", "healthz", "readyz", "metrics"]);

const EnvironmentVariables = z.object({
  PORT: wholeNumber(1, 65_535).default(8080),
  HOST: z.string().default("127.0.0.1"),
  REDIS_URL: redisUrl.optional(),
  DATABASE_URL: urlOf(["postgres:", "postgresql:"]).optional(),
  DATA_DIR: z.string().default(".data"),
  EXCHANGE_ENV: oneOf(["dev", "qa", "production"]).default("dev"),
  LOG_LEVEL: oneOf(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  SIGNATURE_BRAND: z
    .string()
    .regex(/^[A-Z][A-Za-z0-9]{0,31}$/, "must be a capitalised word such as Svc")
    .default("Svc"),
  SERVICE_PREFIX: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, "must be one lower-case path segment such as svc")
    .refine((segment) => !TAKEN_SEGMENTS.has(segment), "is the beginning of other routes; take another")
    .default("svc"),
  OPERATOR_EMAIL: z.email("must be an e-mail address").optional(),
  OPERATOR_PASSWORD: z.string().min(8, "must have at least 8 characters").optional(),
  DEMO: oneOf(["on", "off"]).default("on"),
  TRUST_PROXY: trustProxy.optional(),
  WS_ORIGINS: origins.default([]),
  THROTTLE: oneOf(["on", "off"]).default("on"),
  EDGE_RATE: wholeNumber(1, 1_000_000).default(2_000),
  EDGE_BURST: wholeNumber(1, 1_000_000).default(4_000),
  EDGE_PUBLIC_RATE: wholeNumber(1, 1_000_000).default(50),
  EDGE_PUBLIC_BURST: wholeNumber(1, 1_000_000).default(200),
  EDGE_BODY_BYTES: wholeNumber(1_024, 16_777_216).default(65_536),
  EDGE_CONNECTIONS: wholeNumber(1, 1_000_000).default(20_000),
  EDGE_HEADERS_MS: wholeNumber(100, 600_000).default(5_000),
  EDGE_REQUEST_MS: wholeNumber(100, 600_000).default(10_000),
  REDIS_FSYNC: oneOf(["always", "everysec"]).default("always"),
  REDIS_SERVER_BIN: z.string().optional(),
  JWT_WEB_SECRET: z.string().min(32, SHORT_SECRET).optional(),
  JWT_SERVICE_SECRET: z.string().min(32, SHORT_SECRET).optional(),
  JWT_SERVICE_ACCEPT: z
    .string()
    .transform((value) => value.split(",").map((key) => key.trim()))
    .pipe(z.array(z.string().min(32, SHORT_SECRET)))
    .optional(),
  PUBLIC_URL: urlOf(["https:", "http:"])
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  LEASE_MS: wholeNumber(100, 60_000).default(300),
  MAX_OPEN_ORDERS: wholeNumber(1, 1_000_000).default(20_000),
  MAX_POSITION_CONTRACTS: wholeNumber(1, 2_147_483_647).default(2_147_483_647),
  GEOIP_FILES: z
    .string()
    .transform((value) => value.split(",").map((file) => path.resolve(file.trim())))
    .default([]),
  SETTLEMENT_APPROVALS: oneOf(["1", "2"]).default("1").transform(Number),
});

type Values = z.infer<typeof EnvironmentVariables>;

/** Variables whose value must never be printed, not even when it is wrong. */
const SECRET = new Set([
  "REDIS_URL",
  "DATABASE_URL",
  "OPERATOR_PASSWORD",
  "JWT_WEB_SECRET",
  "JWT_SERVICE_SECRET",
  "JWT_SERVICE_ACCEPT",
]);

/** The configuration of one process (contract section 9), frozen; an absent value was not set. */
export type Config = ReturnType<typeof arrange>;

function arrange(values: Values) {
  const { OPERATOR_EMAIL: email, OPERATOR_PASSWORD: password } = values;
  return Object.freeze({
    port: values.PORT,
    host: values.HOST,
    /** One URL, or a comma list of the nodes of a Redis Cluster. Absent: `npm start` embeds a server. */
    redisUrl: values.REDIS_URL,
    databaseUrl: values.DATABASE_URL,
    /** Absolute. Everything a running set keeps on disk is below it. */
    dataDir: path.resolve(values.DATA_DIR),
    exchangeEnv: values.EXCHANGE_ENV,
    logLevel: values.LOG_LEVEL,
    signatureBrand: values.SIGNATURE_BRAND,
    servicePrefix: values.SERVICE_PREFIX,
    operator: email === undefined || password === undefined ? undefined : Object.freeze({ email, password }),
    demo: values.DEMO === "on" && values.EXCHANGE_ENV === "dev",
    /** A hop count or a list of networks for Express; absent: no forwarding header is believed. */
    trustProxy: values.TRUST_PROXY,
    /** Web pages of other hosts that may open websockets. */
    wsOrigins: values.WS_ORIGINS,
    /** Whether the keys of surface A have their published token buckets; without, every request is granted. */
    metered: values.THROTTLE === "on",
    edge: Object.freeze({
      ratePerSecond: values.EDGE_RATE,
      burst: values.EDGE_BURST,
      publicRatePerSecond: values.EDGE_PUBLIC_RATE,
      publicBurst: values.EDGE_PUBLIC_BURST,
      bodyBytes: values.EDGE_BODY_BYTES,
    }),
    /** What a gateway's server puts up with from its connections. */
    server: Object.freeze({
      connections: values.EDGE_CONNECTIONS,
      headersMs: values.EDGE_HEADERS_MS,
      requestMs: values.EDGE_REQUEST_MS,
    }),
    redisFsync: values.REDIS_FSYNC,
    redisServerBin: values.REDIS_SERVER_BIN,
    jwtWebSecret: values.JWT_WEB_SECRET,
    /** A text signs surface B's tokens with HS256, an Ed25519 private key in PEM with EdDSA. */
    jwtServiceSecret: values.JWT_SERVICE_SECRET,
    /** Further keys whose tokens are good: the next one before it signs, the last one until its tokens have ended. */
    jwtServiceAccept: values.JWT_SERVICE_ACCEPT ?? [],
    /** How the outside reaches this service, for what tells of its own address. Absent: as requests are addressed. */
    publicUrl: values.PUBLIC_URL,
    leaseMs: values.LEASE_MS,
    /** What every wallet may have at once. */
    limits: Object.freeze({
      openOrders: values.MAX_OPEN_ORDERS,
      positionContracts: values.MAX_POSITION_CONTRACTS,
    }),
    /** Files in MaxMind's format that know where addresses are, or that they hide their users. */
    geoIpFiles: values.GEOIP_FILES,
    /** How many operators it takes to settle a market: 1 or 2. */
    settlementApprovals: values.SETTLEMENT_APPROVALS,
  });
}

/** Problems that no single variable shows: pairs that belong together and misspelled edge limits. */
function problemsAcross(given: Record<string, string>): string[] {
  const problems: string[] = [];
  if ("OPERATOR_EMAIL" in given !== "OPERATOR_PASSWORD" in given) {
    problems.push("OPERATOR_EMAIL and OPERATOR_PASSWORD must be set together, or neither");
  }
  if (given["THROTTLE"] === "off" && given["EXCHANGE_ENV"] === "production") {
    problems.push("THROTTLE cannot be off when EXCHANGE_ENV is production");
  }
  for (const name of Object.keys(given)) {
    if (name.startsWith("EDGE_") && !(name in EnvironmentVariables.shape)) {
      problems.push(`${name}: there is no such limit`);
    }
  }
  return problems;
}

/**
 * Reads the configuration from the environment; an empty variable counts as absent.
 * @throws ConfigError with one line per variable that is wrong.
 */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): Config {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && value.trim() !== "") given[name] = value.trim();
  }
  const parsed = EnvironmentVariables.safeParse(given);
  const problems = problemsAcross(given);
  if (parsed.success && problems.length === 0) return arrange(parsed.data);
  for (const issue of parsed.error?.issues ?? []) {
    const name = String(issue.path[0]);
    const shown = SECRET.has(name) ? "" : ` (it is "${given[name] ?? ""}")`;
    problems.push(`${name}: ${issue.message}${shown}`);
  }
  throw new ConfigError(problems.join("\n"));
}

/** The environment for a child process: this one's, with `overrides` on top. */
export function childEnvironment(overrides: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ...overrides };
}

/** The directories in which programs are looked up by name. */
export function programPath(env: NodeJS.ProcessEnv = process.env): string[] {
  return (env["PATH"] ?? "").split(path.delimiter).filter((directory) => directory !== "");
}
