/** Measures a load on a stage: its rate, the times of its requests, and what an order costs in each process. */

import { percentile } from "../table.js";
import type { Counted } from "./load.js";
import type { PostgresBytes, Role, Sample, Stage } from "./stage.js";

/** One point of the bench: what runs, and which load. */
export interface Point {
  readonly workers: number;
  readonly markets: number;
  /** Operations in a message. */
  readonly batch: number;
  /** One Redis, or a cluster of three nodes. */
  readonly redis: "one" | "cluster";
  readonly fsync: "everysec" | "always";
  /** True: the orders come over sockets of a gateway, and a projector writes the tables. */
  readonly isWholeStack: boolean;
}

/** Figures of one point of the bench. */
export interface Measured {
  readonly operationsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Operations that were refused, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Longest time in ms from a decision to its rows, at the end of the measured time; absent without a projector. */
  readonly projectorLagMs?: number | undefined;
  /** CPU time for an operation, by role, in µs. */
  readonly cpuMicros: Readonly<Partial<Record<Role, number>>>;
  /** Bytes for an operation: to and from Redis, and in its append-only file. */
  readonly redisBytes: Sample["redis"];
  /** Bytes for an operation in Postgres and on the sockets, for a whole stack. */
  readonly postgresBytes?: PostgresBytes | undefined;
  readonly socketBytes?: number | undefined;
  /** Share of the ledgers in the bytes of all entries; the rest is that of the markets. */
  readonly ledgerShare?: number | undefined;
}

/** Source of load that a measurement starts and stops. */
export interface Flow {
  start(): void;
  take(): Counted;
  stop(): Promise<void>;
}

/** Length of the warm-up, as a share of the measured time. */
const WARM_UP_SHARE = 0.5;
/** Operations of the warm-up, after which the code of a worker is compiled. */
const WARM_UP_OPERATIONS = 20_000;
/** Multiple of its length after which the warm-up of a busy machine ends with fewer operations. */
const MAX_WARM_UPS = 5;

/** Lets the load flow for a warm-up and then for `seconds`, and returns the figures of the latter time. */
export async function measure(stage: Pick<Stage, "sample">, load: Flow, seconds: number): Promise<Measured> {
  load.start();
  let operations = 0;
  for (let n = 0; n < MAX_WARM_UPS && operations < WARM_UP_OPERATIONS; n += 1) {
    await pause(WARM_UP_SHARE * seconds);
    operations += load.take().operations;
  }
  const before = await stage.sample();
  await pause(seconds);
  const counted = load.take();
  const after = await stage.sample();
  await load.stop();
  return figuresOf(counted, before, after);
}

function figuresOf(counted: Counted, before: Sample, after: Sample): Measured {
  const { operations, refused, timesMs, socketBytes } = counted;
  const perOperation = (amount: number): number => amount / Math.max(1, operations);
  const cpuMicros: Partial<Record<Role, number>> = {};
  for (const [role, seconds] of Object.entries(after.cpuSeconds) as [Role, number][])
    cpuMicros[role] = perOperation(1e6 * (seconds - (before.cpuSeconds[role] ?? 0)));
  return {
    operationsPerSecond: operations / ((after.atMs - before.atMs) / 1_000),
    p50Ms: percentile(timesMs, 0.5),
    p99Ms: percentile(timesMs, 0.99),
    refused: Object.fromEntries(refused),
    projectorLagMs: after.projectorLagMs,
    cpuMicros,
    redisBytes: {
      received: perOperation(after.redis.received - before.redis.received),
      sent: perOperation(after.redis.sent - before.redis.sent),
      appended: perOperation(after.redis.appended - before.redis.appended),
    },
    postgresBytes:
      after.postgres === undefined || before.postgres === undefined
        ? undefined
        : {
            walBytes: perOperation(after.postgres.walBytes - before.postgres.walBytes),
            tableBytes: perOperation(after.postgres.tableBytes - before.postgres.tableBytes),
          },
    socketBytes: socketBytes === undefined ? undefined : perOperation(socketBytes),
  };
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1_000 * seconds));
}
