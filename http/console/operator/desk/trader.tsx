/** One trader: state, identity, money, and the records of one wallet. */

import { useState } from "preact/hooks";
import type { PageProps } from "../../app/pages.js";
import { Link, useQuery } from "../../app/router.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { Choice } from "../../parts/field.js";
import { Loaded } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";
import { Tabs } from "../../parts/tabs.js";
import { Money, Time } from "../../parts/values.js";
import { Frame } from "../frame.js";
import { AuditRecords } from "../safety/audit-records.js";
import { Actions } from "./actions.js";
import { CheckIns, Fills, Keys, Orders, Transactions, type Wallet } from "./records.js";
import type { TraderAnswer } from "./answers.js";
import { kycWord, stateWord } from "./words.js";

const TABS = [
  ["orders", "Orders"],
  ["fills", "Fills"],
  ["transactions", "Transactions"],
  ["keys", "Keys"],
  ["check-ins", "Check-ins"],
  ["history", "What operators did"],
] as const;

export default function TraderPage({ traderId = "" }: PageProps) {
  const trader = useResource(
    (signal) => call<TraderAnswer>("GET", `/admin/v1/traders/${traderId}`, { signal }),
    [traderId],
  );
  const [changes, setChanges] = useState(0);
  const [done, setDone] = useState<string>();
  const changed = (text: string): void => {
    setDone(text);
    setChanges((count) => count + 1);
    trader.reload();
  };
  return (
    <Frame title={trader.value?.email ?? "Trader"}>
      <p>
        <Link to="/operator/desk">Desk</Link>
      </p>
      {done !== undefined && <Note kind="done">{done}</Note>}
      <Loaded of={trader} what="the account">
        {(value) => (
          <>
            <Facts trader={value} />
            {value.role === "trader" && <Actions trader={value} onDone={changed} />}
            <Wallets trader={value} />
            <Records trader={value} changes={changes} />
          </>
        )}
      </Loaded>
    </Frame>
  );
}

function Facts({ trader }: { readonly trader: TraderAnswer }) {
  const { traderId, stateReason, kyc, createdTs } = trader;
  return (
    <dl class="operator-facts">
      <dt>State</dt>
      <dd>
        {stateWord(trader)}
        {stateReason !== null && `: ${stateReason}`}
      </dd>
      <dt>Identity</dt>
      <dd>{kycWord(kyc)}</dd>
      <dt>Registered</dt>
      <dd>
        <Time ms={createdTs} />
      </dd>
      <dt>Id</dt>
      <dd class="operator-id">{traderId}</dd>
    </dl>
  );
}

function Wallets({ trader: { cash, subaccounts } }: { readonly trader: TraderAnswer }) {
  return (
    <section class="table" aria-label="Wallets" tabIndex={0}>
      <h2>Money</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Wallet</th>
            <th scope="col" class="numeric">
              Dollars
            </th>
            <th scope="col" class="wide">
              Collateral
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <td>own wallet</td>
            <td class="numeric">
              <Money value={cash.CASH} />
            </td>
            <td class="wide" />
          </tr>
          {subaccounts.map(({ keyId, label, balance, collateral }) => (
            <tr key={keyId}>
              <td>{label}</td>
              <td class="numeric">
                <Money value={balance} />
              </td>
              <td class="wide">{collateral === "net" ? "net of both sides" : "each order holds its own"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Records({ trader, changes }: { readonly trader: TraderAnswer; readonly changes: number }) {
  const { traderId, subaccounts } = trader;
  const [chosen, setChosen] = useQuery("wallet");
  // Traders trade in subaccounts, so the first one is shown first.
  const first = subaccounts[0]?.keyId ?? "own";
  const name = chosen === "own" || subaccounts.some(({ keyId }) => keyId === chosen) ? chosen : first;
  const wallet: Wallet = {
    traderId,
    ...(name === "own" ? {} : { subaccount: name }),
    version: changes,
  };
  const choices = [
    ["own", "own wallet"] as const,
    ...subaccounts.map(({ keyId, label }) => [keyId, label] as const),
  ];
  const ofWallet = <Choice label="Wallet" value={name} choices={choices} onChange={setChosen} />;
  return (
    <section>
      <h2>Records</h2>
      <Tabs name="show" label="Records" tabs={TABS}>
        {(tab) => {
          switch (tab) {
            case "orders":
              return (
                <>
                  {ofWallet}
                  <Orders {...wallet} />
                </>
              );
            case "fills":
              return (
                <>
                  {ofWallet}
                  <Fills {...wallet} />
                </>
              );
            case "transactions":
              return (
                <>
                  {ofWallet}
                  <Transactions {...wallet} />
                </>
              );
            case "keys":
              return <Keys {...wallet} />;
            case "check-ins":
              return <CheckIns {...wallet} />;
            case "history":
              return <AuditRecords query={{ subject: traderId }} version={changes} />;
            default:
              return tab satisfies never;
          }
        }}
      </Tabs>
    </section>
  );
}
