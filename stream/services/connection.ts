/** The connection to Redis that the services of a process share, with the scripts and the keys they use. */

import { connect, type Connection } from "../redis/connection.js";
import { Keys } from "../redis/keys.js";
import { loadScripts, type RunScript } from "../redis/scripts.js";
import { Unavailable } from "../log/ports.js";

export interface ServiceConnectionOptions {
  /** Address of Redis; see `readAddress`. That of a cluster has more than one node; see `RedisLog.url`. */
  readonly url: string;
  /** Prefix of every key (default `overround:`); braces are not allowed. */
  readonly prefix?: string | undefined;
}

/**
 * One connection for all services of a process. None of their commands blocks or returns much, so that no service waits
 * behind another. Whoever opens the connection closes it, after the services that use it have stopped.
 */
export class ServiceConnection {
  /** URL of the connection. */
  readonly url: string;
  readonly redis: Connection;
  readonly keys: Keys;
  readonly run: RunScript;

  constructor({ url, prefix }: ServiceConnectionOptions) {
    this.url = url;
    this.redis = connect(url);
    this.keys = new Keys(prefix);
    this.run = loadScripts(this.redis);
  }

  close(): void {
    this.redis.disconnect();
  }
}

/** Resolves with the reply of Redis; throws `Unavailable` with the given message when there is none. */
export async function orUnavailable<Reply>(reply: Promise<Reply>, message: string): Promise<Reply> {
  try {
    return await reply;
  } catch (error) {
    throw new Unavailable(message, { cause: error });
  }
}
