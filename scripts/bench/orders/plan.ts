/**
 * Capacity plan: what a rate of orders needs, and what limits it, computed from the measured costs of one order. The
 * plan assumes that the wallets spread evenly over the ledgers, and the orders over the markets.
 */

import { LEDGER_SHARDS, MARKET_PARTITIONS } from "../../../actors/actor.js";

/** Costs of one order. Times are CPU time in µs. */
export interface Costs {
  /** On one Redis with one worker, and the factors of these costs with many workers and on a cluster. */
  readonly workerMicros: number;
  readonly manyWorkersFactor: number;
  readonly clusterWorkerFactor: number;
  readonly redisMicros: number;
  readonly clusterRedisFactor: number;
  readonly gatewayMicros: number;
  readonly projectorMicros: number;
  readonly postgresMicros: number;
  /** Share of the ledgers in the work of an order; the rest is that of the markets. */
  readonly ledgerShare: number;
  /** Bytes to and from Redis, to and from the sockets, in the append-only file, and in Postgres. */
  readonly redisNetworkBytes: number;
  readonly socketBytes: number;
  readonly appendedBytes: number;
  readonly walBytes: number;
  readonly tableBytes: number;
}

/** Share of a core that a process may use, so that a burst finds room. */
export const CORE_SHARE = 0.7;
/** Cores of the machine of Postgres, which has one primary. */
export const POSTGRES_CORES = 32;

/** Highest rate of orders for one resource that cannot be multiplied further. */
export interface Limit {
  readonly resource: string;
  readonly ordersPerSecond: number;
}

/** Needs of one rate of orders. */
export interface Needs {
  readonly ordersPerSecond: number;
  readonly workers: number;
  readonly redisNodes: number;
  readonly gateways: number;
  readonly projectors: number;
  readonly postgresCores: number;
  /** Network of the Redis nodes together, and of the sockets, in Gbit/s. */
  readonly redisGigabits: number;
  readonly socketGigabits: number;
  /** Append-only files, and the write-ahead log and the tables of Postgres, in MB/s. */
  readonly appendedMegabytes: number;
  readonly postgresMegabytes: number;
  /** Limits below the rate, the lowest first: what breaks, in this order. */
  readonly broken: readonly Limit[];
}

/** Orders per second for which a process with this cost of an order has room. */
function ratePerProcess(micros: number): number {
  return (CORE_SHARE * 1e6) / micros;
}

/** Returns the rates beyond which no further process or node helps, the lowest first. */
export function limitsOf(costs: Costs): readonly Limit[] {
  const { ledgerShare, projectorMicros, postgresMicros } = costs;
  const redis = costs.redisMicros * costs.clusterRedisFactor;
  const worker = costs.workerMicros * Math.max(costs.manyWorkersFactor, costs.clusterWorkerFactor);
  const limits: readonly Limit[] = [
    { resource: "Postgres, one primary", ordersPerSecond: POSTGRES_CORES * ratePerProcess(postgresMicros) },
    {
      resource: "workers, one for each ledger",
      ordersPerSecond: LEDGER_SHARDS * ratePerProcess(worker * ledgerShare),
    },
    {
      resource: "workers, one for each partition of markets",
      ordersPerSecond: MARKET_PARTITIONS * ratePerProcess(worker * (1 - ledgerShare)),
    },
    {
      resource: "Redis nodes, one for each ledger",
      ordersPerSecond: LEDGER_SHARDS * ratePerProcess(redis * ledgerShare),
    },
    {
      resource: "projectors, one for each ledger",
      ordersPerSecond: LEDGER_SHARDS * ratePerProcess(projectorMicros * ledgerShare),
    },
  ];
  return limits.toSorted((a, b) => a.ordersPerSecond - b.ordersPerSecond);
}

/** Returns the highest rate on one Redis. */
export function oneRedisLimit({ redisMicros }: Costs): number {
  return ratePerProcess(redisMicros);
}

/** Returns the highest rate in one market, which is one actor. */
export function oneMarketLimit({ workerMicros, ledgerShare }: Costs): number {
  return ratePerProcess(workerMicros * (1 - ledgerShare));
}

export function needsOf(ordersPerSecond: number, costs: Costs): Needs {
  const onCluster = ordersPerSecond > oneRedisLimit(costs);
  const processes = (micros: number): number => Math.ceil(ordersPerSecond / ratePerProcess(micros));
  const alone = processes(costs.workerMicros);
  const factor = Math.max(alone > 1 ? costs.manyWorkersFactor : 1, onCluster ? costs.clusterWorkerFactor : 1);
  const gigabits = (bytes: number): number => (8 * bytes * ordersPerSecond) / 1e9;
  const megabytes = (bytes: number): number => (bytes * ordersPerSecond) / 1e6;
  return {
    ordersPerSecond,
    workers: processes(costs.workerMicros * factor),
    redisNodes: onCluster ? Math.max(3, processes(costs.redisMicros * costs.clusterRedisFactor)) : 1,
    gateways: processes(costs.gatewayMicros),
    projectors: processes(costs.projectorMicros),
    postgresCores: processes(costs.postgresMicros),
    redisGigabits: gigabits(costs.redisNetworkBytes),
    socketGigabits: gigabits(costs.socketBytes),
    appendedMegabytes: megabytes(costs.appendedBytes),
    postgresMegabytes: megabytes(costs.walBytes + costs.tableBytes),
    broken: limitsOf(costs).filter((limit) => limit.ordersPerSecond < ordersPerSecond),
  };
}
