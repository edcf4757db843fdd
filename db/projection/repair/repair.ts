/** The steps of a repair, and the rows that it is about. */

import type { Entry } from "../../../stream/log/ports.js";

/** The rows of the entries after `seq`. None of them is older than `sinceTs` (Unix ms). */
export interface LostRows {
  readonly seq: number;
  readonly sinceTs: number;
}

/** Number of removed rows by table. */
export type Removed = Readonly<Record<string, number>>;

/** Repairs the rows of one kind of actor. */
export interface Repair {
  /** Removes the rows of the lost entries. */
  remove(): Promise<Removed>;
  /** Removes the rows in the place of those that these entries insert. */
  makeWay(entries: readonly Entry[]): Promise<void>;
  /** Sets the rows that hold state to the state of the actor. */
  reset(): Promise<void>;
}
