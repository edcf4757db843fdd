/**
 * Room that everything beside the streams and snapshots of the actors takes in Redis, by kind of key. All keys are visited
 * a few at a time, so that no round holds up Redis, and a round over many takes minutes.
 */

import type { Redis } from "ioredis";
import { unreachable } from "../../actors/unreachable.js";
import type { Clock } from "../log/clock.js";
import { results } from "../redis/replies.js";
import type { ServiceConnection } from "./connection.js";

export interface KeyUsageOptions {
  readonly connection: ServiceConnection;
  readonly clock: Pick<Clock, "after">;
  /** Prefix of the keys of the job queues, which BullMQ names. */
  readonly jobsPrefix: string;
}

/** Interval of visiting `STEP_KEYS` keys of one server. */
const STEP_MS = 250;
const STEP_KEYS = 128;
/** Rest between two rounds. */
const REST_MS = 10_000;

/** Sums of a round, in the form of a process report. */
const NOTHING = {
  head_bytes: 0,
  heads: 0,
  first_answer_bytes: 0,
  token_bucket_bytes: 0,
  quarantine_bytes: 0,
  job_bytes: 0,
  other_key_bytes: 0,
};
type Sums = Record<keyof typeof NOTHING, number>;

export class KeyUsage {
  readonly #options: KeyUsageOptions;
  /** Sums of the last whole round, `undefined` before the first. */
  #last: Readonly<Sums> | undefined;
  /** Sums of the round in progress, the servers that it has yet to visit, and the place in the first of them. */
  #sums: Sums = { ...NOTHING };
  #servers: Redis[] = [];
  #cursor = "0";
  #cancel: () => void = () => undefined;
  #stopped = false;

  constructor(options: KeyUsageOptions) {
    this.#options = options;
    this.#schedule();
  }

  /** Returns the figures of the last whole round. */
  figures(): Partial<Readonly<Sums>> {
    return this.#last ?? {};
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  #schedule(): void {
    if (this.#stopped) return;
    const isBetweenRounds = this.#last !== undefined && this.#servers.length === 0;
    this.#cancel = this.#options.clock.after(isBetweenRounds ? REST_MS : STEP_MS, () => {
      // After a failure a new round begins, after a rest; the figures of the last one stay.
      void this.#step()
        .catch(() => (this.#servers = []))
        .finally(() => this.#schedule());
    });
  }

  async #step(): Promise<void> {
    if (this.#servers.length === 0) this.#begin();
    const [server] = this.#servers;
    if (server === undefined) return;
    const [cursor, names] = await server.scan(this.#cursor, "COUNT", STEP_KEYS);
    await this.#measure(server, names);
    this.#cursor = cursor;
    if (cursor !== "0") return;
    this.#servers.shift();
    if (this.#servers.length === 0) this.#last = this.#sums;
  }

  #begin(): void {
    const { redis } = this.#options.connection;
    this.#servers = "nodes" in redis ? redis.nodes("master") : [redis];
    this.#sums = { ...NOTHING };
    this.#cursor = "0";
  }

  async #measure(server: Redis, names: readonly string[]): Promise<void> {
    const measured = names.flatMap((name) => {
      const figure = this.#figureOf(name);
      return figure === undefined ? [] : [{ name, figure }];
    });
    const reads = server.pipeline();
    for (const { name } of measured) reads.memory("USAGE", name);
    const sizes = await results(reads);
    for (const [index, { figure }] of measured.entries()) {
      // A key that has expired meanwhile has no size.
      const bytes = sizes[index];
      if (typeof bytes !== "number") continue;
      this.#sums[figure] += bytes;
      if (figure === "head_bytes") this.#sums.heads += 1;
    }
  }

  /** Returns the figure that a key counts for; `undefined` for a key that the workers measure, or of another exchange. */
  #figureOf(name: string): Exclude<keyof Sums, "heads"> | undefined {
    const { connection, jobsPrefix } = this.#options;
    if (name.startsWith(`${jobsPrefix}:`)) return "job_bytes";
    const kind = connection.keys.kindOf(name);
    switch (kind) {
      case "head":
        return "head_bytes";
      case "first answer":
        return "first_answer_bytes";
      case "bucket":
        return "token_bucket_bytes";
      case "quarantine":
        return "quarantine_bytes";
      case "other":
        return "other_key_bytes";
      case "stream or snapshot":
      case undefined:
        return undefined;
      default:
        return unreachable(kind);
    }
  }
}
