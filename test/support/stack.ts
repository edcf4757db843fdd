/**
 * Starts a whole exchange in this process: worker, projector, jobs and gateways on a Redis and a database of their own
 * and on free ports. Only the process boundaries and the cost of a password differ from production.
 */

import { randomUUID } from "node:crypto";
import { type Format, type Formats, LATEST_FORMAT } from "../../actors/format.js";
import { type ActorId, marketActor } from "../../actors/actor.js";
import { connect, disconnect } from "../../db/database.js";
import { marketArchive, removableMarkets } from "../../db/queries/catalog/removed-markets.js";
import { journalOf } from "../../db/projection/journal.js";
import { migrate } from "../../db/migrate.js";
import { Projector } from "../../db/projection/projector.js";
import {
  finishEventAction,
  settleFinalEvents,
  recordFollowed,
  unfinishedEventActions,
} from "../../db/queries/catalog/events.js";
import { allMarkets, unsettledMarkets } from "../../db/queries/catalog/markets.js";
import { Connection } from "../../http/client/client.js";
import { OperatorClient } from "../../http/client/rest/operator.js";
import type { Credentials } from "../../http/client/rest/session.js";
import { createLogger } from "../../http/edge/request-log.js";
import type { EdgeLimits } from "../../http/edge/middleware.js";
import { unlimitedThrottle } from "../../http/request/throttle.js";
import {
  startGateway,
  type GatewaySettings,
  type RunningGateway,
} from "../../scripts/roles/start-gateway.js";
import { RESTRICTIONS_FORMAT } from "../../actors/ledger/types.js";
import { tradersToRestrict } from "../../db/queries/accounts/restrictions.js";
import { driveEventStep } from "../../stream/jobs/event-actions.js";
import { restrictTrader } from "../../stream/jobs/restrictions.js";
import { Removal } from "../../stream/jobs/removal.js";
import { SNAPSHOT_LIMITS } from "../../stream/runtime/snapshot-policy.js";
import {
  findUndoneRemovals,
  removeActor,
  restoreActor,
  restoreWanted,
} from "../../stream/runtime/removal/removal.js";
import { startJobs } from "../../stream/jobs/jobs.js";
import { openSettlementQueue } from "../../stream/jobs/queues.js";
import { actorOf } from "../../stream/runtime/actors.js";
import { systemClock } from "../../stream/log/clock.js";
import { LogExchange } from "../../stream/log/exchange.js";
import { ServiceConnection } from "../../stream/services/connection.js";
import { EngineClock } from "../../stream/services/engine-clock.js";
import { ExpiredGateways } from "../../stream/services/gateways.js";
import { announcedName } from "../../stream/log/formats.js";
import { checkInstallation } from "../../stream/log/installation.js";
import { Invalidations } from "../../stream/services/invalidations.js";
import { silentLogger } from "../../stream/log/logger.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import { LogTail } from "../../stream/log/tail.js";
import { Worker } from "../../stream/runtime/worker.js";
import { checkAgainstDocument, forgetDocument } from "./documented.js";
import { freshDatabase, freshRedis, type FreshDatabase, type FreshRedis } from "./servers.js";
import { MAX_OPEN_ORDERS } from "../../actors/limits.js";
import { MAX_CONTRACTS, parseMoney, ZERO } from "../../actors/units.js";

export interface StackOptions {
  /** True: the published rate limits of keys apply; default: every request is granted. */
  readonly metered?: boolean;
  readonly edge?: Partial<EdgeLimits>;
  readonly exchangeEnv?: GatewaySettings["exchangeEnv"];
  readonly signatureBrand?: string;
  readonly servicePrefix?: string;
  readonly serviceKeys?: GatewaySettings["serviceKeys"];
  readonly trustProxy?: GatewaySettings["trustProxy"];
  readonly server?: Partial<GatewaySettings["server"]>;
  readonly limits?: Partial<GatewaySettings["limits"]>;
  readonly geoIpFiles?: GatewaySettings["geoIpFiles"];
  readonly settlementApprovals?: number;
  readonly approvalLimit?: GatewaySettings["approvalLimit"];
  readonly otherPorts?: Partial<GatewaySettings["otherPorts"]>;
  readonly adminOrigins?: GatewaySettings["adminOrigins"];
  /** Login of the demo's trader; default: one that no account has. */
  readonly demoLogin?: GatewaySettings["demoLogin"];
  /** True: passwords cost what they cost in production (default: little). */
  readonly realPasswords?: boolean;
  /** False: operators need no second factor in production either. */
  readonly operatorsNeedTotp?: boolean;
  /** Place of the actors: this process (the default), or processes that the test starts on the Redis of the stack. */
  readonly actors?: "here" | "elsewhere";
  /** Number of gateways (default 1). */
  readonly gateways?: number;
  /** Replaces the URLs of the servers for the gateways, for example by the URL of a proxy. */
  readonly via?: { redis?(url: string): Promise<string>; database?(url: string): Promise<string> };
  /** Time that a settled market stays in the log, in ms (default: for ever), and the idle time of actors in memory. */
  readonly removal?: { readonly keepMs: number; readonly idleMs: number };
  /** Servers to use; default: a Redis and a database on the servers that all tests share. */
  readonly servers?: { readonly redis: FreshRedis; readonly database: FreshDatabase };
  /** Replica from which the gateways read lists. */
  readonly databaseReadUrl?: string;
  /** Format that all roles announce (default the latest). */
  readonly format?: Format;
  /** Receives the log lines of the gateways. */
  readonly logTo?: (line: string) => void;
}

export interface Stack {
  /** URL of the first gateway, such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** URLs of all gateways. */
  readonly urls: readonly string[];
  readonly brand: string;
  /** First segment of the paths of surface B. */
  readonly prefix: string;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  /** Login of the first operator. */
  readonly operatorLogin: Credentials;
  /** Client of the operator's routes. */
  readonly operator: OperatorClient;
  /** Returns a bearer token of the operator. */
  operatorToken(): Promise<string>;
  /** Opens a connection to the first gateway; the stack closes it. */
  connect(): Connection;
  /** Stops the exchange and removes its data. */
  stop(): Promise<void>;
}

/** Brand and prefix of the tests: `SIGNATURE_BRAND` and `SERVICE_PREFIX` of the environment. */
export const BRAND = process.env["SIGNATURE_BRAND"] ?? "Svc";
export const PREFIX = process.env["SERVICE_PREFIX"] ?? "svc";

export const OPERATOR: Credentials = { email: "operator@example.com", password: "operator password" };
const EDGE: EdgeLimits = {
  ratePerSecond: 20_000,
  burst: 40_000,
  publicRatePerSecond: 20_000,
  publicBurst: 40_000,
  bodyBytes: 65_536,
};
const SWEEP_MS = 500;

/** Starts an exchange; the caller calls `stop`. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const redis = options.servers?.redis ?? (await freshRedis());
  const database = options.servers?.database ?? (await freshDatabase(migrate));
  const stops: (() => Promise<unknown>)[] = [() => redis.drop(), () => database.drop()];
  const stop = async (): Promise<void> => {
    for (const step of stops.splice(0).reverse()) await step();
  };
  try {
    stops.push(await startBackground(redis.url, database.url, options));
    const gateways: RunningGateway[] = [];
    const redisUrl = (await options.via?.redis?.(redis.url)) ?? redis.url;
    const databaseUrl = (await options.via?.database?.(database.url)) ?? database.url;
    for (let i = 0; i < (options.gateways ?? 1); i += 1) {
      const gateway = await startGateway(settingsOf(options, redisUrl, databaseUrl));
      stops.push(async () => {
        await gateway.stop();
        forgetDocument(gateway.port);
      });
      await checkAgainstDocument(gateway.port);
      gateways.push(gateway);
    }
    const urls = gateways.map(({ port }) => `http://127.0.0.1:${port}`);
    const url = urls[0] ?? "";
    const adminPort = options.otherPorts?.admin;
    const desk = adminPort === undefined ? url : `http://127.0.0.1:${adminPort}`;
    const open = (origin = url): Connection => {
      const connection = new Connection(origin);
      stops.push(() => {
        connection.close();
        return Promise.resolve();
      });
      return connection;
    };
    return {
      url,
      urls,
      brand: options.signatureBrand ?? BRAND,
      prefix: options.servicePrefix ?? PREFIX,
      redisUrl: redis.url,
      databaseUrl: database.url,
      operatorLogin: OPERATOR,
      operator: new OperatorClient(open(desk), OPERATOR),
      operatorToken: () => login(url, OPERATOR),
      connect: () => open(),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Signs in over HTTP and returns the bearer token. */
export async function login(url: string, { email, password }: Credentials): Promise<string> {
  const response = await fetch(`${url}/v3/session`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  const answer = (await response.json()) as { token?: string; message?: string };
  if (answer.token === undefined) throw new Error(`the login of ${email} failed: ${answer.message ?? ""}`);
  return answer.token;
}

function settingsOf(options: StackOptions, redisUrl: string, databaseUrl: string): GatewaySettings {
  const { logTo } = options;
  const destination = { write: (line: string) => logTo?.(line) };
  return {
    host: "127.0.0.1",
    port: 0,
    redisUrl,
    databaseUrl,
    exchangeEnv: options.exchangeEnv ?? "dev",
    signatureBrand: options.signatureBrand ?? BRAND,
    trustProxy: options.trustProxy,
    operator: OPERATOR,
    dataDir: "",
    server: { connections: 20_000, headersMs: 5_000, requestMs: 10_000, ...options.server },
    limits: { openOrders: MAX_OPEN_ORDERS, positionContracts: MAX_CONTRACTS, ...options.limits },
    geoIpFiles: options.geoIpFiles ?? [],
    drainNoticeMs: 0,
    otherPorts: { operations: undefined, admin: undefined, ...options.otherPorts },
    adminOrigins: options.adminOrigins ?? [],
    databaseReadUrl: options.databaseReadUrl,
    settlementApprovals: options.settlementApprovals ?? 1,
    approvalLimit: options.approvalLimit ?? parseMoney("1000") ?? ZERO,
    operatorsNeedTotp: options.operatorsNeedTotp,
    demoLogin: options.demoLogin ?? (() => ({ email: "trader@example.com", password: "a long password" })),
    format: options.format ?? LATEST_FORMAT,
    edge: { ...EDGE, ...options.edge },
    servicePrefix: options.servicePrefix ?? PREFIX,
    publicUrl: undefined,
    serviceKeys: options.serviceKeys ?? {
      signing: "the service secret of the tests, long enough",
      accepted: [],
    },
    jwtWebSecret: "the web secret of the tests, long enough",
    passwordCost: options.realPasswords === true ? undefined : { log2N: 10, p: 1 },
    throttle: options.metered === true ? undefined : unlimitedThrottle,
    logger:
      logTo === undefined
        ? createLogger("silent", { role: "gateway" })
        : createLogger("info", { role: "gateway" }, destination),
  };
}

/** Starts what the roles `worker`, `projector` and `jobs` run. */
async function startBackground(
  redisUrl: string,
  databaseUrl: string,
  { actors = "here", removal, format = LATEST_FORMAT }: Pick<StackOptions, "actors" | "removal" | "format">,
): Promise<() => Promise<void>> {
  const logger = silentLogger;
  const log = await RedisLog.open({ url: redisUrl, logger });
  await checkInstallation(log);
  // All roles of a stack are of this build, so its format need not rise first.
  await log.recordFormat("", String(format));
  const formats: Formats = { active: () => format };
  const id = announcedName(format, "worker", randomUUID());
  const snapshotLimits = { ...SNAPSHOT_LIMITS, idleMs: removal?.idleMs ?? SNAPSHOT_LIMITS.idleMs };
  const clock = await EngineClock.start({
    log,
    clock: systemClock,
    logger,
    name: id,
    sets: actors === "here",
  });
  const worker = new Worker({ id, log, actorOf, clock, logger, snapshotLimits, formats });
  if (actors === "here") await worker.start();
  const tail = new LogTail({ log, clock: systemClock, logger });
  const db = connect(databaseUrl, { maxConnections: 4 });
  const archive = marketArchive(db, clock);
  const restore = (actor: ActorId): Promise<void> => restoreActor(log, archive, actor);
  const exchange = new LogExchange({ log, clock: systemClock, logger, newId: randomUUID, restore, formats });
  await exchange.start();
  const invalidations = new Invalidations(log);
  const projector = new Projector({
    databaseUrl,
    journal: journalOf(log, tail, silentLogger, archive),
    marketChanged: (marketId) => invalidations.publish("market", marketId),
    logger,
  });
  void projector.run();
  const removing =
    removal &&
    new Removal(
      {
        exchange,
        removable: (list, after, beforeTs) => removableMarkets(db, list, after, beforeTs, 200),
        findUndone: () => findUndoneRemovals(log, archive),
        remove: (marketId) => removeActor(log, archive, marketActor(marketId)),
        mayRemove: () => true,
      },
      removal.keepMs,
    );
  const queue = openSettlementQueue(log.url);
  const settleEvents = async (): Promise<void> => {
    for (const eventId of await settleFinalEvents(db, { nowTs: clock.now() })) {
      await invalidations.publish("event", eventId);
    }
  };
  const steps = { exchange, recordFollowed: recordFollowed.bind(undefined, db) };
  const jobs = await startJobs({
    redisUrl: log.url,
    exchange,
    log: logger,
    clock,
    sweepEveryMs: SWEEP_MS,
    ports: {
      unsettled: () => unsettledMarkets(db),
      enqueue: (job) => queue.enqueue(job),
      sendLostSteps: () => Promise.resolve(),
      unfinishedSteps: (beforeTs) => unfinishedEventActions(db, beforeTs),
      async finishStep(step) {
        await driveEventStep(steps, step, await allMarkets(db, { eventId: step.eventId }));
        await finishEventAction(db, step.actionId, clock.now());
      },
      tradersToRestrict: async () =>
        format < RESTRICTIONS_FORMAT ? [] : tradersToRestrict(db, clock.now(), 100),
      restrict: (trader) => restrictTrader(exchange, formats, trader),
      settleFinalEvents: settleEvents,
      restoreWanted: () => restoreWanted(log, archive),
      removeSettled: (nowMs) => removing?.run(nowMs) ?? Promise.resolve(),
      keepMonths: () => Promise.resolve(),
      marketSettled: () => settleEvents(),
    },
  });
  const services = new ServiceConnection({ url: log.url });
  const expired = new ExpiredGateways(services, { exchange, onError: () => undefined });
  expired.start();
  return async () => {
    await expired.stop();
    services.close();
    await jobs.stop();
    await queue.close();
    await projector.stop();
    await exchange.close();
    await tail.close();
    await worker.stop();
    clock.stop();
    await disconnect(db);
    await log.close();
  };
}
