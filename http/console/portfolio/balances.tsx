/** Balances of the account and its subaccounts, and the way to move money between them. */

import { useState } from "preact/hooks";
import type { Currency } from "../../../actors/market/types.js";
import { Button } from "../parts/button.js";
import { Table, type Column } from "../parts/table.js";
import { Money } from "../parts/values.js";
import { TransferDialog } from "../trading/transfer-dialog.js";
import { hasCoin, type Wallet, type Wallets } from "./wallets.js";

/** Money of one currency in a wallet; the trader's own wallet has no orders. */
interface Row {
  readonly name: string;
  readonly currency: Currency;
  readonly balance: string;
  readonly reserved?: string;
  readonly available: string;
  readonly wallet?: Wallet;
}

interface BalancesProps {
  readonly wallets: Wallets;
  /** Subaccount whose records are shown below. */
  readonly chosen: string | undefined;
  readonly onChoose: (keyId: string) => void;
  readonly onMoved: () => void;
}

function rowsOf({ account, subaccounts }: Wallets, currencies: readonly Currency[]): readonly Row[] {
  const own = currencies.map((currency): Row => {
    const balance = account.cash[currency];
    return { name: "Your account", currency, balance, available: balance };
  });
  const held = subaccounts.flatMap((wallet) =>
    currencies.map((currency): Row => {
      const { balance, reserved, available } = currency === "CASH" ? wallet.cash : wallet.coin;
      return { name: wallet.label, currency, balance, reserved, available, wallet };
    }),
  );
  return [...own, ...held];
}

export function Balances({ wallets, chosen, onChoose, onMoved }: BalancesProps) {
  const [moving, setMoving] = useState<Wallet>();
  const currencies: readonly Currency[] = hasCoin(wallets) ? ["CASH", "COIN"] : ["CASH"];
  const amount = (value: string | undefined, currency: Currency) =>
    value === undefined ? "" : <Money value={value} coin={currency === "COIN"} />;
  const columns: Column<Row>[] = [
    {
      title: "Wallet",
      cell: ({ name, currency, wallet }) => {
        if (currency === "COIN")
          return (
            <span class="quiet">
              <span class="hidden">{name}, </span>in COIN
            </span>
          );
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
    { title: "Balance", numeric: true, cell: ({ balance, currency }) => amount(balance, currency) },
    {
      title: "Held by orders",
      numeric: true,
      wide: true,
      cell: ({ reserved, currency }) => amount(reserved, currency),
    },
    { title: "Available", numeric: true, cell: ({ available, currency }) => amount(available, currency) },
    {
      title: "",
      cell: ({ wallet, currency }) =>
        wallet === undefined || currency === "COIN" ? (
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
        rows={rowsOf(wallets, currencies)}
        keyOf={({ name, wallet, currency }) => `${wallet?.keyId ?? name} ${currency}`}
      />
      {currencies.length > 1 && (
        <p class="quiet">
          COIN has books of its own, in which a contract pays 0.01 COIN. It is never exchanged for dollars.
        </p>
      )}
      {moving !== undefined && (
        <TransferDialog subaccount={moving} open onClose={() => setMoving(undefined)} onMoved={onMoved} />
      )}
    </>
  );
}
