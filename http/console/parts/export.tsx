/** Export of a whole list as a CSV file, which the browser makes from all pages. */

import { useEffect, useRef, useState } from "preact/hooks";
import { call, type Query } from "../data/api.js";
import { asRefusal, isAborted, type Refusal } from "../data/refusal.js";
import { showQuantity } from "../data/money.js";
import { Button } from "./button.js";
import { Notice } from "./notice.js";
import { csvOf, type CsvColumn } from "../data/csv.js";

/** Rows of a page of an export. */
const PAGE_ROWS = 1_000;
/** Pause before a request that the rate limit has refused, when the service names none. */
const REFUSED_MS = 5_000;

interface Page<T> {
  readonly items: readonly T[];
  readonly next?: string | null | undefined;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("the export was canceled", "AbortError"));
    });
  });
}

/** Reads all pages of a list, at the pace that the rate limit allows. */
async function allRows<T>(
  path: string,
  query: Query,
  { signal, report }: { readonly signal: AbortSignal; readonly report: (progress: string) => void },
): Promise<readonly T[]> {
  const rows: T[] = [];
  for (let after: string | undefined; ;) {
    try {
      const page = await call<Page<T>>("GET", path, { query: { ...query, limit: PAGE_ROWS, after }, signal });
      rows.push(...page.items);
      report(`${showQuantity(rows.length)} rows`);
      if (typeof page.next !== "string") return rows;
      after = page.next;
    } catch (error) {
      const refusal = asRefusal(error);
      if (refusal.status !== 429) throw error;
      const waitMs = refusal.retryAfterMs ?? REFUSED_MS;
      report(`${showQuantity(rows.length)} rows, waiting ${Math.ceil(waitMs / 1_000)} s for the rate limit`);
      await pause(waitMs, signal);
    }
  }
}

function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

interface ExportProps<Row> {
  /** Name of the file without its ending. */
  readonly name: string;
  readonly path: string;
  readonly query: Query;
  /** Returns the columns; it may read names for the rows first. */
  readonly columnsFor: (rows: readonly Row[], signal: AbortSignal) => Promise<readonly CsvColumn<Row>[]>;
}

export function ExportButton<Row>({ name, path, query, columnsFor }: ExportProps<Row>) {
  const [progress, setProgress] = useState<string>();
  const [refusal, setRefusal] = useState<Refusal>();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const run = async (): Promise<void> => {
    if (running.current !== undefined) return;
    const control = new AbortController();
    running.current = control;
    const { signal } = control;
    setRefusal(undefined);
    setProgress("starting");
    try {
      const rows = await allRows<Row>(path, query, { signal, report: setProgress });
      setProgress(`${showQuantity(rows.length)} rows, reading names`);
      save(`${name}.csv`, csvOf(await columnsFor(rows, signal), rows));
    } catch (error) {
      if (!isAborted(error)) setRefusal(asRefusal(error));
    } finally {
      running.current = undefined;
      if (!signal.aborted) setProgress(undefined);
    }
  };
  const cancel = (): void => {
    running.current?.abort();
    setProgress(undefined);
  };
  return (
    <div class="export">
      <Button busy={progress !== undefined} onClick={() => void run()}>
        Export as CSV
      </Button>
      {progress !== undefined && (
        <span role="status">
          {progress}{" "}
          <Button kind="quiet" onClick={cancel}>
            Cancel
          </Button>
        </span>
      )}
      <Notice refusal={refusal} onDismiss={() => setRefusal(undefined)} />
    </div>
  );
}
