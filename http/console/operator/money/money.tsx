/** Money report: what came in is what is held, to the last $0.00001, computed twice (contract section 8.17). */

import type { z } from "zod";
import type { MoneyReport } from "../../../admin/schemas/money.js";
import { Link } from "../../app/router.js";
import { call } from "../../data/api.js";
import { useResource } from "../../data/resource.js";
import { showSeconds } from "../../data/time.js";
import { Button } from "../../parts/button.js";
import { Loaded } from "../../parts/loaded.js";
import { Note } from "../../parts/notice.js";
import { Money } from "../../parts/values.js";
import { Frame } from "../frame.js";
import "./money.css";

type Report = z.infer<typeof MoneyReport>;
type Term = keyof Report["actors"]["CASH"];

/** Terms of the equation: what came in, and where it is now. */
const CAME: readonly (readonly [Term, string])[] = [
  ["deposits", "Deposits, with credits and forwardings"],
  ["withdrawals", "less withdrawals"],
  ["adjustments", "and adjustments of operators"],
];
const HELD: readonly (readonly [Term, string])[] = [
  ["wallets", "Available in wallets"],
  ["reserved", "held back by open orders"],
  ["escrow", "held by markets"],
  ["house", "fees less maker credits"],
  ["inFlight", "sent by markets and not yet received"],
];
const ZERO = "0.00000";

export default function MoneyPage() {
  const report = useResource((signal) => call<Report>("GET", "/admin/v1/money", { signal }), []);
  return (
    <Frame
      title="Money"
      actions={
        <Button busy={report.loading} onClick={report.reload}>
          Compute again
        </Button>
      }
    >
      <Loaded of={report} what="the report of the money">
        {(value) => (
          <>
            <Note kind={value.agree ? "done" : "warning"}>
              {value.agree
                ? "All money is accounted for: the actors and Postgres agree, without a difference."
                : "The actors and Postgres do not agree, or there is a difference. Compute again; if it stays, stop trading and find out why."}
              {report.asOf !== undefined && ` Computed at ${showSeconds(report.asOf)}.`}
            </Note>
            <Equation report={value} currency="CASH" />
            {value.actors.COIN.deposits !== ZERO && <Equation report={value} currency="COIN" />}
          </>
        )}
      </Loaded>
      <p>
        <Link to="/operator/money/wallets">All wallets</Link>, or those of one trader at the{" "}
        <Link to="/operator/desk">desk</Link>.
      </p>
    </Frame>
  );
}

function Equation({ report, currency }: { readonly report: Report; readonly currency: "CASH" | "COIN" }) {
  const { actors, postgres } = report;
  const coin = currency === "COIN";
  const row = (term: Term, text: string) => (
    <tr key={term} class={actors[currency][term] === postgres[currency][term] ? undefined : "money-differs"}>
      <th scope="row">{text}</th>
      <td class="numeric">
        <Money value={actors[currency][term]} coin={coin} />
      </td>
      <td class="numeric">
        <Money value={postgres[currency][term]} coin={coin} />
      </td>
    </tr>
  );
  return (
    <section class="table money" aria-label={coin ? "Coins" : "Dollars"} tabIndex={0}>
      <h2>{coin ? "Coins" : "Dollars"}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Term</th>
            <th scope="col" class="numeric">
              Live actors
            </th>
            <th scope="col" class="numeric">
              Postgres
            </th>
          </tr>
        </thead>
        <tbody>{CAME.map(([term, text]) => row(term, text))}</tbody>
        <tbody>{HELD.map(([term, text]) => row(term, text))}</tbody>
        <tbody>{row("difference", "Difference")}</tbody>
      </table>
    </section>
  );
}
