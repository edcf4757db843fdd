/** Tables of lists that the service answers in pages. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../data/action.js";
import { call, targetOf, type Query } from "../data/api.js";
import { useResource } from "../data/resource.js";
import { Button } from "../parts/button.js";
import { Empty, Loaded } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table, type Column } from "../parts/table.js";

interface ListPage<Row> {
  readonly items: readonly Row[];
  readonly next?: string | undefined;
}

interface PagedProps<Row> {
  readonly path: string;
  readonly query?: Query;
  /** A change of this value reads the list anew. */
  readonly version?: number;
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Says what would be here. */
  readonly empty: string;
  readonly children?: ComponentChildren;
}

const ROWS = 50;

/** A table of the first page of a list, with a button for the next one. */
export function Paged<Row>({ path, query = {}, version, empty, ...table }: PagedProps<Row>) {
  const list = targetOf(path, query);
  const first = useResource(
    (signal) => call<ListPage<Row>>("GET", path, { query: { ...query, limit: ROWS }, signal }),
    [list, version],
  );
  // Further pages belong to one reading of the first page.
  const [further, setFurther] = useState<ListPage<Row> & { readonly of: ListPage<Row> }>();
  const page = first.value;
  const read = further?.of === page ? further : undefined;
  const next = read === undefined ? page?.next : read.next;
  const more = useAction(async () => {
    if (page === undefined) return;
    const found = await call<ListPage<Row>>("GET", path, { query: { ...query, limit: ROWS, after: next } });
    setFurther({ of: page, items: [...(read?.items ?? []), ...found.items], next: found.next });
  });
  return (
    <Loaded of={first} what={`the ${table.label.toLowerCase()}`}>
      {({ items }) => (
        <>
          <Table
            stacks
            {...table}
            rows={[...items, ...(read?.items ?? [])]}
            empty={<Empty title={empty} />}
          />
          <Notice refusal={more.refusal} onDismiss={more.dismiss} />
          {next !== undefined && (
            <div class="buttons">
              <Button busy={more.busy} onClick={() => more.run()}>
                Show more
              </Button>
            </div>
          )}
        </>
      )}
    </Loaded>
  );
}
