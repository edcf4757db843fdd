/**
 * Connections to Redis. When a connection is lost, the commands in progress are rejected at once. The client never
 * sends them again, because their outcome is unknown and the caller must decide. The client reconnects without limit.
 */

import { Cluster, Redis, type RedisOptions } from "ioredis";
import { hostsOf, readAddress, type RedisAddress } from "./address.js";

export type Connection = Redis | Cluster;

const RECONNECT_STEP_MS = 20;
const RECONNECT_MAX_MS = 500;
const COMMAND_TIMEOUT_MS = 3_000;
/** A socket without a due reply for this long is dead. */
const SOCKET_TIMEOUT_MS = 4_000;
/** Longest wait for the first reply, in ms: a time-out of the connection, or of its command, comes before. */
const FIRST_REPLY_MS = 5_000;
const NO_REPLY = "it does not answer; it may be loading its data, or be stopped";
/** Longest wait for the answer of a sentinel, in ms; the next sentinel is asked then. */
const SENTINEL_TIMEOUT_MS = 1_000;
const SUBSCRIBER_TIMEOUT_MS = 1_500;

export const backOff = (attempt: number): number => Math.min(attempt * RECONNECT_STEP_MS, RECONNECT_MAX_MS);

const COMMON: RedisOptions = {
  autoResendUnfulfilledCommands: false,
  // Zero rejects the commands in progress as soon as the connection closes.
  maxRetriesPerRequest: 0,
  retryStrategy: backOff,
  connectTimeout: 3_000,
  keepAlive: 5_000,
  noDelay: true,
  socketTimeout: SOCKET_TIMEOUT_MS,
  sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
};

/** Options of a connection for subscriptions. Its owner opens a new connection when it is lost. */
export const SUBSCRIBER_OPTIONS: RedisOptions = {
  ...COMMON,
  retryStrategy: () => null,
  autoResubscribe: false,
  commandTimeout: SUBSCRIBER_TIMEOUT_MS,
};

/** Options of a connection for heartbeats, without its functions, which cannot be passed to a thread. */
export const HEARTBEAT_OPTIONS: RedisOptions = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: 1_000,
  commandTimeout: 1_500,
  socketTimeout: 2_000,
  sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
  noDelay: true,
};

/** Opens a connection to one server: that of a URL, or the primary that the sentinels name. */
export function connectServer(
  address: Exclude<RedisAddress, { kind: "cluster" }>,
  options: RedisOptions,
): Redis {
  return address.kind === "sentinel"
    ? new Redis({ ...address.options, ...options })
    : new Redis(address.url, options);
}

/** Opens a connection for commands. `url` is an address as `readAddress` reads it. */
export function connect(url: string): Connection {
  const address = readAddress(url);
  const options = { ...COMMON, commandTimeout: COMMAND_TIMEOUT_MS };
  const connection =
    address.kind === "cluster"
      ? new Cluster(address.nodes, {
          redisOptions: { ...address.credentials, ...options },
          clusterRetryStrategy: backOff,
          slotsRefreshTimeout: 3_000,
          // Otherwise the client would send a command again whose outcome is unknown.
          retryDelayOnFailover: 0,
        })
      : connectServer(address, options);
  // Without a listener, a refused connection would be thrown. The commands are rejected with the same error.
  connection.on("error", () => undefined);
  return connection;
}

/** Failure to reach Redis or to log in to it; the message names the address and the cause, and never the password. */
export class RedisUnreachable extends Error {
  override readonly name = "RedisUnreachable";
}

/**
 * Resolves to the first reply of a new connection.
 * @throws RedisUnreachable with the first error of the connection, which says more than the rejected command.
 */
export async function firstReply(
  url: string,
  connection: Connection,
  ask: () => Promise<string>,
): Promise<string> {
  let connectionError: Error | undefined;
  const note = (error: Error): void => {
    connectionError ??= error;
  };
  connection.on("error", note);
  try {
    // A cluster queues the command without a limit while it finds no node.
    return await Promise.race([fromAnyNode(connection, ask), noReply(FIRST_REPLY_MS)]);
  } catch (error) {
    const cause = causeOf(connectionError ?? error);
    throw new RedisUnreachable(`Redis at ${hostsOf(url)} cannot be used: ${cause}`, { cause: error });
  } finally {
    connection.off("error", note);
  }
}

/** Asks a cluster again when it has asked a node that is away; it asks a random one. */
async function fromAnyNode(connection: Connection, ask: () => Promise<string>): Promise<string> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (connection instanceof Redis || connection.status !== "ready") throw error;
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_STEP_MS));
    }
  }
}

function noReply(afterMs: number): Promise<never> {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(NO_REPLY)), afterMs).unref());
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A cluster reports that no node answered, and has the reason of the last node beside it.
  if ("lastNodeError" in error && error.lastNodeError instanceof Error) return causeOf(error.lastNodeError);
  if (error.message === "Command timed out") return NO_REPLY;
  return error.message === "" && "code" in error ? String(error.code) : error.message;
}
