/** Records of one trader, each newest first. */

import { Link } from "../../app/router.js";
import { showQuantity } from "../../data/money.js";
import { showPrice } from "../../data/prices.js";
import type { Column } from "../../parts/table.js";
import { Money, Time } from "../../parts/values.js";
import { Paged } from "../paged.js";
import type { CheckInAnswer, FillAnswer, KeyAnswer, OrderAnswer, TransactionAnswer } from "./answers.js";

/** Wallet whose records are shown: that of the subaccount, or else the trader's own. */
export interface Wallet {
  readonly traderId: string;
  readonly subaccount?: string;
  /** A change of this value reads the records anew. */
  readonly version: number;
}

const path = ({ traderId }: Wallet, list: string): string => `/admin/v1/traders/${traderId}/${list}`;
const query = ({ subaccount }: Wallet) => ({ subaccount });

export function Orders(wallet: Wallet) {
  const columns: readonly Column<OrderAnswer>[] = [
    {
      title: "Accepted",
      cell: ({ createdTs, orderId }) => (
        <Link to={`/operator/desk/${wallet.traderId}/${orderId}`}>
          <Time ms={createdTs} />
        </Link>
      ),
    },
    { title: "Price", numeric: true, cell: ({ price }) => showPrice(price) },
    { title: "Contracts", numeric: true, cell: ({ qty }) => showQuantity(qty) },
    { title: "Left", numeric: true, cell: ({ remaining }) => showQuantity(remaining), wide: true },
    { title: "In force", cell: ({ tif }) => tif, wide: true },
    {
      title: "Status",
      cell: ({ status, reason }) => (reason === undefined ? status : `${status} (${reason})`),
    },
    { title: "Market", cell: ({ marketId }) => <MarketLink marketId={marketId} />, wide: true },
  ];
  return (
    <Paged
      path={path(wallet, "orders")}
      query={query(wallet)}
      version={wallet.version}
      label="Orders"
      columns={columns}
      keyOf={({ orderId }: OrderAnswer) => orderId}
      empty="This wallet has placed no order"
    />
  );
}

function MarketLink({ marketId }: { readonly marketId: string }) {
  return (
    <Link to={`/markets/${marketId}`} class="operator-id">
      {marketId.slice(0, 8)}
    </Link>
  );
}

/** Columns of fills. */
export const FILL_COLUMNS: readonly Column<FillAnswer>[] = [
  { title: "At", cell: ({ ts }) => <Time ms={ts} /> },
  { title: "Contracts", numeric: true, cell: ({ qty }) => showQuantity(qty) },
  { title: "Cost", numeric: true, cell: ({ cost }) => <Money value={cost} /> },
  {
    title: "Fee",
    numeric: true,
    cell: ({ fee }) => (fee === undefined ? "" : <Money value={fee} />),
  },
  {
    title: "As",
    cell: ({ taker, wash }) => (wash === true ? "wash" : taker ? "taker" : "maker"),
  },
  { title: "Market", cell: ({ marketId }) => <MarketLink marketId={marketId} />, wide: true },
];

export function Fills(wallet: Wallet) {
  return (
    <Paged
      path={path(wallet, "fills")}
      query={query(wallet)}
      version={wallet.version}
      label="Fills"
      columns={FILL_COLUMNS}
      keyOf={({ fillId }: FillAnswer) => fillId}
      empty="No order of this wallet has been filled"
    />
  );
}

const TRANSACTION_COLUMNS: readonly Column<TransactionAnswer>[] = [
  { title: "At", cell: ({ ts }) => <Time ms={ts} /> },
  { title: "Kind", cell: ({ kind }) => kind.toLowerCase().replaceAll("_", " ") },
  {
    title: "Amount",
    numeric: true,
    cell: ({ amount, currency }) => <Money value={amount} coin={currency === "COIN"} />,
  },
  { title: "For", cell: ({ ref }) => ref, wide: true },
];

export function Transactions(wallet: Wallet) {
  return (
    <Paged
      path={path(wallet, "transactions")}
      query={query(wallet)}
      version={wallet.version}
      label="Transactions"
      columns={TRANSACTION_COLUMNS}
      keyOf={({ transactionId, kind }: TransactionAnswer) => `${transactionId} ${kind}`}
      empty="No money has moved in this wallet"
    />
  );
}

const KEY_COLUMNS: readonly Column<KeyAnswer>[] = [
  { title: "Name", cell: ({ name }) => name },
  { title: "Scope", cell: ({ scope }) => scope },
  { title: "Subaccount", cell: ({ restriction }) => restriction ?? "" },
  { title: "State", cell: (key) => keyState(key) },
  { title: "Created", cell: ({ createdAt }) => <Time ms={createdAt} />, wide: true },
  {
    title: "Last used",
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : <Time ms={lastUsedAt} />),
    wide: true,
  },
  { title: "Id", cell: ({ keyId }) => <span class="operator-id">{keyId}</span>, wide: true },
];

function keyState({ revokedAt, expiresAt }: KeyAnswer) {
  if (revokedAt !== null)
    return (
      <>
        revoked <Time ms={revokedAt} />
      </>
    );
  if (expiresAt === null) return "good";
  return (
    <>
      {expiresAt > Date.now() ? "expires" : "expired"} <Time ms={expiresAt} />
    </>
  );
}

export function Keys(wallet: Wallet) {
  return (
    <Paged
      path={path(wallet, "keys")}
      version={wallet.version}
      label="Keys"
      columns={KEY_COLUMNS}
      keyOf={({ keyId }: KeyAnswer) => keyId}
      empty="The trader has no key"
    />
  );
}

const CHECK_IN_COLUMNS: readonly Column<CheckInAnswer>[] = [
  { title: "At", cell: ({ ts }) => <Time ms={ts} /> },
  {
    title: "Region",
    cell: ({ region, failed }) => (failed ? "could not locate itself" : (region ?? "none")),
  },
  {
    title: "Coordinates",
    cell: ({ latitude, longitude, accuracy }) =>
      latitude === null || longitude === null
        ? ""
        : `${latitude}, ${longitude}${accuracy === null ? "" : ` ± ${accuracy} m`}`,
    wide: true,
  },
];

export function CheckIns(wallet: Wallet) {
  return (
    <Paged
      path={path(wallet, "check-ins")}
      version={wallet.version}
      label="Check-ins"
      columns={CHECK_IN_COLUMNS}
      keyOf={({ ts }: CheckInAnswer) => String(ts)}
      empty="No device has checked in within 90 days"
    />
  );
}
