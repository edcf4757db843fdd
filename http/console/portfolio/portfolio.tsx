/** Portfolio of a trader: balances, positions, orders, fills, transactions, transfers and self-exclusion. */

import { Link, useQuery } from "../app/router.js";
import { useResource } from "../data/resource.js";
import { showFull } from "../data/time.js";
import { Faucet } from "../demo/faucet.js";
import { Empty, Loaded, Skeleton } from "../parts/loaded.js";
import { Note } from "../parts/notice.js";
import { PriceSwitch } from "../parts/price-switch.js";
import { Tabs } from "../parts/tabs.js";
import { WEB } from "../trading/web-key.js";
import { Balances } from "./balances.js";
import { Orders } from "./orders.js";
import { Positions } from "./positions.js";
import { SelfExclusion } from "./self-exclusion.js";
import { Fills, Transactions } from "./tables.js";
import { readWallets, type AccountAnswer, type Wallet } from "./wallets.js";
import "./portfolio.css";

const REFRESH_MS = 15_000;
const TABS = [
  ["positions", "Positions"],
  ["orders", "Orders"],
  ["fills", "Fills"],
  ["transactions", "Transactions"],
  ["break", "Take a break"],
] as const;

export default function PortfolioPage() {
  const wallets = useResource(readWallets, [], { everyMs: REFRESH_MS });
  const [named, setNamed] = useQuery("subaccount");
  return (
    <>
      <div class="portfolio-head">
        <h1>Portfolio</h1>
        <PriceSwitch />
      </div>
      <Loaded of={wallets} what="your wallets" waiting={<Skeleton rows={8} isPage />}>
        {(all) => {
          const { account, subaccounts } = all;
          const chosen =
            subaccounts.find(({ keyId }) => keyId === named) ??
            subaccounts.find(({ label }) => label === WEB) ??
            subaccounts[0];
          return (
            <>
              <AccountState account={account} />
              <Balances wallets={all} chosen={chosen?.keyId} onChoose={setNamed} onMoved={wallets.reload} />
              <div class="portfolio-faucet">
                <Faucet key={chosen?.keyId} subaccount={chosen} onDone={wallets.reload} />
              </div>
              <Records account={account} subaccount={chosen} onChange={wallets.reload} />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

/** Says why the account may not trade, when it may not. */
function AccountState({ account }: { readonly account: AccountAnswer }) {
  const { state, stateReason, selfExcludedUntil } = account;
  if (state === "ACTIVE") return null;
  const until =
    state === "SELF_EXCLUDED" && selfExcludedUntil !== null ? ` until ${showFull(selfExcludedUntil)}` : "";
  return (
    <Note kind="warning">
      <p>
        This account is {state.toLowerCase().replace("_", "-")}
        {until}
        {stateReason === null ? "." : `: ${stateReason}.`} You can read everything and cancel orders.
      </p>
    </Note>
  );
}

interface RecordsProps {
  readonly account: AccountAnswer;
  readonly subaccount: Wallet | undefined;
  /** Called when the orders, the money or the account have changed. */
  readonly onChange: () => void;
}

function Records({ account, subaccount, onChange }: RecordsProps) {
  if (subaccount === undefined) {
    return (
      <>
        <Empty title="No subaccount yet">
          <p>
            Orders are placed in subaccounts. The page opens one called {WEB} at your first order:{" "}
            <Link to="/">choose a market</Link>. For programs, open one under <Link to="/keys">Keys</Link>.
            What is left to do before you can trade stands under <Link to="/account">Account</Link>.
          </p>
        </Empty>
        <SelfExclusion account={account} onExcluded={onChange} />
      </>
    );
  }
  const { keyId, label } = subaccount;
  return (
    <Tabs name="show" label={`Records of ${label}`} tabs={TABS}>
      {(tab) => {
        switch (tab) {
          case "positions":
            return <Positions subaccount={keyId} />;
          case "orders":
            return <Orders subaccount={keyId} label={label} onCanceled={onChange} />;
          case "fills":
            return <Fills subaccount={keyId} label={label} />;
          case "transactions":
            return <Transactions subaccount={keyId} label={label} />;
          case "break":
            return <SelfExclusion account={account} onExcluded={onChange} />;
          default:
            return tab satisfies never;
        }
      }}
    </Tabs>
  );
}
