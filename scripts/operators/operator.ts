import { z } from "zod";
import { unreachable } from "../../actors/unreachable.js";
import { connect, disconnect } from "../../db/database.js";
import { migrate } from "../../db/migrate.js";
import { OPERATOR_ROLES, type OperatorRole } from "../../db/schema/operator-roles.js";
import { Passwords } from "../../http/auth/passwords/passwords.js";
import { RedisLog } from "../../stream/redis/redis-log.js";
import { readCommandLine, UsageError } from "../command-line.mjs";
import { ConfigError, loadConfig } from "../config.js";
import { embeddedPostgresUrl } from "../embedded/postgres.js";
import { embeddedRedisUrl } from "../embedded/redis.js";
import { describe } from "../supervisor/start-error.js";
import { createOperator, disableOperator, resetOperator } from "./accounts.js";

const ACTIONS = ["create", "disable", "reset"] as const;

interface Asked {
  readonly action: (typeof ACTIONS)[number];
  readonly email: string;
  readonly role: OperatorRole | undefined;
}

function readArguments(): Asked {
  return readCommandLine(
    {
      name: "operator",
      call: "npm run operator --",
      summary:
        "Creates, disables or resets an operator in the database of DATABASE_URL, or in that of a running npm start with the same DATA_DIR. Sessions end by the time of REDIS_URL, or of the Redis of that npm start. create and reset print a new password; disable and reset end all sessions of the operator; reset makes the operator active again and removes the second factor.",
      operands: { usage: "create|disable|reset EMAIL", min: 2, max: 2 },
      options: {
        role: {
          value: "ROLE",
          description: `Role of the operator: ${OPERATOR_ROLES.join(", ")}. create gives the role owner unless set; reset keeps the role.`,
        },
      },
    },
    ({ operands: [given = "", email = ""], values: { role: named } }) => {
      const action = ACTIONS.find((one) => one === given);
      if (action === undefined) throw new UsageError(`unknown action '${given}'; name ${ACTIONS.join(", ")}`);
      if (!z.email().safeParse(email).success) throw new UsageError(`'${email}' is not an e-mail address`);
      const role = OPERATOR_ROLES.find((one) => one === named);
      if (named !== undefined && (role === undefined || action === "disable"))
        throw new UsageError(`--role ${named} is none of the roles that --help lists for ${action}`);
      return { action, email, role };
    },
  );
}

/**
 * Returns engine time (Unix ms), by which sessions begin and end; the time of this machine when Redis is not known or does
 * not answer, because an operator may be needed just then.
 */
async function engineTime(redisUrl: string | undefined): Promise<number> {
  if (redisUrl === undefined) return Date.now();
  try {
    const log = await RedisLog.open({ url: redisUrl });
    try {
      const time = await log.time({ name: `operator-${process.pid}`, confirmed: 0 });
      return Math.floor(Math.max(time.logMs + time.heldMs, time.engineMs ?? 0));
    } finally {
      await log.close();
    }
  } catch (error) {
    console.error(`operator: ${describe(error)}; sessions end by the clock of this machine`);
    return Date.now();
  }
}

/** `npm run operator`: for the owner of the machine, who needs no other operator (contract section 8.5). */
async function main(): Promise<void> {
  const { action, email, role } = readArguments();
  const { databaseUrl: given, redisUrl, dataDir } = loadConfig();
  const databaseUrl = given ?? embeddedPostgresUrl(dataDir);
  if (databaseUrl === undefined)
    throw new ConfigError("DATABASE_URL: set it to the database of the exchange, or run npm start first");
  await migrate(databaseUrl, (line) => console.log(`operator: ${line}`));
  const db = connect(databaseUrl, { maxConnections: 1 });
  try {
    const nowMs = await engineTime(redisUrl ?? embeddedRedisUrl(dataDir));
    const parts = { db, passwords: new Passwords(), nowMs: () => nowMs };
    switch (action) {
      case "create":
        console.log(
          `operator: created ${email}; password: ${await createOperator(parts, email, role ?? "owner")}`,
        );
        return;
      case "disable":
        await disableOperator(parts, email);
        console.log(`operator: disabled ${email}, and ended all sessions`);
        return;
      case "reset":
        console.log(`operator: reset ${email}; password: ${await resetOperator(parts, email, role)}`);
        return;
      default:
        unreachable(action);
    }
  } finally {
    await disconnect(db);
  }
}

try {
  await main();
} catch (error) {
  console.error(`operator: ${describe(error)}`);
  process.exitCode = 1;
}
