/** Tables of exact values. */

import type { ComponentChildren } from "preact";

/** Column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers stand at the right edge, in digits of one width. */
  readonly numeric?: boolean;
  /** Left out where the page is narrow. */
  readonly wide?: boolean;
}

interface TableProps<Row> {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly empty?: ComponentChildren;
  /** Shows each row as lines of a title and a value where the page is narrow, for tables with more columns than fit. */
  readonly stacks?: boolean;
}

/** A table. It scrolls sideways by itself where it is wider than the page. */
export function Table<Row>({ label, columns, rows, keyOf, empty, stacks = false }: TableProps<Row>) {
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  const classOf = ({ numeric, wide }: Column<Row>): string =>
    `${numeric === true ? "numeric" : ""} ${wide === true ? "wide" : ""}`.trim();
  return (
    <div class={stacks ? "table table-stacks" : "table"} role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)} data-title={column.title}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
