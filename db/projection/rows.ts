/**
 * Rows on their way into Postgres: a statement takes one array per column and unnests them, so that a batch of any
 * size is one statement with few parameters. That is several times faster than a parameter per value.
 */

import type pg from "pg";

type Value = string | number | boolean | null | undefined;
type ColumnType = "uuid" | "text" | "smallint" | "integer" | "bigint" | "boolean";

/** One column of a statement: its type, and its value in a row. */
export type Columns<Row> = Readonly<Record<string, readonly [ColumnType, (row: Row) => Value]>>;

/** A statement that takes rows. Its name makes Postgres parse it once per connection. */
export interface RowStatement<Row> {
  readonly name: string;
  readonly sql: string;
  readonly columns: Columns<Row>;
}

function unnest<Row>(columns: Columns<Row>): string {
  return `unnest(${Object.values(columns)
    .map(([type], index) => `$${index + 1}::${type}[]`)
    .join(", ")})`;
}

/** Inserts rows; `onConflict` is the clause for those that are there already, without which they are an error. */
export function insertInto<Row>(table: string, columns: Columns<Row>, onConflict = ""): RowStatement<Row> {
  const names = Object.keys(columns).join(", ");
  return {
    name: `project_${table}`,
    sql: `insert into ${table} (${names}) select * from ${unnest(columns)} ${onConflict}`,
    columns,
  };
}

/** Updates rows that are there; in `assignments` and `where` the new values are called `u`. */
export function updateRows<Row>(
  table: string,
  columns: Columns<Row>,
  clauses: { assignments: string; where: string; returning?: string },
): RowStatement<Row> {
  const names = Object.keys(columns).join(", ");
  const returning = clauses.returning === undefined ? "" : ` returning ${clauses.returning}`;
  return {
    name: `project_update_${table}`,
    sql:
      `update ${table} set ${clauses.assignments} ` +
      `from ${unnest(columns)} as u (${names}) where ${clauses.where}${returning}`,
    columns,
  };
}

/** Runs a statement over rows, if there are any. Each row must be written, else it throws. */
export async function writeRows<Row, Returned extends pg.QueryResultRow = never>(
  client: pg.ClientBase,
  statement: RowStatement<Row>,
  rows: readonly Row[],
): Promise<readonly Returned[]> {
  if (rows.length === 0) return [];
  const values = Object.values(statement.columns).map(([type, of]) => arrayOf(type, rows, of));
  const result = await client.query<Returned>({ name: statement.name, text: statement.sql, values });
  if (result.rowCount !== rows.length) {
    throw new Error(`${statement.name} wrote ${result.rowCount ?? 0} of ${rows.length} rows`);
  }
  return result.rows;
}

function arrayOf<Row>(type: ColumnType, rows: readonly Row[], of: (row: Row) => Value): string {
  const quote = type === "text";
  let text = "{";
  for (const row of rows) {
    if (text.length > 1) text += ",";
    const value = of(row);
    if (value === null || value === undefined) text += "NULL";
    else text += quote ? quoted(String(value)) : String(value);
  }
  return `${text}}`;
}

function quoted(text: string): string {
  return `"${storable(text).replace(/[\\"]/g, "\\$&")}"`;
}

/** Postgres has no NUL in text; one that came this far must not stop the projector. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\uFFFD");
}
