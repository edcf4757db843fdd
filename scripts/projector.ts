/** Role `projector`: writes the deltas of the actors to the read model in Postgres. Several share the actors. */

import { randomUUID } from "node:crypto";
import { type Logger, pino } from "pino";
import { connect, disconnect } from "../db/database.js";
import { archiveReader } from "../db/queries/catalog/removed-markets.js";
import { journalOf } from "../db/projection/journal.js";
import { migrate } from "../db/migrate.js";
import { Projector } from "../db/projection/projector.js";
import { type Clock, systemClock } from "../stream/log/clock.js";
import { FormatAnnouncer } from "../stream/log/formats.js";
import { checkInstallation } from "../stream/log/installation.js";
import { EngineClock } from "../stream/services/engine-clock.js";
import { Invalidations } from "../stream/services/invalidations.js";
import { ProcessReporter } from "../stream/services/process-reports.js";
import { RedisLog } from "../stream/redis/redis-log.js";
import { LogTail } from "../stream/log/tail.js";
import { ConfigError } from "./config.js";
import { watchBehind } from "./roles/behind.js";
import { roleOutput } from "./roles/output.js";
import { type RoleConfig, runRole, type RunningRole } from "./roles/run-role.js";

/** Engine time as soon as it is known. A projector does not wait for it while Redis is slow. */
class LaterEngineTime implements Pick<Clock, "now" | "monotonic"> {
  #clock: Pick<Clock, "now" | "monotonic"> = systemClock;
  #stop: () => void = () => undefined;
  #stopped = false;

  constructor(starting: Promise<EngineClock>, logger: Logger) {
    starting.then(
      (clock) => {
        this.#clock = clock;
        this.#stop = () => clock.stop();
        if (this.#stopped) clock.stop();
      },
      (error: unknown) =>
        logger.warn({ err: error }, "engine time is not known; the clock of the host is used"),
    );
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  stop(): void {
    this.#stopped = true;
    this.#stop();
  }
}

async function start({
  redisUrl,
  databaseUrl,
  logLevel,
  format,
  processName,
}: RoleConfig): Promise<RunningRole> {
  if (redisUrl === undefined)
    throw new ConfigError("REDIS_URL: set it to the Redis of the exchange, which a projector needs");
  if (databaseUrl === undefined)
    throw new ConfigError("DATABASE_URL: set it to the database of the exchange, which a projector needs");
  const logger = pino(
    { level: logLevel, base: { role: "projector", process: processName, pid: process.pid } },
    roleOutput(),
  );
  await migrate(databaseUrl, (line) => logger.warn(line));
  const log = await RedisLog.open({ url: redisUrl, logger });
  try {
    await checkInstallation(log);
    const role = { log, clock: systemClock, logger, role: "projector", id: randomUUID(), format } as const;
    const formats = new FormatAnnouncer(role);
    await formats.start();
    const time = new LaterEngineTime(
      EngineClock.start({ log, clock: systemClock, logger, name: formats.name, sets: false }),
      logger,
    );
    const tail = new LogTail({ log, clock: systemClock, logger });
    const invalidations = new Invalidations(log);
    const db = connect(databaseUrl, { maxConnections: 1 });
    const projector = new Projector({
      databaseUrl,
      journal: journalOf(log, tail, logger, archiveReader(db)),
      marketChanged: (marketId) => invalidations.publish("market", marketId),
      logger,
      time,
    });
    // `run` tries again after every error. If it rejects nevertheless, the unhandled rejection ends the process.
    void projector.run();
    const reporter = new ProcessReporter({
      log,
      clock: systemClock,
      role: "projector",
      name: processName,
      process: formats.name,
      figures: () => ({
        projected_entries_total: projector.projectedEntries,
        projector_lag_seconds: projector.takeLagMs() / 1_000,
        reconciliations_total: projector.reconciliations,
      }),
    });
    const stopWatching = watchBehind(
      systemClock,
      () => projector.lagMs,
      (message) => process.send?.(message),
    );
    return {
      async stop() {
        stopWatching();
        reporter.stop();
        await projector.stop();
        time.stop();
        await formats.stop();
        await tail.close();
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
    name: "projector",
    summary:
      "Writes the read model to Postgres. Needs REDIS_URL and DATABASE_URL; several projectors share the work.",
  },
  start,
);
