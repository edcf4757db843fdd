/**
 * Division of lists into runs of bounded length, each of which becomes a part of a snapshot. The items themselves mark
 * the ends of runs, so that an item that is added or removed changes one run and leaves the others as they are.
 */

import { fnv1a } from "./actor.js";

/** Average number of items in a run. */
export const RUN_ITEMS = 512;
const MAX_RUN_ITEMS = 4 * RUN_ITEMS;

/** Yields the items in runs. A run ends after an item for which `endsRun` is true, and at the maximum length. */
export function* runsOf<Item>(
  items: Iterable<Item>,
  endsRun: (item: Item) => boolean,
): Generator<readonly Item[]> {
  let run: Item[] = [];
  for (const item of items) {
    run.push(item);
    if (run.length < MAX_RUN_ITEMS && !endsRun(item)) continue;
    yield run;
    run = [];
  }
  if (run.length > 0) yield run;
}

/** Returns true for one of `RUN_ITEMS` keys, at random. */
export function endsRunAt(key: string): boolean {
  return fnv1a(key) % RUN_ITEMS === 0;
}

/** Rows that many items share. An item names its row by the index. */
export class SharedRows<Row> {
  readonly rows: Row[] = [];
  readonly #indexes = new Map<string, number>();

  /** Returns the index of the row with this key, which `row` creates at its first use. */
  indexOf(key: string, row: () => Row): number {
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.rows.push(row()) - 1;
    this.#indexes.set(key, index);
    return index;
  }
}

/** Returns the row of an item of a saved part. */
export function rowAt<Row>(rows: readonly Row[], index: number): Row {
  const row = rows[index];
  if (row === undefined) throw new Error(`a saved part has no row ${index}`);
  return row;
}
