/** Balances of the account and its subaccounts, and the way to move money between them. */

import { useState } from "preact/hooks";
import { Button } from "../parts/button.js";
import { Table, type Column } from "../parts/table.js";
import { Money } from "../parts/values.js";
import { TransferDialog } from "../trading/transfer-dialog.js";
import { hasCoin, type Wallet, type Wallets } from "./wallets.js";

interface Row {
  readonly name: string;
  readonly balance: string;
  readonly reserved?: string;
  readonly available: string;
  readonly coin: string;
  readonly wallet?: Wallet;
}

interface BalancesProps {
  readonly wallets: Wallets;
  /** Subaccount whose records are shown below. */
  readonly chosen: string | undefined;
  readonly onChoose: (keyId: string) => void;
  readonly onMoved: () => void;
}

function rowsOf({ account, subaccounts }: Wallets): readonly Row[] {
  const own: Row = {
    name: "Your account",
    balance: account.cash.CASH,
    available: account.cash.CASH,
    coin: account.cash.COIN,
  };
  const rows = subaccounts.map((wallet): Row => {
    const { label: name, cash, coin } = wallet;
    return {
      name,
      balance: cash.balance,
      reserved: cash.reserved,
      available: cash.available,
      coin: coin.balance,
      wallet,
    };
  });
  return [own, ...rows];
}

export function Balances({ wallets, chosen, onChoose, onMoved }: BalancesProps) {
  const [moving, setMoving] = useState<Wallet>();
  const columns: Column<Row>[] = [
    {
      title: "Wallet",
      cell: ({ name, wallet }) => {
        if (wallet === undefined) return name;
        return (
          <label class="portfolio-choice">
            <input
              type="radio"
              name="portfolio-subaccount"
              checked={wallet.keyId === chosen}
              onChange={() => onChoose(wallet.keyId)}
            />{" "}
            {name}
          </label>
        );
      },
    },
    { title: "Balance", numeric: true, cell: ({ balance }) => <Money value={balance} /> },
    {
      title: "Held by orders",
      numeric: true,
      wide: true,
      cell: ({ reserved }) => (reserved === undefined ? "" : <Money value={reserved} />),
    },
    { title: "Available", numeric: true, cell: ({ available }) => <Money value={available} /> },
    ...(hasCoin(wallets)
      ? [{ title: "COIN", numeric: true, cell: ({ coin }: Row) => <Money coin value={coin} /> }]
      : []),
    {
      title: "",
      cell: ({ wallet }) =>
        wallet === undefined ? (
          ""
        ) : (
          <Button kind="quiet" label={`Move money: ${wallet.label}`} onClick={() => setMoving(wallet)}>
            Move money
          </Button>
        ),
    },
  ];
  return (
    <>
      <Table
        label="Balances"
        columns={columns}
        rows={rowsOf(wallets)}
        keyOf={({ name, wallet }) => wallet?.keyId ?? name}
      />
      {moving !== undefined && (
        <TransferDialog subaccount={moving} open onClose={() => setMoving(undefined)} onMoved={onMoved} />
      )}
    </>
  );
}
