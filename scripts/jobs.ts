/** Role `jobs`: settles markets and finishes interrupted work. Any number of these processes share the queues. */

import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { type ActorId, marketActor } from "../actors/actor.js";
import type { Formats } from "../actors/format.js";
import { RESTRICTIONS_FORMAT } from "../actors/ledger/types.js";
import { connect, disconnect, type Database } from "../db/database.js";
import { migrate } from "../db/migrate.js";
import { watchRows } from "../db/rows-version.js";
import { indexAddresses } from "../db/search-index.js";
import { countStrays } from "../db/partitions/strays.js";
import { keepMonths } from "../db/partitions/keep-months.js";
import {
  finishEventAction,
  recordFollowed,
  settleFinalEvents,
  unfinishedEventActions,
} from "../db/queries/catalog/events.js";
import { lostEventActions, sendLostAction } from "../db/queries/catalog/lost-actions.js";
import { tradersToRestrict } from "../db/queries/accounts/restrictions.js";
import { allMarkets, unsettledMarkets } from "../db/queries/catalog/markets.js";
import { marketArchive, removableMarkets } from "../db/queries/catalog/removed-markets.js";
import { requireLog } from "../db/queries/installation.js";
import { waitProjected } from "../db/queries/projected.js";
import { JOBS_PREFIX } from "../stream/jobs/connection.js";
import { driveEventStep, type EventStep } from "../stream/jobs/event-actions.js";
import { sendLostActions } from "../stream/jobs/lost-actions.js";
import { restrictTrader } from "../stream/jobs/restrictions.js";
import { startJobs, type JobsOptions } from "../stream/jobs/jobs.js";
import { Removal } from "../stream/jobs/removal.js";
import {
  findUndoneRemovals,
  removeActor,
  restoreActor,
  restoreWanted,
} from "../stream/runtime/removal/removal.js";
import { openSettlementQueue, type SettlementQueue } from "../stream/jobs/queues.js";
import { type Clock, systemClock } from "../stream/log/clock.js";
import { EngineClock } from "../stream/services/engine-clock.js";
import { LogExchange } from "../stream/log/exchange.js";
import { ServiceConnection } from "../stream/services/connection.js";
import { ExpiredGateways } from "../stream/services/gateways.js";
import { FormatAnnouncer } from "../stream/log/formats.js";
import { checkInstallation, idOfLog } from "../stream/log/installation.js";
import { Invalidations } from "../stream/services/invalidations.js";
import { KeyUsage } from "../stream/services/key-usage.js";
import { ProcessReporter } from "../stream/services/process-reports.js";
import { RedisLog } from "../stream/redis/redis-log.js";
import { LogTail } from "../stream/log/tail.js";
import type { Exchange } from "../stream/log/ports.js";
import type { Logger } from "../stream/log/logger.js";
import { ConfigError } from "./config.js";
import { roleOutput } from "./roles/output.js";
import { type RoleConfig, runRole, type RunningRole } from "./roles/run-role.js";

/** Longest wait in ms for a settled market to be projected; the sweep handles a market that takes longer. */
const PROJECTED_MS = 5_000;
/** Age of an action of an event up to which its markets are searched for its loss, in ms: an outage may have been long. */
const LOST_ACTIONS_MS = 86_400_000;
/** Age in ms from which it counts as lost: a market with many orders takes it in pieces. */
const LOST_AFTER_MS = 30_000;
/** Most markets that one sweep removes. */
const REMOVED_AT_ONCE = 200;
/** Most traders that one sweep restricts or releases. */
const RESTRICTED_AT_ONCE = 100;
/** Interval at which the tables by month are put in order, in ms. */
const MONTHS_MS = 3_600_000;

interface Parts {
  readonly db: Database;
  readonly exchange: Exchange;
  readonly tail: LogTail;
  readonly queue: SettlementQueue;
  readonly invalidations: Invalidations;
  readonly log: RedisLog;
  readonly formats: Formats;
  /** Time that a settled market stays in the log, in ms. */
  readonly keepMs: number;
  readonly databaseUrl: string;
  readonly logger: Logger;
  /** Engine time. */
  readonly clock: Clock;
}

function portsOf(parts: Parts): JobsOptions["ports"] {
  const { db, exchange, tail, queue, invalidations, log, formats, keepMs, databaseUrl, logger, clock } =
    parts;
  const archive = marketArchive(db, clock);
  const removal = new Removal(
    {
      exchange,
      removable: (list, after, beforeTs) => removableMarkets(db, list, after, beforeTs, REMOVED_AT_ONCE),
      findUndone: () => findUndoneRemovals(log, archive),
      remove: (marketId) => removeActor(log, archive, marketActor(marketId)),
      mayRemove: () => formats.active() >= 2,
    },
    keepMs,
  );
  let monthsAtMs = 0;
  const settleEvents = async (eventId?: string): Promise<void> => {
    for (const settled of await settleFinalEvents(db, { eventId, nowTs: clock.now() })) {
      await invalidations.publish("event", settled);
    }
  };
  const steps = { exchange, recordFollowed: recordFollowed.bind(undefined, db) };
  /** Sends a step to markets of its event, by default to all that have not taken it. */
  const takeStep = async (step: EventStep, marketIds?: readonly string[]): Promise<void> => {
    const markets = await allMarkets(db, { eventId: step.eventId });
    const receivers = markets.filter(({ marketId }) => marketIds?.includes(marketId) !== false);
    const graded = await driveEventStep(steps, step, receivers);
    for (const market of graded)
      await queue.enqueue({ ...market, eventId: step.eventId, remediating: false });
  };
  const isProjected = async (marketId: string, waitMs: number): Promise<boolean> => {
    const actor = marketActor(marketId);
    return waitProjected(db, actor, await tail.position(actor), waitMs);
  };
  return {
    unsettled: () => unsettledMarkets(db),
    enqueue: (job) => queue.enqueue(job),
    sendLostSteps() {
      const nowTs = clock.now();
      const sought = { sinceTs: nowTs - LOST_ACTIONS_MS, beforeTs: nowTs - LOST_AFTER_MS };
      return sendLostActions(
        {
          lost: () => lostEventActions(db, sought),
          isProjected: (marketId) => isProjected(marketId, 0),
          send: (action) => sendLostAction(db, action, sought, (marketIds) => takeStep(action, marketIds)),
        },
        logger,
      );
    },
    unfinishedSteps: (beforeTs) => unfinishedEventActions(db, beforeTs),
    async finishStep(step) {
      await takeStep(step);
      await finishEventAction(db, step.actionId, clock.now());
      await invalidations.publish("event", step.eventId);
    },
    tradersToRestrict: async () =>
      formats.active() < RESTRICTIONS_FORMAT ? [] : tradersToRestrict(db, clock.now(), RESTRICTED_AT_ONCE),
    restrict: (trader) => restrictTrader(exchange, formats, trader),
    settleFinalEvents: () => settleEvents(),
    restoreWanted: () => restoreWanted(log, archive),
    removeSettled: (nowMs) => removal.run(nowMs),
    async keepMonths() {
      if (clock.monotonic() < monthsAtMs) return;
      const done = await keepMonths(databaseUrl, clock.now(), (line) => logger.warn({}, line));
      if (done !== undefined && (done.created.length > 0 || done.moved > 0))
        logger.info(done, "the tables are partitioned for the coming months");
      const strays = await countStrays(db);
      if (strays > 0)
        logger.error(
          { strays },
          "rows are in no partition of a month: engine time is months ahead, or was; see db/README.md",
        );
      // The next sweep goes on with a long backlog.
      if (done?.isUnfinished !== true) monthsAtMs = clock.monotonic() + MONTHS_MS;
    },
    async marketSettled({ marketId, eventId }) {
      await isProjected(marketId, PROJECTED_MS);
      await settleEvents(eventId);
    },
  };
}

async function start({
  redisUrl,
  databaseUrl,
  logLevel,
  format,
  marketKeepMs,
  processName,
  end,
}: RoleConfig): Promise<RunningRole> {
  if (redisUrl === undefined)
    throw new ConfigError("REDIS_URL: set it to the Redis of the exchange, which the jobs need");
  if (databaseUrl === undefined)
    throw new ConfigError("DATABASE_URL: set it to the database of the exchange, which the jobs need");
  const logger = pino(
    { level: logLevel, base: { role: "jobs", process: processName, pid: process.pid } },
    roleOutput(),
  );
  await migrate(databaseUrl, (line) => logger.warn(line));
  const log = await RedisLog.open({ url: redisUrl, logger });
  try {
    await checkInstallation(log);
    const tail = new LogTail({ log, clock: systemClock, logger });
    const role = { log, clock: systemClock, logger, role: "jobs", id: randomUUID(), format } as const;
    const formats = new FormatAnnouncer(role);
    await formats.start();
    const clock = await EngineClock.start({
      log,
      clock: systemClock,
      logger,
      name: formats.name,
      sets: false,
    });
    const db = connect(databaseUrl, {
      maxConnections: 4,
      onError: (error) => logger.warn({ err: error }, "a connection to Postgres was lost"),
    });
    await requireLog(db, await idOfLog(log));
    const restore = (actor: ActorId): Promise<void> => restoreActor(log, marketArchive(db, clock), actor);
    const exchange = new LogExchange({ log, clock, logger, newId: randomUUID, formats, restore });
    await exchange.start();
    const queue = openSettlementQueue(log.url);
    const invalidations = new Invalidations(log);
    const ports = portsOf({
      db,
      exchange,
      tail,
      queue,
      invalidations,
      log,
      formats,
      keepMs: marketKeepMs,
      databaseUrl,
      logger,
      clock,
    });
    const jobs = await startJobs({ redisUrl: log.url, exchange, ports, log: logger, clock });
    const onError = (error: unknown): void =>
      logger.warn({ err: error }, "cannot check for expired gateways");
    const services = new ServiceConnection({ url: log.url });
    const expired = new ExpiredGateways(services, { exchange, onError });
    expired.start();
    const usage = new KeyUsage({ connection: services, clock: systemClock, jobsPrefix: JOBS_PREFIX });
    const reporter = new ProcessReporter({
      log,
      clock: systemClock,
      role: "jobs",
      name: processName,
      process: formats.name,
      figures: () => usage.figures(),
    });
    const stopWatching = watchRows(db.$client, end);
    const indexBuild = indexAddresses(databaseUrl, (line) => logger.warn(line));
    return {
      async stop() {
        stopWatching();
        reporter.stop();
        usage.stop();
        await indexBuild.stop();
        await expired.stop();
        services.close();
        await jobs.stop();
        await queue.close();
        await exchange.close();
        clock.stop();
        await tail.close();
        await formats.stop();
        await disconnect(db);
        await log.close();
      },
    };
  } catch (error) {
    await log.close();
    throw error;
  }
}

await runRole(
  {
    name: "jobs",
    summary:
      "Settles markets and finishes work that a crash interrupted. Needs REDIS_URL and DATABASE_URL; any number of these processes share the queues.",
  },
  start,
);
