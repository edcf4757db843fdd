/** Puts a gateway together: the log, Postgres, the caches, the HTTP app and the websocket bridge. */

import { randomUUID } from "node:crypto";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ActorId, marketActor } from "../../actors/actor.js";
import type { MarketState } from "../../actors/market/state.js";
import { connect, type Database, disconnect, isUnavailable, reach } from "../../db/database.js";
import { requireLog } from "../../db/queries/installation.js";
import { mayChangeAudit } from "../../db/queries/operator/audit.js";
import { marketArchive } from "../../db/queries/catalog/removed-markets.js";
import { Replica } from "../../db/replica.js";
import { watchRows } from "../../db/rows-version.js";
import { createApp } from "../../http/app.js";
import { Changes } from "../../http/reference/changes.js";
import type { EdgeLimits } from "../../http/edge/middleware.js";
import type { Logger } from "../../http/edge/request-log.js";
import { createEmmSurface } from "../../http/surface-b/surface.js";
import type { ServiceKeys } from "../../http/surface-b/auth/tokens.js";
import { createRoutes } from "../../http/routes.js";
import { catalogPages } from "../../http/surface-a/catalog.js";
import { Freshness } from "../../http/trading/freshness.js";
import { HaltedMarkets } from "../../http/trading/halted-markets.js";
import { GeoIpFiles } from "../../http/geo/geoip.js";
import { differenceReader } from "../../http/ops/difference.js";
import { HealthHistory, KEPT_SAMPLES } from "../../http/ops/history.js";
import { oncePerSecond, readiness, type Readiness } from "../../http/ops/health.js";
import { readJson } from "../../http/edge/json.js";
import { serviceStatus } from "../../http/ops/status.js";
import { KeyUse } from "../../http/auth/key-use.js";
import { tradingLocations } from "../../http/geo/locations.js";
import { Metrics } from "../../http/ops/metrics.js";
import { Passwords, type PasswordCost } from "../../http/auth/passwords/passwords.js";
import { Reference, REFERENCE_KINDS, type ReferenceKind } from "../../http/reference/reference.js";
import { Connections, type ConnectionSource, createHttpServer, listeningOn } from "../../http/server.js";
import { Idempotency } from "../../http/auth/idempotency.js";
import type { DemoLogin } from "../../http/surface-a/sessions/demo.js";
import { Seal } from "../../http/auth/seal.js";
import { SecondFactors } from "../../http/auth/second-factors.js";
import { SignIns } from "../../http/auth/sign-ins.js";
import { REMEMBER_MS, Signatures } from "../../http/auth/signatures.js";
import { RevocationWatch } from "../../http/auth/revocation-watch.js";
import { OpenSockets } from "../../http/websocket/open-sockets.js";
import { streamCatalog, streamQueries, streamTrading } from "../../http/websocket/ports.js";
import { sharedThrottle, type Throttle } from "../../http/request/throttle.js";
import { WebTokens } from "../../http/auth/web-tokens.js";
import { REMEMBERED_IN_LEDGER } from "../../http/trading/signed-placements.js";
import { OrderIds } from "../../http/trading/order-ids.js";
import { Trading } from "../../http/trading/trading.js";
import { Upgrades } from "../../http/edge/upgrade.js";
import { openSettlementQueue } from "../../stream/jobs/queues.js";
import { actorOf } from "../../stream/runtime/actors.js";
import { restoreActor } from "../../stream/runtime/removal/removal.js";
import { loadState } from "../../stream/runtime/recovery.js";
import { systemClock } from "../../stream/log/clock.js";
import { EngineClock } from "../../stream/services/engine-clock.js";
import { LogExchange } from "../../stream/log/exchange.js";
import { ServiceConnection } from "../../stream/services/connection.js";
import { GatewayLease } from "../../stream/services/gateways.js";
import { announcedName, FormatAnnouncer } from "../../stream/log/formats.js";
import { checkInstallation, idOfLog } from "../../stream/log/installation.js";
import { FirstAnswers } from "../../stream/services/first-answers.js";
import { Invalidations } from "../../stream/services/invalidations.js";
import { LongWork } from "../../stream/services/long-work.js";
import { ProcessReporter, ProcessReports } from "../../stream/services/process-reports.js";
import { SharedSamples } from "../../stream/services/shared-samples.js";
import { ReadModelTime } from "../../stream/services/read-model-time.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import { LogTail } from "../../stream/log/tail.js";
import { Tickets } from "../../stream/services/tickets.js";
import { Unavailable, type Tail } from "../../stream/log/ports.js";
import { TokenBuckets } from "../../stream/services/token-buckets.js";
import { bridge } from "../../stream/ws/bridge.js";
import { Replicas } from "../../stream/ws/market/replicas.js";
import { Wallets } from "../../stream/ws/wallet/wallets.js";
import { ConfigError, type Config } from "../config.js";
import { ensureOperator } from "./first-operator.js";

export interface GatewaySettings extends Pick<
  Config,
  | "host"
  | "exchangeEnv"
  | "signatureBrand"
  | "servicePrefix"
  | "publicUrl"
  | "trustProxy"
  | "operator"
  | "dataDir"
  | "server"
  | "limits"
  | "geoIpFiles"
  | "settlementApprovals"
  | "approvalLimit"
  | "drainNoticeMs"
  | "format"
  | "otherPorts"
  | "adminOrigins"
> {
  /** TCP port; 0 for any free port. */
  readonly port: number;
  /** Name of the process, unique on its host; default: the role and the process id. */
  readonly processName?: string | undefined;
  /** Source of the connections; default: the ports, on which the gateway listens. */
  readonly connections?: ConnectionSource | undefined;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  /** Replica for lists; default: they are read from `databaseUrl`. */
  readonly databaseReadUrl?: string | undefined;
  readonly edge: EdgeLimits;
  readonly jwtWebSecret: string;
  /** Keys that sign the tokens of surface B. */
  readonly serviceKeys: ServiceKeys;
  readonly logger: Logger;
  /** Cost of a password hash; default: the cost of the service. */
  readonly passwordCost?: PasswordCost | undefined;
  /** Login of the demo's trader, where the demo runs; it is ignored outside `dev`. */
  readonly demoLogin?: DemoLogin | undefined;
  /** True where operators need a second factor; default: in production. */
  readonly operatorsNeedTotp?: boolean | undefined;
  /** Token buckets of the keys; default: those with the published limits. */
  readonly throttle?: Throttle | undefined;
  /** Ends the process after a drain, because it must not go on; default: the error is logged. */
  readonly end?: ((error: Error) => void) | undefined;
}

export interface RunningGateway {
  readonly port: number;
  /** Login of the operator that this start generated, if any. */
  readonly generatedOperator: { readonly email: string; readonly password: string } | undefined;
  /** Moves the clients to other gateways: answers the requests in progress and closes the sockets with 1012. */
  drain(): Promise<void>;
  /** Drains and releases all resources. */
  stop(): Promise<void>;
}

/** Folder of the built console, in the folder of the project, in which every role runs. */
const CONSOLE = ".build/console";
/** Longest wait in ms for the requests in progress at a stop; none takes longer. */
const DRAIN_MS = 4_500;
/** Longest wait in ms for the sockets that are opening when everything else has drained. */
const LAST_UPGRADES_MS = 250;
/** Time in ms for the last writes of a gateway that stops. What they write may be lost. */
const LAST_WRITES_MS = 250;

function isReferenceKind(kind: string): kind is ReferenceKind {
  return REFERENCE_KINDS.some((known) => known === kind);
}

/** Starts a gateway; resolves when it serves connections. */
export async function startGateway(settings: GatewaySettings): Promise<RunningGateway> {
  const { logger, redisUrl, databaseUrl, databaseReadUrl, signatureBrand: brand, exchangeEnv } = settings;
  const { processName = `gateway-${process.pid}`, otherPorts } = settings;
  const sandbox = exchangeEnv !== "production";
  const onError = (error: unknown): void => logger.warn({ err: error }, "a background task failed");
  const closing: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const step of closing.reverse()) await step();
  };
  try {
    const log = await RedisLog.open({ url: redisUrl, logger });
    closing.push(() => log.close());
    await checkInstallation(log);
    const db = connect(databaseUrl, { onError });
    closing.push(() => disconnect(db));
    await reach(db, databaseUrl);
    const readDb = databaseReadUrl === undefined ? db : connect(databaseReadUrl, { onError });
    if (databaseReadUrl !== undefined) {
      closing.push(() => disconnect(readDb));
      await checkReplica(db, readDb, databaseReadUrl, logger);
    }
    await requireLog(db, await idOfLog(log));
    const stopWatchingRows = watchRows(db.$client, settings.end ?? onError);
    closing.push(() => {
      stopWatchingRows();
      return Promise.resolve();
    });
    const tail = new LogTail({ log, clock: systemClock, logger });
    closing.push(() => tail.close());
    const { format } = settings;
    const formats = new FormatAnnouncer({
      log,
      clock: systemClock,
      logger,
      role: "gateway",
      id: randomUUID(),
      format,
    });
    await formats.start();
    closing.push(() => formats.stop());
    // Workers compare the deadlines of commands with engine time, and gateways the timestamps and expiries of callers.
    const clock = await EngineClock.start({
      log,
      clock: systemClock,
      logger,
      name: formats.name,
      sets: false,
    });
    closing.push(() => {
      clock.stop();
      return Promise.resolve();
    });
    const archive = marketArchive(db, clock);
    const restore = (actor: ActorId): Promise<void> => restoreActor(log, archive, actor);
    const sender = { log, clock, logger, newId: randomUUID, formats, restore };
    const exchange = new LogExchange(sender);
    await exchange.start();
    closing.push(() => exchange.close());

    const reachable = reachableTail(tail);
    const heads = { position: (actor: ActorId) => orUnavailable(tail.position(actor)) };
    const freshness = new Freshness(db, heads);
    const reads = { db: readDb, freshness: readDb === db ? freshness : new Freshness(readDb, heads) };
    const reference = new Reference(db, freshness, clock);
    const invalidations = new Invalidations(log);
    const copy = readDb === db ? undefined : new Replica(db, readDb);
    const tables = new ReadModelTime({ log, copy, clock: systemClock, logger });
    await tables.start();
    closing.push(() => {
      tables.close();
      return Promise.resolve();
    });
    const subscription = await invalidations.subscribe(
      (kind, id) => {
        if (isReferenceKind(kind)) reference.invalidate(kind, id);
      },
      () => reference.invalidateAll(),
    );
    closing.push(() => subscription.close());
    const changes = new Changes(reference, invalidations, onError);
    const catalog = streamCatalog(reference);
    const replicas = new Replicas({
      tail: reachable,
      onError,
      load: loadMarket({ log, actorOf, logger, archive }),
    });
    closing.push(() => replicas.close());
    const wallets = new Wallets({ tail, exchange, catalog, onError });
    closing.push(() => {
      wallets.close();
      return Promise.resolve();
    });
    const queue = openSettlementQueue(log.url);
    closing.push(() => queue.close());
    const keyUse = new KeyUse(db, onError);
    closing.push(() => keyUse.stop());

    const services = new ServiceConnection({ url: log.url });
    closing.push(() => {
      services.close();
      return Promise.resolve();
    });
    const buckets = new TokenBuckets(services);
    const tickets = new Tickets(services);
    const answers = new FirstAnswers(services, { rememberMs: REMEMBER_MS, newId: randomUUID, onError });
    const idempotency = new Idempotency({
      answers,
      seal: new Seal(settings.jwtWebSecret, "first answers"),
      // Answers that another gateway has kept, when an older build was at work, can be asked for until then.
      routesRemember: () => formats.activeFor(REMEMBER_MS) >= REMEMBERED_IN_LEDGER,
      onError,
    });
    const longWork = new LongWork();
    const throttle = settings.throttle ?? sharedThrottle(buckets);
    const signatures = new Signatures(brand, reference);
    const tokens = new WebTokens(settings.jwtWebSecret, () => clock.now());
    const passwords = new Passwords(settings.passwordCost);
    const seal = new Seal(settings.jwtWebSecret, "one-time passwords");
    const secondFactors = new SecondFactors({ db, seal, issuer: brand });
    const signIns = new SignIns({ db, passwords, secondFactors, buckets });
    const geoIp = await openGeoIp(settings.geoIpFiles, onError);
    closing.push(() => {
      geoIp.close();
      return Promise.resolve();
    });
    const locations = tradingLocations(reference, geoIp);
    const { limits } = settings;
    const orderIds = new OrderIds(settings.jwtWebSecret);
    const haltedMarkets = new HaltedMarkets({ halted: () => log.halted(), clock });
    const orders = { reference, exchange, orderEnds: wallets, freshness, db, clock, orderIds, haltedMarkets };
    const trading = new Trading({ ...orders, limits, formats });
    const emm = createEmmSurface({
      db,
      exchange,
      replicas,
      reference,
      time: clock,
      freshness,
      reads,
      trading,
      passwords,
      buckets,
      serviceKeys: settings.serviceKeys,
      prefix: settings.servicePrefix,
      onError,
    });
    closing.push(() => {
      emm.close();
      return Promise.resolve();
    });
    const reports = await ProcessReports.subscribe(log, systemClock);
    closing.push(() => reports.close());
    const check = oncePerSecond(() =>
      readiness({
        db,
        replica: readDb === db ? undefined : readDb,
        exchange,
        tail,
        formats,
        clocks: log,
        log,
        guard: exchange.guard,
        diskRoom: () => reports.least("disk_headroom_ratio"),
        halted: () => log.halted(),
        processes: () => reports.names(),
      }),
    );
    let stopping: Promise<void> | undefined;
    const ready = async (): Promise<Readiness> => {
      const report = await check();
      return stopping === undefined ? report : { ...report, ready: false, stopping: true };
    };
    const difference = differenceReader(db);
    const healthHistory = new HealthHistory({
      shared: new SharedSamples({ connection: services, name: "health", kept: KEPT_SAMPLES }),
      clock,
      readiness: ready,
      difference,
      reports: () => reports.latest(),
      onError,
    });
    await healthHistory.start();
    closing.push(() => {
      healthHistory.stop();
      return Promise.resolve();
    });
    const status = oncePerSecond(serviceStatus({ db, reference, readiness: check }));
    // A gateway that loses Postgres shows the announcements that it has read before.
    void status();
    const metrics = new Metrics(processName);
    const demoLogin = exchangeEnv === "dev" ? settings.demoLogin : undefined;
    const routes = createRoutes({
      db,
      exchange,
      reference,
      freshness,
      reads,
      changes,
      trading,
      orderIds,
      haltedMarkets,
      time: clock,
      books: replicas,
      throttle,
      buckets,
      signatures,
      tokens,
      tickets,
      passwords,
      signIns,
      secondFactors,
      enqueueSettlement: (job) => queue.enqueue(job),
      onError,
      limits,
      settlementApprovals: settings.settlementApprovals,
      approvalLimit: settings.approvalLimit,
      formats,
      tables,
      longWork,
      clocks: log,
      log,
      readiness: ready,
      difference,
      healthHistory,
      status,
      demoLogin,
      qa: exchangeEnv === "qa",
      debug: sandbox,
    });
    const lease = new GatewayLease(services, {
      newId: () => announcedName(format, "gateway", randomUUID()),
      onLost: () => sockets.closeArmed(),
      onError,
    });
    lease.start();
    closing.push(() => lease.close());
    const sockets = bridge({
      replicas,
      wallets,
      disconnects: lease,
      trading: streamTrading({ reference, trading, locations, time: clock }),
      catalog,
      throttle,
      longWork,
      queries: streamQueries(catalogPages({ reads, tables })),
      readJson,
      onError,
      sandbox,
    });
    const revocations = new RevocationWatch({ db, reference, locations, time: clock, sockets, onError });
    closing.push(() => revocations.stop());
    const reporter = new ProcessReporter({
      log,
      clock: systemClock,
      role: "gateway",
      name: processName,
      process: formats.name,
      figures: () => ({ ws_sockets: sockets.sockets, requests_total: metrics.answered }),
    });
    closing.push(() => {
      reporter.stop();
      return Promise.resolve();
    });
    metrics.processes(() => reports.latest());
    metrics.gauge("overround_log_bytes", "Used memory of Redis", () => exchange.guard.memoryBytes);
    metrics.gauge(
      "overround_log_headroom_ratio",
      "Share of the memory of Redis that is left until new orders are refused; 0 while they are",
      () => exchange.guard.headRoom({ opensOrders: true }),
    );
    metrics.gauge(
      "overround_log_commands_headroom_ratio",
      "Share of the memory of Redis that is left until all commands are refused; 0 while they are",
      () => exchange.guard.headRoom({ opensOrders: false }),
    );
    metrics.gauge("overround_ws_sockets", "Open websockets", () => sockets.sockets);

    const generatedOperator = await ensureOperator(db, passwords, settings, (line) => logger.warn(line));
    if (exchangeEnv === "production" && (await mayChangeAudit(db))) {
      logger.warn(
        "the login of DATABASE_URL may change the audit log; scripts/README.md, The audit log, says how to prevent it",
      );
    }
    const { clients } = emm;
    const { operatorsNeedTotp = exchangeEnv === "production" } = settings;
    const admission = {
      db,
      signatures,
      tokens,
      reference,
      throttle,
      locations,
      keyUse,
      clients,
      idempotency,
      operatorsNeedTotp,
    };
    metrics.gauge("overround_quarantined_messages", "Commands on which actors have failed", async () => {
      const { quarantined } = await check();
      return quarantined ?? NaN;
    });
    metrics.gauge(
      "overround_stray_rows",
      "Rows for whose month Postgres has no partition",
      async () => (await check()).strayRows ?? NaN,
    );
    const upgrades = new Upgrades(sockets);
    const app = createApp({
      ...admission,
      routes: [...routes, ...emm.routes],
      log: logger,
      time: clock,
      metrics,
      readiness: ready,
      edge: settings.edge,
      trustProxy: settings.trustProxy,
      brand,
      consoleFolder: path.resolve(CONSOLE),
      demo: demoLogin !== undefined,
      ports: otherPorts,
      adminOrigins: settings.adminOrigins,
      emm: { prefix: settings.servicePrefix, publicUrl: settings.publicUrl },
      openStream: upgrades.handler({ ...admission, tickets, openSockets: new OpenSockets() }),
      sandbox,
      checkAnswers: exchangeEnv === "dev",
    });
    const server = createHttpServer(app, settings.server);
    const further = Object.values(otherPorts).filter((port) => port !== undefined);
    const source = settings.connections ?? listeningOn(settings.port, settings.host, further);
    const connections = new Connections(server, source);
    // After the listeners of the connections: an upgrade that is given back to the server is a connection again.
    upgrades.accept(server, app);
    const port = await source.open(server);
    const drainOnce = async (): Promise<void> => {
      await sleep(settings.drainNoticeMs);
      const drained = connections.drain(DRAIN_MS);
      // The bridge closes at once the sockets that open meanwhile.
      await Promise.all([sockets.close(), drained.then(() => upgrades.settle(LAST_UPGRADES_MS))]);
      const lastWrites = Promise.all([lease.close(), keyUse.stop()]);
      await Promise.race([lastWrites, sleep(LAST_WRITES_MS, undefined, { ref: false })]);
    };
    const drain = (): Promise<void> => (stopping ??= drainOnce());
    closing.push(drain);
    return { port, generatedOperator, drain, stop: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Checks that the database for lists is a replica of the primary. A replica that is away does not keep the gateway from
 * trading: lists are refused until it is back.
 */
async function checkReplica(db: Database, replica: Database, url: string, logger: Logger): Promise<void> {
  try {
    await reach(replica, url);
    if (await new Replica(db, replica).follows()) return;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    logger.warn({ err: error }, "cannot reach the replica of Postgres; lists are refused until it is back");
    return;
  }
  throw new ConfigError("DATABASE_READ_URL: set it to a streaming replica of DATABASE_URL, or leave it out");
}

async function openGeoIp(paths: readonly string[], onError: (error: unknown) => void): Promise<GeoIpFiles> {
  try {
    return await GeoIpFiles.open(paths, onError);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`GEOIP_FILES: ${reason}`);
  }
}

/** Rejects with `Unavailable` when a query to the log fails, so that the caller may try again. */
async function orUnavailable<Value>(query: Promise<Value>): Promise<Value> {
  try {
    return await query;
  } catch (error) {
    throw new Unavailable("the log cannot be reached; try again", { cause: error });
  }
}

function reachableTail(tail: LogTail): Tail {
  return {
    follow: (actor, afterSeq, onEntries, onGap) => tail.follow(actor, afterSeq, onEntries, onGap),
    read: (actor, afterSeq, throughSeq) => orUnavailable(tail.read(actor, afterSeq, throughSeq)),
    head: (actor) => orUnavailable(tail.head(actor)),
  };
}

function loadMarket(ports: Parameters<typeof loadState>[0]) {
  return async (marketId: string) => {
    const { state, seq } = await orUnavailable(loadState(ports, marketActor(marketId)));
    // The actor of a market id is a market, so its state is a `MarketState`.
    return seq === 0 ? undefined : { seq, state: state as MarketState };
  };
}
