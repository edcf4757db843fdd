/** The tables that are partitioned by month, and the names and bounds of their partitions. */

/** A table with one partition for each month of a column, which holds Unix ms. */
export interface MonthlyTable {
  readonly name: string;
  readonly column: "ts" | "ended_ts";
  /** Primary key of each partition, where the key of the table itself cannot be unique: it lacks the column. */
  readonly keyOfPartition?: string;
}

/** In the order in which the projector writes them, so that a lock on all of them causes no deadlock. */
export const MONTHLY: readonly MonthlyTable[] = [
  { name: "trades", column: "ts" },
  { name: "orders", column: "ended_ts", keyOfPartition: "order_id" },
  { name: "fills", column: "ts" },
  { name: "entries", column: "ts" },
];

/** Name of the partition of everything before the first month. */
export const firstOf = ({ name }: MonthlyTable): string => `${name}_first`;
/** Name of the last partition, which has no upper bound: it catches rows for whose month no partition exists yet. */
export const laterOf = ({ name }: MonthlyTable): string => `${name}_later`;

/** Returns the start of the month (UTC, Unix ms) that is `months` after the month of `ts`. */
export function startOfMonth(ts: number, months: number): number {
  const date = new Date(ts);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months);
}

/** Returns the name of the partition that ends at `endTs`, the start of a month: it is named after its last month. */
export function monthBefore({ name }: MonthlyTable, endTs: number): string {
  return `${name}_${new Date(endTs - 1).toISOString().slice(0, 7).replace("-", "_")}`;
}
