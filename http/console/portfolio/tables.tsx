/** Fills and transactions of a subaccount as tables, each with its filters and its file, and what they share with orders. */

import { TRANSACTION_KINDS, type TransactionKind } from "../../../actors/ledger/types.js";
import { useQuery } from "../app/router.js";
import { moneyOf } from "../data/money.js";
import { Button } from "../parts/button.js";
import { Choice } from "../parts/field.js";
import { Empty } from "../parts/loaded.js";
import type { Column } from "../parts/table.js";
import { Average, Money, Quantity, Time } from "../parts/values.js";
import { outcomeName, type MarketNames } from "./catalog.js";
import { ExportButton } from "../parts/export.js";
import { DayFields, useDays } from "./filters.js";
import { ListView, useNames } from "./list-view.js";
import { useList } from "./list.js";
import { MarketLink } from "./market-link.js";
import { fillColumns, transactionColumns, type FillAnswer, type TransactionAnswer } from "./records.js";

export interface TableProps {
  /** Key that names the subaccount. */
  readonly subaccount: string;
  /** Label of the subaccount, which names the files. */
  readonly label: string;
}

/** Returns the columns with the time, the market and the outcome of a row; a narrow page shows them as one column. */
export function marketColumns<Row extends { readonly marketId: string; readonly outcomeId: string }>(
  names: ReadonlyMap<string, MarketNames> | undefined,
  timeOf: (row: Row) => number,
  stateOf: (row: Row) => string = () => "",
): readonly Column<Row>[] {
  return [
    { title: "Time", wide: true, cell: (row) => <Time ms={timeOf(row)} /> },
    {
      title: "Market",
      cell: (row) => (
        <MarketLink names={names} marketId={row.marketId}>
          {outcomeName(names, row)}, <Time ms={timeOf(row)} />
          <br />
          {stateOf(row)}
        </MarketLink>
      ),
    },
    { title: "Outcome", wide: true, cell: (row) => outcomeName(names, row) },
  ];
}

/** Returns the filter for one market, which a link to this page may set. */
export function useMarketFilter() {
  const [market, setMarket] = useQuery("market");
  const chosen = market === "" ? undefined : market;
  const clear = chosen === undefined ? undefined : () => setMarket("");
  return { market: chosen, clear };
}

export function OneMarket({ clear }: { readonly clear: (() => void) | undefined }) {
  if (clear === undefined) return null;
  return (
    <p class="quiet">
      Only one market is shown.{" "}
      <Button kind="quiet" onClick={clear}>
        Show all markets
      </Button>
    </p>
  );
}

export function Fills({ subaccount, label }: TableProps) {
  const { market, clear } = useMarketFilter();
  const query = { subaccount, market, ...useDays() };
  const list = useList<FillAnswer>("/v3/portfolio/fills", query);
  const names = useNames(list.rows);
  return (
    <>
      <div class="filters">
        <DayFields />
        <ExportButton
          name={`fills-${label}`}
          path="/v3/portfolio/fills"
          query={query}
          columnsFor={fillColumns}
        />
      </div>
      <OneMarket clear={clear} />
      <ListView
        label="Fills"
        list={list}
        keyOf={({ fillId }) => fillId}
        empty={
          <Empty title="No fills">
            <p>Each execution of an order of this subaccount is listed here, with its cost and its fee.</p>
          </Empty>
        }
        columns={[
          ...marketColumns<FillAnswer>(names, ({ ts }) => ts),
          { title: "Contracts", numeric: true, cell: ({ qty }) => <Quantity value={qty} /> },
          {
            title: "Price",
            numeric: true,
            wide: true,
            cell: ({ qty, cost }) => <Average qty={qty} cost={moneyOf(cost)} />,
          },
          {
            title: "Cost",
            numeric: true,
            cell: ({ cost, currency }) => <Money value={cost} coin={currency !== undefined} />,
          },
          {
            title: "Fee",
            numeric: true,
            wide: true,
            cell: ({ fee, currency }) =>
              fee === undefined ? "none" : <Money value={fee} coin={currency !== undefined} />,
          },
          {
            title: "Role",
            wide: true,
            cell: ({ taker, wash }) => (wash === true ? "wash, no money moved" : taker ? "taker" : "maker"),
          },
        ]}
      />
    </>
  );
}

const KIND_NAMES: Readonly<Record<TransactionKind, string>> = {
  FILL: "Fill",
  FEE: "Fee",
  MAKER_CREDIT: "Maker credit",
  SETTLEMENT: "Settlement",
  TRANSFER_IN: "Transfer in",
  TRANSFER_OUT: "Transfer out",
  DEPOSIT: "Deposit",
  WITHDRAWAL: "Withdrawal",
  CREDIT: "Credit",
  CREDIT_RECLAIM: "Credit reclaimed",
  ADJUSTMENT: "Adjustment",
  FORWARDING: "Forwarding",
};

export function Transactions({ subaccount, label }: TableProps) {
  const [typed, setTyped] = useQuery("kind");
  const kind = TRANSACTION_KINDS.find((one) => one === typed);
  const path = `/v3/account/subaccounts/${subaccount}/transactions`;
  const query = { kind, ...useDays() };
  const list = useList<TransactionAnswer>(path, query);
  return (
    <>
      <div class="filters">
        <Choice<TransactionKind | "">
          label="Kind"
          value={kind ?? ""}
          choices={[["", "All"], ...TRANSACTION_KINDS.map((one) => [one, KIND_NAMES[one]] as const)]}
          onChange={setTyped}
        />
        <DayFields />
        <ExportButton
          name={`transactions-${label}`}
          path={path}
          query={query}
          columnsFor={transactionColumns}
        />
      </div>
      <ListView
        label="Transactions"
        list={list}
        keyOf={({ transactionId }) => transactionId}
        empty={
          <Empty title="No transactions">
            <p>Every movement of money in this subaccount is listed here. Move money into it to begin.</p>
          </Empty>
        }
        columns={[
          { title: "Time", cell: ({ ts }) => <Time ms={ts} /> },
          { title: "Kind", cell: ({ kind: one }) => KIND_NAMES[one] },
          {
            title: "Amount",
            numeric: true,
            cell: ({ amount, currency }) => <Money value={amount} coin={currency !== undefined} />,
          },
          { title: "Reference", wide: true, cell: ({ ref }) => <code>{ref}</code> },
        ]}
      />
    </>
  );
}
