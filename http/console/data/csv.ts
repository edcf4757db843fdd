/**
 * Tables as CSV (RFC 4180): lines end with CR LF, and a field with a comma, quote or line break is quoted. Text that a
 * spreadsheet would take for a formula begins with an apostrophe, because names come from other people.
 */

const SPECIAL = /[",\r\n]/;
const FORMULA = /^[=+\-@\t\r]/;
const AMOUNT = /^-?\d+(\.\d+)?$/;

function field(value: string | number | boolean | undefined): string {
  const given = value === undefined ? "" : String(value);
  const text = FORMULA.test(given) && !AMOUNT.test(given) ? `'${given}` : given;
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Column of a CSV file: its heading, and its value in a row, as the exchange sent it. */
export interface CsvColumn<Row> {
  readonly heading: string;
  readonly value: (row: Row) => string | number | boolean | undefined;
}

/** Returns the CSV of the rows with one heading line. */
export function csvOf<Row>(columns: readonly CsvColumn<Row>[], rows: readonly Row[]): string {
  const lines = [columns.map(({ heading }) => field(heading))];
  for (const row of rows) lines.push(columns.map(({ value }) => field(value(row))));
  return lines.map((line) => `${line.join(",")}\r\n`).join("");
}
