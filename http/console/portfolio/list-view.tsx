/** Table of a long list with its states, its older pages and its export. */

import type { ComponentChildren } from "preact";
import { useResource } from "../data/resource.js";
import { Button } from "../parts/button.js";
import { Skeleton } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table, type Column } from "../parts/table.js";
import { namesOf, type MarketNames } from "./catalog.js";
import type { List } from "./list.js";

/** Returns the names of the markets of some rows, which arrive after the rows. */
export function useNames(
  rows: readonly { readonly marketId: string }[] | undefined,
): ReadonlyMap<string, MarketNames> | undefined {
  const ids = [...new Set(rows?.map(({ marketId }) => marketId))].sort();
  return useResource((signal) => namesOf(ids, signal), [ids.join()]).value;
}

interface ListViewProps<Row> {
  readonly label: string;
  readonly list: List<Row>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly empty: ComponentChildren;
}

export function ListView<Row>({ label, list, columns, keyOf, empty }: ListViewProps<Row>) {
  const { rows, refusal, loading, more, reload } = list;
  return (
    <>
      {refusal !== undefined && (
        <>
          <Notice refusal={refusal} />
          <Button busy={loading} onClick={reload}>
            Try again
          </Button>
        </>
      )}
      {rows === undefined && refusal === undefined && <Skeleton rows={6} />}
      {rows !== undefined && (
        <Table label={label} columns={columns} rows={rows} keyOf={keyOf} empty={empty} />
      )}
      {rows !== undefined && (more !== undefined || (loading && rows.length > 0)) && (
        <div class="buttons">
          <Button busy={loading} onClick={() => more?.()}>
            Older
          </Button>
        </div>
      )}
    </>
  );
}
