/**
 * Statements that write many rows of one table. Each takes one array per column and unnests the arrays, so that a
 * batch of any size is one statement with few parameters, several times faster than one parameter per value. Names,
 * types and encodings of columns come from the table's schema.
 */

import { getTableColumns, getTableName, sql, type SQL } from "drizzle-orm";
import { CasingCache } from "drizzle-orm/casing";
import { getTableConfig, type PgColumn, type PgTable } from "drizzle-orm/pg-core";
import type pg from "pg";
import { unreachable } from "../../actors/unreachable.js";
import { CASING } from "../database.js";

/** New value of a column in an existing row: the given value, the given value unless it is null, or the sum of both. */
type Merge = "replace" | "replaceUnlessNull" | "add";

type RowOf<Table extends PgTable> = Table["$inferSelect"];

/** A column, and the property of a row that holds its value. */
interface RowColumn {
  readonly key: string;
  readonly column: PgColumn;
}

/** A statement that takes rows and may return others. Its name makes Postgres parse it once per connection. */
interface RowStatement<Row extends object, Returned = never> {
  readonly name: string;
  readonly sql: string;
  /** Encodes rows as the parameters of the statement, one array per column. */
  readonly encode: (rows: readonly Row[]) => string[];
  readonly decode: (answers: readonly Record<string, unknown>[]) => Returned[];
}

/** The rows that a statement takes. */
export type RowsOf<Statement> = Statement extends RowStatement<infer Row, unknown> ? Row : never;

/** Names of columns as Drizzle writes them. Drizzle does not document the class; its version is pinned. */
const casing = new CasingCache(CASING);

/** Types of the columns that can be written, and whether an array quotes their values. */
const QUOTED: Readonly<Record<string, boolean>> = {
  uuid: false,
  smallint: false,
  integer: false,
  bigint: false,
  boolean: false,
  text: true,
};

/**
 * Inserts rows. Fails on a row whose primary key exists, unless `merge` says how its other columns change, and on one that
 * does not raise the column `raises`.
 */
export function insertInto<Table extends PgTable>(
  table: Table,
  merge?: "replace" | "add",
  raises?: keyof RowOf<Table> & string,
): RowStatement<RowOf<Table>> {
  const name = getTableName(table);
  const columns = Object.keys(getTableColumns(table)).map((key) => rowColumn(table, key));
  const conflict = `on conflict (${primaryKeyOf(table).map(nameOf).join(", ")}) do update set`;
  const assignments = otherColumns(table).map(({ column }) =>
    assignment(column, merge ?? "replace", "excluded"),
  );
  const raised = raises === undefined ? undefined : nameOf(rowColumn(table, raises).column);
  return {
    name: raised === undefined ? `project_${name}` : `project_${name}_raising_${raised}`,
    sql:
      `insert into ${name} (${namesOf(columns)}) select * from ${unnest(columns)}` +
      (merge === undefined ? "" : ` ${conflict} ${assignments.join(", ")}`) +
      (raised === undefined ? "" : ` where ${name}.${raised} < excluded.${raised}`),
    encode: (rows) => columns.map((column) => arrayOf(column, rows)),
    decode: () => [],
  };
}

/** A row of an update: the columns of its key and the columns that change. */
type ChangeOf<Table extends PgTable, Changes> = {
  -readonly [Key in keyof Changes & keyof RowOf<Table>]:
    RowOf<Table>[Key] | (Changes[Key] extends "replaceUnlessNull" ? null : never);
};

/**
 * Updates the rows that have the given keys and are of one part of the table, each column in its own way, and returns some
 * of their columns. `part` is the name of the part and its condition.
 */
export function updateRows<
  Table extends PgTable,
  const Changes extends { readonly [Key in keyof RowOf<Table>]?: Merge | "key" },
  Returned extends keyof RowOf<Table> & string,
>(
  table: Table,
  changes: Changes,
  returned: readonly Returned[] = [],
  part?: { readonly name: string; readonly condition: string },
): RowStatement<ChangeOf<Table, Changes>, Pick<RowOf<Table>, Returned>> {
  const name = getTableName(table);
  const columns: RowColumn[] = [];
  const keys: string[] = [];
  const assignments: string[] = [];
  for (const [key, merge] of Object.entries<Merge | "key" | undefined>(changes)) {
    if (merge === undefined) continue;
    const { column } = rowColumn(table, key);
    columns.push({ key, column });
    if (merge === "key") keys.push(`${name}.${nameOf(column)} = given.${nameOf(column)}`);
    else assignments.push(assignment(column, merge, "given"));
  }
  const answers = returned.map((key) => rowColumn(table, key));
  const names = answers.map(({ key, column }) => `${name}.${nameOf(column)} as "${key}"`);
  if (part !== undefined) keys.push(part.condition);
  return {
    name: `project_update_${part?.name ?? ""}${name}`,
    sql:
      `update ${name} set ${assignments.join(", ")} ` +
      `from ${unnest(columns)} as given (${namesOf(columns)}) where ${keys.join(" and ")}` +
      (names.length === 0 ? "" : ` returning ${names.join(", ")}`),
    encode: (rows) => columns.map((column) => arrayOf(column, rows)),
    decode: (rows) => rows.map((row) => decoded(answers, row) as Pick<RowOf<Table>, Returned>),
  };
}

/** Rows of one statement: enough that more are not faster, and few enough that their text stays short. */
const ROWS_PER_STATEMENT = 5_000;

/** Runs a statement over rows, a bounded number at a time. Throws unless every row is written. */
export async function writeRows<Row extends object, Returned = never>(
  client: pg.ClientBase,
  statement: RowStatement<Row, Returned>,
  rows: readonly Row[],
): Promise<readonly Returned[]> {
  const { written, returned } = await run(client, statement, rows);
  if (written !== rows.length) throw new Error(`${statement.name} wrote ${written} of ${rows.length} rows`);
  return returned;
}

/** Runs a statement over rows of which some may not exist, a bounded number at a time. */
export async function writeExistingRows<Row extends object, Returned>(
  client: pg.ClientBase,
  statement: RowStatement<Row, Returned>,
  rows: readonly Row[],
): Promise<readonly Returned[]> {
  return (await run(client, statement, rows)).returned;
}

async function run<Row extends object, Returned>(
  client: pg.ClientBase,
  { name, sql: text, encode, decode }: RowStatement<Row, Returned>,
  rows: readonly Row[],
): Promise<{ readonly written: number; readonly returned: readonly Returned[] }> {
  const returned: Returned[] = [];
  let written = 0;
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const part = rows.slice(start, start + ROWS_PER_STATEMENT);
    const result = await client.query<Record<string, unknown>>({ name, text, values: encode(part) });
    written += result.rowCount ?? 0;
    returned.push(...decode(result.rows));
  }
  return { written, returned };
}

/** Returns the update of every column outside the primary key to its inserted value, for `onConflictDoUpdate`. */
export function replaceAll(table: PgTable): Record<string, SQL> {
  return Object.fromEntries(
    otherColumns(table).map(({ key, column }) => [key, sql.raw(`excluded.${nameOf(column)}`)]),
  );
}

/** Replaces NUL, which Postgres cannot store in text; a row with one must not stop the projector. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\uFFFD");
}

function rowColumn(table: PgTable, key: string): RowColumn {
  const column = getTableColumns(table)[key];
  const type = column?.getSQLType() ?? "none";
  if (column === undefined || !(type in QUOTED)) {
    throw new Error(`the projection cannot write ${getTableName(table)}.${key}, whose type is ${type}`);
  }
  return { key, column };
}

function primaryKeyOf(table: PgTable): PgColumn[] {
  const { primaryKeys, columns } = getTableConfig(table);
  return primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
}

function otherColumns(table: PgTable): RowColumn[] {
  const keys = primaryKeyOf(table).map(nameOf);
  const columns = Object.entries(getTableColumns(table)).map(([key, column]) => ({ key, column }));
  return columns.filter(({ column }) => !keys.includes(nameOf(column)));
}

function nameOf(column: PgColumn): string {
  return casing.getColumnCasing(column);
}

function namesOf(columns: readonly RowColumn[]): string {
  return columns.map(({ column }) => nameOf(column)).join(", ");
}

/** Returns the assignment of a column, made from its existing value and its value in the row `given`. */
function assignment(column: PgColumn, merge: Merge, given: string): string {
  const name = nameOf(column);
  const existing = `${getTableName(column.table)}.${name}`;
  switch (merge) {
    case "replace":
      return `${name} = ${given}.${name}`;
    case "replaceUnlessNull":
      return `${name} = coalesce(${given}.${name}, ${existing})`;
    case "add":
      return `${name} = ${existing} + ${given}.${name}`;
    default:
      return unreachable(merge);
  }
}

function unnest(columns: readonly RowColumn[]): string {
  const arrays = columns.map(({ column }, index) => `$${index + 1}::${column.getSQLType()}[]`);
  return `unnest(${arrays.join(", ")})`;
}

/** Returns the values of a column as the text of a Postgres array. */
function arrayOf({ key, column }: RowColumn, rows: readonly object[]): string {
  const quote = QUOTED[column.getSQLType()] === true;
  let text = "{";
  for (const row of rows) {
    if (text.length > 1) text += ",";
    const value: unknown = row[key as keyof typeof row];
    if (value === null || value === undefined) text += "NULL";
    else {
      const encoded = String(column.mapToDriverValue(value));
      text += quote ? quoted(encoded) : encoded;
    }
  }
  return `${text}}`;
}

function decoded(columns: readonly RowColumn[], answer: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    columns.map(({ key, column }) => {
      const value = answer[key];
      return [key, value === null ? null : column.mapFromDriverValue(value)];
    }),
  );
}

function quoted(text: string): string {
  return `"${storable(text).replace(/[\\"]/g, "\\$&")}"`;
}
