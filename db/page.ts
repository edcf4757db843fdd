/** Keyset pages. A cursor is the key of the last row, so new rows between two pages are neither lost nor repeated. */

import { and, asc, desc, gt, lt, sql, type SQL } from "drizzle-orm";
import type { PgColumn, PgSelect } from "drizzle-orm/pg-core";
import { LOWER_UUID } from "../actors/uuid.js";
import type { Database, Queries } from "./database.js";

/** A request for one page of a list. */
export interface PageRequest {
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly after?: string | undefined;
  /** Number of rows to skip, behind `after` if there is one. */
  readonly offset?: number | undefined;
}

/** One page of a list. */
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

/** Reports a cursor that the list did not issue. */
export class InvalidCursor extends Error {
  override readonly name = "InvalidCursor";

  constructor() {
    super("must be a cursor: the 'next' of an earlier page of this list");
  }
}

type Key = readonly (string | number)[];

/** The columns that order a list, and the direction of all of them. */
interface KeyOrder {
  readonly columns: readonly PgColumn[];
  readonly direction: "ascending" | "descending";
}

/** The order of a list, and the values of the order's columns in one of its rows. */
export interface Keyset<Row> extends KeyOrder {
  readonly keyOf: (row: Row) => Key;
}

type RowOf<Query extends PgSelect> = Query["_"]["result"][number];

/**
 * Reads one page of a query that has no condition, order or limit of its own yet (`$dynamic()`): the rows that match
 * `condition` and come after the cursor, in the order of the keyset. Throws `InvalidCursor`.
 */
export async function page<Query extends PgSelect>(
  query: Query,
  keyset: Keyset<RowOf<Query>>,
  request: PageRequest,
  condition?: SQL,
): Promise<Page<RowOf<Query>>> {
  const rows: RowOf<Query>[] = await query
    .where(and(condition, afterCursor(keyset, request.after)))
    .orderBy(...keyOrder(keyset))
    // The row beyond the page shows that there is another page.
    .limit(request.limit + 1)
    .offset(request.offset ?? 0);
  if (rows.length <= request.limit) return { items: rows };
  const items = rows.slice(0, request.limit);
  const last = items.at(-1);
  return last === undefined ? { items } : { items, next: encodeCursor(keyset.keyOf(last)) };
}

/**
 * Time in ms within which most rows of a table by month lie that are read. A read looks into the partitions of that time,
 * and into all of them only when it has not found enough: Postgres plans a statement for each partition, and their number
 * grows by one each month.
 */
export const RECENT_MS = 32 * 86_400_000;

/**
 * Reads one page of a table by month in the order of a keyset whose first column is a time, newest first. `read` reads the
 * page within the bounds. Throws `InvalidCursor`.
 */
export async function pageByMonth<Row>(
  keyset: KeyOrder,
  request: PageRequest,
  { startsAfter, startsBefore = Infinity }: TimeBounds,
  read: (bounds: TimeBounds) => Promise<Page<Row>>,
): Promise<Page<Row>> {
  const cursorTs = timeOfCursor(keyset, request) ?? Infinity;
  // The cursor alone would not tell Postgres which months come after it.
  const endTs = Math.min(startsBefore, cursorTs + 1);
  const bounds = { startsAfter, startsBefore: endTs === Infinity ? undefined : endTs };
  const recentTs = Math.min(endTs, Date.now()) - RECENT_MS;
  if ((startsAfter ?? 0) >= recentTs) return read(bounds);
  const recent = await read({ ...bounds, startsAfter: recentTs });
  return recent.next === undefined ? read(bounds) : recent;
}

/** Number of rows that are converted at once; more would hold the event loop for several ms. */
const SLICE_ROWS = 100;
/** Pause after a slice, as a multiple of the time of its read, and the longest one in ms: a page has 49 at most. */
const PAUSE = 3;
const MAX_PAUSE_MS = 30;

/**
 * Reads one page in slices of one state of the tables, with a pause after each slice: a long page leaves up to three
 * quarters of the time to others, here and in Postgres. `read` reads a slice. Throws `InvalidCursor`.
 */
export async function pageInSlices<Row>(
  db: Database,
  request: PageRequest,
  read: (db: Queries, request: PageRequest) => Promise<Page<Row>>,
): Promise<Page<Row>> {
  if (request.limit <= SLICE_ROWS) return read(db, request);
  return db.transaction(
    async (tx) => {
      const items: Row[] = [];
      let { after, offset } = request;
      for (;;) {
        const limit = Math.min(SLICE_ROWS, request.limit - items.length);
        const beganMs = performance.now();
        const slice = await read(tx, { limit, after, offset });
        const tookMs = performance.now() - beganMs;
        items.push(...slice.items);
        if (slice.next === undefined || items.length === request.limit) return { ...slice, items };
        after = slice.next;
        offset = undefined;
        await new Promise((resolve) => setTimeout(resolve, Math.min(PAUSE * tookMs, MAX_PAUSE_MS)));
      }
    },
    { isolationLevel: "repeatable read", accessMode: "read only" },
  );
}

/** Returns the order of a keyset, for `orderBy`. */
export function keyOrder({ columns, direction }: KeyOrder): SQL[] {
  return columns.map((column) => (direction === "ascending" ? asc(column) : desc(column)));
}

/** Returns the condition that a time lies within the bounds, or `undefined` if there are none. */
export function within(column: PgColumn, bounds: TimeBounds): SQL | undefined {
  return and(
    bounds.startsAfter === undefined ? undefined : gt(column, bounds.startsAfter),
    bounds.startsBefore === undefined ? undefined : lt(column, bounds.startsBefore),
  );
}

/**
 * Returns the first value of the cursor of a request, which in a list by time is the time before which the page begins.
 * Throws `InvalidCursor`.
 */
function timeOfCursor({ columns }: KeyOrder, { after }: PageRequest): number | undefined {
  if (after === undefined) return undefined;
  const [time] = decodeCursor(columns, after);
  if (typeof time !== "number") throw new InvalidCursor();
  return time;
}

function afterCursor({ columns, direction }: KeyOrder, after: string | undefined): SQL | undefined {
  if (after === undefined) return undefined;
  const key = decodeCursor(columns, after);
  const names = sql.join([...columns], sql`, `);
  const values = sql.join(
    key.map((value) => sql`${value}`),
    sql`, `,
  );
  const ascending = direction === "ascending";
  const beyond = ascending ? sql`(${names}) > (${values})` : sql`(${names}) < (${values})`;
  const [first] = columns;
  if (first === undefined || columns.every(({ table }) => table === first.table)) return beyond;
  // No index spans two tables, so a bound on the first column lets the scan of the first table start at the cursor.
  return and(ascending ? sql`${first} >= ${key[0]}` : sql`${first} <= ${key[0]}`, beyond);
}

function encodeCursor(key: Key): string {
  return Buffer.from(JSON.stringify(key)).toString("base64url");
}

function decodeCursor(columns: readonly PgColumn[], text: string): Key {
  let key: unknown;
  try {
    key = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    throw new InvalidCursor();
  }
  const parts: readonly unknown[] = Array.isArray(key) ? key : [];
  if (parts.length !== columns.length) throw new InvalidCursor();
  return columns.map((column, position) => {
    const value = parts[position];
    const isUuid = column.getSQLType() === "uuid";
    if (isUuid && typeof value === "string" && LOWER_UUID.test(value)) return value;
    if (!isUuid && typeof value === "number" && Number.isSafeInteger(value)) return value;
    throw new InvalidCursor();
  });
}
