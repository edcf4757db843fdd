/** Role `gateway`: serves HTTP and websockets. Any number of gateways serve the same exchange. */

import path from "node:path";
import { migrate } from "../db/migrate.js";
import { createLogger } from "../http/edge/request-log.js";
import { unlimitedThrottle } from "../http/request/throttle.js";
import { ConfigError } from "./config.js";
import { demoLogin } from "./demo/credentials.js";
import { handedConnections } from "./roles/handed-connections.js";
import { roleOutput } from "./roles/output.js";
import { type RoleConfig, runRole, type RunningRole } from "./roles/run-role.js";
import { loadSecrets } from "./secrets.js";
import { startGateway } from "./roles/start-gateway.js";

async function start(config: RoleConfig): Promise<RunningRole> {
  const { redisUrl, databaseUrl } = config;
  if (redisUrl === undefined)
    throw new ConfigError("REDIS_URL: set it to the Redis of the exchange, which a gateway needs");
  if (databaseUrl === undefined)
    throw new ConfigError("DATABASE_URL: set it to the database of the exchange, which a gateway needs");
  const { jwtWebSecret, jwtServiceSecret } = loadSecrets(config);
  const base = { role: "gateway", process: config.processName, pid: process.pid };
  const logger = createLogger(config.logLevel, base, roleOutput());
  // A gateway of a new build may be the first of its roles to start, and reads columns that the old schema lacks.
  await migrate(databaseUrl, (line) => logger.warn(line));
  const serviceKeys = { signing: jwtServiceSecret, accepted: config.jwtServiceAccept };
  const throttle = config.metered ? undefined : unlimitedThrottle;
  const gateway = await startGateway({
    ...config,
    redisUrl,
    databaseUrl,
    jwtWebSecret,
    serviceKeys,
    logger,
    throttle,
    demoLogin: config.demo ? () => demoLogin(config.dataDir) : undefined,
    connections: config.listens ? undefined : handedConnections(config.port),
  });
  const { generatedOperator } = gateway;
  if (generatedOperator !== undefined) {
    const { email, password } = generatedOperator;
    // Only a terminal gets the password: other output may be a log that many people read.
    const secret = process.stdout.isTTY ? password : `in ${path.join(config.dataDir, "operator.json")}`;
    console.log(`the operator is ${email}; password: ${secret}`);
  }
  logger.info(
    { host: config.host, port: gateway.port, ...config.otherPorts },
    config.listens ? "listening" : "serving",
  );
  // The end of the process releases everything else.
  return { stop: () => gateway.drain() };
}

await runRole(
  {
    name: "gateway",
    summary:
      "Serves HTTP and websockets. Needs REDIS_URL and DATABASE_URL; any number of gateways serve the same exchange.",
  },
  start,
);
