/** Keyset pages: a cursor is the key of the last row, so rows that arrive meanwhile are neither lost nor repeated. */

import { and, asc, desc, gt, lt, sql, type SQL } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import { LOWER_UUID } from "../actors/uuid.js";

export interface PageRequest {
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
}

export interface Page<Row> {
  readonly items: readonly Row[];
  /** Absent on the last page. */
  readonly next?: string | undefined;
}

/** Exclusive bounds in Unix ms. */
export interface TimeBounds {
  readonly startsAfter?: number | undefined;
  readonly startsBefore?: number | undefined;
}

/** The cursor was not made by the list it was given to. */
export class InvalidCursor extends Error {
  override readonly name = "InvalidCursor";
}

type Key = readonly (string | number)[];

/** The key columns of a list, and whether it goes up or down them. */
export interface Keyset {
  readonly columns: readonly PgColumn[];
  readonly direction: "rising" | "falling";
}

/** Where the page begins, as a condition. Throws `InvalidCursor`. */
export function afterCursor(keyset: Keyset, request: PageRequest): SQL | undefined {
  if (request.after === undefined) return undefined;
  const key = decodeCursor(keyset, request.after);
  const columns = sql.join([...keyset.columns], sql`, `);
  const values = sql.join(
    key.map((value) => sql`${value}`),
    sql`, `,
  );
  const rising = keyset.direction === "rising";
  const beyond = rising ? sql`(${columns}) > (${values})` : sql`(${columns}) < (${values})`;
  const [first] = keyset.columns;
  if (first === undefined || keyset.columns.every(({ table }) => table === first.table)) return beyond;
  // No index has columns of two tables, so the first table's is told where to begin.
  return and(rising ? sql`${first} >= ${key[0]}` : sql`${first} <= ${key[0]}`, beyond);
}

export function keyOrder(keyset: Keyset): SQL[] {
  return keyset.columns.map((column) => (keyset.direction === "rising" ? asc(column) : desc(column)));
}

/** Makes a page of rows that were read with a limit of one more than asked for. */
export function pageOf<Row>(rows: readonly Row[], request: PageRequest, keyOf: (row: Row) => Key): Page<Row> {
  if (rows.length <= request.limit) return { items: rows };
  const items = rows.slice(0, request.limit);
  const last = items.at(-1);
  return last === undefined ? { items } : { items, next: encodeCursor(keyOf(last)) };
}

export function within(column: PgColumn, bounds: TimeBounds): SQL | undefined {
  return and(
    bounds.startsAfter === undefined ? undefined : gt(column, bounds.startsAfter),
    bounds.startsBefore === undefined ? undefined : lt(column, bounds.startsBefore),
  );
}

function encodeCursor(key: Key): string {
  return Buffer.from(JSON.stringify(key)).toString("base64url");
}

function decodeCursor(keyset: Keyset, text: string): Key {
  let key: unknown;
  try {
    key = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    throw new InvalidCursor("the cursor is not one of ours");
  }
  if (!Array.isArray(key) || key.length !== keyset.columns.length) {
    throw new InvalidCursor("the cursor is of another list");
  }
  return keyset.columns.map((column, position) => {
    const value: unknown = key[position];
    const wantsUuid = column.getSQLType() === "uuid";
    if (wantsUuid && typeof value === "string" && LOWER_UUID.test(value)) return value;
    if (!wantsUuid && typeof value === "number" && Number.isSafeInteger(value)) return value;
    throw new InvalidCursor("the cursor is of another list");
  });
}
