/** Tables as CSV (RFC 4180): lines end with CR LF, and a field with a comma, quote or line break is quoted. */

const SPECIAL = /[",\r\n]/;

function field(value: string | number | boolean | undefined): string {
  const text = value === undefined ? "" : String(value);
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Column of a CSV file: its heading, and its value in a row, which stays exactly as the exchange sent it. */
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
