/** Turns the figures of the last run of the orders bench into a capacity plan, and prints its assumptions. */

import { StartError } from "../../supervisor/start-error.js";
import type { Row } from "../table.js";
import type { Measured, Point } from "./measure.js";
import { lastRun, type OrdersRun, resultAt } from "./orders.js";
import {
  CORE_SHARE,
  type Costs,
  limitsOf,
  type Needs,
  needsOf,
  oneMarketLimit,
  oneRedisLimit,
  POSTGRES_CORES,
} from "./plan.js";
import { BASE, nameOf } from "./points.js";
import type { Role } from "./stage.js";

const RATES = [10_000, 100_000, 1_000_000];
const REMEDY = "run npm run bench -- orders first, which measures the costs of an order";

/** Returns the rows of the plan. Throws `StartError` when the costs are not measured. */
export function capacity(run: OrdersRun | undefined = lastRun()): Row[] {
  if (run === undefined) throw new StartError(`there are no measured costs: ${REMEDY}`);
  const costs = costsOf(run);
  const { cpu, cores, node } = run.machine;
  console.log(`\ncapacity, from the costs of an order on ${cores} cores of ${cpu}, Node ${node}. It assumes:
  - the costs of a whole stack with sockets, times the factors of many workers and of a cluster;
  - a process uses at most ${100 * CORE_SHARE} % of a core, and a Redis node executes on one core;
  - wallets spread evenly over the ledgers, and orders over the markets;
  - ledgers have ${Math.round(100 * costs.ledgerShare)} % of the work of an order, as they have of the bytes of the entries;
  - Postgres has one primary of ${POSTGRES_CORES} such cores;
  - sockets follow the orders of their own wallet and no market, in batches of 20 orders.`);
  return [
    ...[{ resource: "one market", ordersPerSecond: oneMarketLimit(costs) }]
      .concat({ resource: "one Redis; beyond it a cluster", ordersPerSecond: oneRedisLimit(costs) })
      .concat(limitsOf(costs))
      .map(({ resource, ordersPerSecond }) => ({
        bench: "capacity: limits",
        measure: resource,
        figure: ordersPerSecond,
        unit: "orders/s",
      })),
    ...RATES.flatMap((rate) => rowsOf(needsOf(rate, costs))),
  ];
}

/** Returns the costs of an order from the measured points. Throws `StartError` when one is missing. */
export function costsOf({ results }: OrdersRun): Costs {
  const measuredAt = (change: Partial<Point>): Measured => {
    const result = resultAt(results, change);
    if (result !== undefined) return result.measured;
    const name = nameOf({ ...BASE, ...change });
    throw new StartError(`the last run of the orders bench lacks "${name}": ${REMEDY}`);
  };
  const base = measuredAt({});
  const stack = measuredAt({ isWholeStack: true });
  const cluster = measuredAt({ redis: "cluster" });
  const manyWorkers = measuredAt({ workers: 8 });
  const cpu = ({ cpuMicros }: Measured, role: Role): number => cpuMicros[role] ?? 0;
  const factor = (measured: Measured, role: Role): number => cpu(measured, role) / cpu(base, role);
  return {
    workerMicros: cpu(stack, "worker"),
    manyWorkersFactor: factor(manyWorkers, "worker"),
    clusterWorkerFactor: factor(cluster, "worker"),
    redisMicros: cpu(stack, "Redis"),
    clusterRedisFactor: factor(cluster, "Redis"),
    gatewayMicros: cpu(stack, "gateway"),
    projectorMicros: cpu(stack, "projector"),
    postgresMicros: cpu(stack, "Postgres"),
    ledgerShare: base.ledgerShare ?? NaN,
    redisNetworkBytes: stack.redisBytes.received + stack.redisBytes.sent,
    socketBytes: stack.socketBytes ?? 0,
    appendedBytes: stack.redisBytes.appended,
    walBytes: stack.postgresBytes?.walBytes ?? 0,
    tableBytes: stack.postgresBytes?.tableBytes ?? 0,
  };
}

function rowsOf(needs: Needs): Row[] {
  const bench = `capacity: ${needs.ordersPerSecond.toLocaleString("en-US")} orders/s`;
  const row = (measure: string, figure: number, unit: string): Row => ({ bench, measure, figure, unit });
  return [
    row("workers", needs.workers, ""),
    row("Redis nodes", needs.redisNodes, ""),
    row("gateways", needs.gateways, ""),
    row("projectors", needs.projectors, ""),
    row("cores of Postgres", needs.postgresCores, ""),
    row("network of Redis", needs.redisGigabits, "Gbit/s"),
    row("network of the sockets", needs.socketGigabits, "Gbit/s"),
    row("disk of Redis, append-only files", needs.appendedMegabytes, "MB/s"),
    row("disk of Postgres, log and tables", needs.postgresMegabytes, "MB/s"),
    ...needs.broken.map(({ resource, ordersPerSecond }, index) =>
      row(`${index === 0 ? "breaks first" : "breaks next"}: ${resource}`, ordersPerSecond, "orders/s"),
    ),
  ];
}
