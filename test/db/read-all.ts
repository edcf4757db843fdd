import type { Page } from "../../db/page.js";

/** Reads all pages of a list, one after the other; `between` runs before each but the first. */
export async function readAll<Row>(
  read: (after: string | undefined) => Promise<Page<Row>>,
  between: () => Promise<void> = () => Promise.resolve(),
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: string | undefined; ;) {
    const page = await read(after);
    rows.push(...page.items);
    if (page.next === undefined) return rows;
    after = page.next;
    await between();
  }
}
