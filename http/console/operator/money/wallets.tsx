/** All wallets: balances, what orders hold, and owners; the file has the whole list of the filter. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { z } from "zod";
import type { AdminWallet } from "../../../admin/schemas/wallets.js";
import { Link, useQuery } from "../../app/router.js";
import type { Query } from "../../data/api.js";
import type { CsvColumn } from "../../data/csv.js";
import { ExportButton } from "../../parts/export.js";
import { Choice, TextField } from "../../parts/field.js";
import type { Column } from "../../parts/table.js";
import { Money, Time } from "../../parts/values.js";
import { Denied } from "../denied.js";
import { Frame } from "../frame.js";
import { Paged } from "../paged.js";
import { whyNot } from "../permission.js";

type Wallet = z.infer<typeof AdminWallet>;

const PATH = "/admin/v1/wallets";
/** Time in ms without a key press after which the owner is looked for. */
const TYPING_MS = 250;

const CURRENCIES = [
  ["CASH", "dollars"],
  ["COIN", "COIN"],
] as const;
const BALANCES = [
  ["", "all, the largest first"],
  ["1000", "1,000 and more"],
  ["10000", "10,000 and more"],
  ["100000", "100,000 and more"],
  ["negative", "negative, the lowest first"],
] as const;
const OWNERS = [
  ["", "all traders"],
  ["restricted", "traders who may not place orders"],
] as const;

const isCoin = ({ currency }: Wallet): boolean => currency === "COIN";

const COLUMNS: readonly Column<Wallet>[] = [
  { title: "Owner", cell: ({ traderId, email }) => <Link to={`/operator/desk/${traderId}`}>{email}</Link> },
  { title: "Wallet", cell: nameOf },
  {
    title: "Balance",
    numeric: true,
    cell: (wallet) => <Money value={wallet.total} coin={isCoin(wallet)} />,
  },
  {
    title: "In orders",
    numeric: true,
    cell: (wallet) => <Money value={wallet.reserved} coin={isCoin(wallet)} />,
  },
  {
    title: "Available",
    numeric: true,
    wide: true,
    cell: (wallet) => <Money value={wallet.available} coin={isCoin(wallet)} />,
  },
  { title: "Placements", wide: true, cell: placementsOf },
  { title: "Changed", wide: true, cell: ({ updatedTs }) => <Time ms={updatedTs} /> },
];

function nameOf({ walletId, traderId, label, closedTs }: Wallet): string {
  if (walletId === traderId) return "account";
  return closedTs === null ? (label ?? "") : `${label ?? ""} (closed)`;
}

function placementsOf({ restriction }: Wallet): string {
  switch (restriction) {
    case null:
      return "allowed";
    case "ACCOUNT_LOCKED":
      return "refused: locked";
    case "SELF_EXCLUDED":
      return "refused: self-excluded";
    default:
      return restriction satisfies never;
  }
}

const CSV: readonly CsvColumn<Wallet>[] = [
  { heading: "traderId", value: ({ traderId }) => traderId },
  { heading: "email", value: ({ email }) => email },
  { heading: "walletId", value: ({ walletId }) => walletId },
  { heading: "keyId", value: ({ keyId }) => keyId ?? undefined },
  { heading: "wallet", value: nameOf },
  { heading: "currency", value: ({ currency }) => currency },
  { heading: "total", value: ({ total }) => total },
  { heading: "reserved", value: ({ reserved }) => reserved },
  { heading: "available", value: ({ available }) => available },
  { heading: "restriction", value: ({ restriction }) => restriction ?? undefined },
  { heading: "updated", value: ({ updatedTs }) => new Date(updatedTs).toISOString() },
];

/** Returns the choice that an address names, or else the first one. */
function chosen<Value extends string>(
  choices: readonly (readonly [Value, string])[],
  text: string,
): Value | undefined {
  return (choices.find(([value]) => value === text) ?? choices[0])?.[0];
}

export default function WalletsPage() {
  return (
    <Frame title="Wallets">
      <Denied permission="wallets" />
      {whyNot("wallets") === undefined && <List />}
    </Frame>
  );
}

function List() {
  const [owner, setOwner] = useQuery("owner");
  const [currencyText, setCurrency] = useQuery("currency");
  const [balanceText, setBalance] = useQuery("balance");
  const [ownersText, setOwners] = useQuery("owners");
  const currency = chosen(CURRENCIES, currencyText) ?? "CASH";
  const balance = chosen(BALANCES, balanceText) ?? "";
  const owners = chosen(OWNERS, ownersText) ?? "";
  const [typed, setTyped] = useState(owner);
  const wanted = typed.trim();
  /** Owner of the address as the field has set it. */
  const ownOwner = useRef(owner);
  useEffect(() => {
    if (wanted === owner) return;
    const timer = setTimeout(() => {
      ownOwner.current = wanted;
      setOwner(wanted);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  // Another address, as after Back, brings its own owner.
  useEffect(() => {
    if (owner !== ownOwner.current) setTyped(owner);
    ownOwner.current = owner;
  }, [owner]);
  const isNegative = balance === "negative";
  const query: Query = {
    currency,
    owner,
    restricted: owners === "restricted" ? true : undefined,
    atLeast: isNegative ? undefined : balance,
    below: isNegative ? "0" : undefined,
    order: isNegative ? "smallest" : "largest",
  };
  return (
    <>
      <div class="filters" role="search" aria-label="Filter">
        <TextField
          label="Owner"
          type="search"
          value={typed}
          onInput={setTyped}
          hint="Whole e-mail address or id"
        />
        <Choice label="Money" value={currency} choices={CURRENCIES} onChange={setCurrency} />
        <Choice label="Balances" value={balance} choices={BALANCES} onChange={setBalance} />
        <Choice label="Owners" value={owners} choices={OWNERS} onChange={setOwners} />
        <ExportButton<Wallet>
          name="wallets"
          path={PATH}
          query={query}
          columnsFor={() => Promise.resolve(CSV)}
        />
      </div>
      <Paged
        path={PATH}
        query={query}
        label="Wallets"
        columns={COLUMNS}
        keyOf={({ walletId }: Wallet) => walletId}
        empty={
          owner === "" && balance === "" && owners === ""
            ? "No wallet has had money yet"
            : "No wallet is like this; choose other filters"
        }
      />
      <p class="quiet">
        A wallet is listed once it has had money. The list can be behind by the lag that{" "}
        <Link to="/operator">Today</Link> shows; the desk shows a trader's balances as they are now. A wallet
        whose balance changes while the file is made can be in it twice or not at all; its walletId tells.
      </p>
    </>
  );
}
