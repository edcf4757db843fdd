/** Preview of every payout of a grade, or of the difference to the grade before it. */

import { useState } from "preact/hooks";
import { formatMoney } from "../../../../actors/units.js";
import { Link } from "../../app/router.js";
import { showMoney, showQuantity } from "../../data/money.js";
import { Button } from "../../parts/button.js";
import { Table, type Column } from "../../parts/table.js";
import { Money } from "../../parts/values.js";
import type { Payouts } from "../answers.js";
import { plural } from "../words.js";
import { payoutRows, sumsOf, type PayoutRow } from "./grade.js";

/** Rows that are shown before the visitor asks for all. */
const FIRST = 50;
const ID_LENGTH = 8;

interface PayoutsTableProps {
  readonly payouts: Payouts;
  /** Payouts of the grade that is replaced; the table then shows the difference. */
  readonly before?: Payouts | undefined;
  readonly label: string;
}

export function PayoutsTable({ payouts, before, label }: PayoutsTableProps) {
  const [showsAll, setShowsAll] = useState(false);
  const rows = payoutRows(payouts, before);
  const shown = showsAll ? rows : rows.slice(0, FIRST);
  const amountOf = (amount: PayoutRow["amount"], { currency }: PayoutRow) => (
    <Money value={formatMoney(amount)} coin={currency === "COIN"} />
  );
  const columns: Column<PayoutRow>[] = [
    {
      title: "Trader",
      cell: ({ traderId }) =>
        traderId === null ? (
          <span class="quiet">unknown wallet</span>
        ) : (
          <Link to={`/operator/desk/${traderId}`} class="operator-id">
            {traderId.slice(0, ID_LENGTH)}
          </Link>
        ),
    },
    {
      title: "Wallet",
      cell: ({ keyId }) =>
        keyId === null ? "own" : <span class="operator-id">key {keyId.slice(0, ID_LENGTH)}</span>,
    },
    { title: "Receives", numeric: true, cell: (row) => amountOf(row.amount, row) },
  ];
  if (before !== undefined)
    columns.push({ title: "Difference", numeric: true, cell: (row) => amountOf(row.difference, row) });
  return (
    <div class="settlement-payouts">
      <p>{sumWords(rows, before !== undefined)}</p>
      {rows.length > 0 && <Table label={label} rows={shown} keyOf={({ key }) => key} columns={columns} />}
      {rows.length > shown.length && (
        <Button kind="quiet" onClick={() => setShowsAll(true)}>
          Show all {showQuantity(rows.length)}
        </Button>
      )}
    </div>
  );
}

/** Returns the sums of the payouts in a sentence. */
export function sumWords(rows: readonly PayoutRow[], isDifference: boolean): string {
  if (rows.length === 0) return "No wallet holds a position in the market; nothing is paid.";
  const sentences = (["CASH", "COIN"] as const).flatMap((currency) => {
    const { wallets, more, less } = sumsOf(rows, currency);
    if (wallets === 0) return [];
    const show = (amount: string): string => showMoney(amount, currency);
    const of = plural(wallets, "wallet");
    if (isDifference) return [`${of}: ${show(more)} more in all, and ${show(less)} less.`];
    if (more === "0.00000") return [`${show(less)} is taken back from ${of}.`];
    return [`${show(more)} is paid to ${of}.`];
  });
  if (sentences.length > 0) return sentences.join(" ");
  return isDifference
    ? "No wallet receives more or less."
    : "Every position is worth nothing; nothing is paid.";
}
