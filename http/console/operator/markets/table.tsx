/** Markets of an event as a table: choose some, and act on all of them at once. */

import { useState } from "preact/hooks";
import { Link } from "../../app/router.js";
import { call } from "../../data/api.js";
import { useAction } from "../../data/action.js";
import { showQuantity } from "../../data/money.js";
import { Button } from "../../parts/button.js";
import { Notice } from "../../parts/notice.js";
import { Empty } from "../../parts/loaded.js";
import { Table } from "../../parts/table.js";
import { Money } from "../../parts/values.js";
import type { MarketAnswer, MarketExposure } from "../answers.js";
import { Consequence } from "../consequence.js";
import { canceledOrders } from "../events/actions.js";
import { MarketState } from "../events/status.js";
import { whyNot } from "../permission.js";
import { plural } from "../words.js";
import { forEach, MARKET_ACTIONS, type Batch, type OperatorAction } from "./actions.js";
import { BatchReport } from "./batch-report.js";
import { CorrectMarket } from "./correct.js";
import "./markets.css";

interface MarketsTableProps {
  readonly markets: readonly MarketAnswer[];
  readonly exposures: readonly MarketExposure[];
  /** Reads markets and exposures again. */
  readonly reload: () => void;
}

/** Order of the buttons: the one that is pressed in a hurry comes first. */
const ACTIONS = ["pause", "resume", "close", "open"] as const satisfies readonly OperatorAction[];

export function MarketsTable({ markets, exposures, reload }: MarketsTableProps) {
  const [chosenIds, setChosenIds] = useState<ReadonlySet<string>>(new Set());
  const [report, setReport] = useState<{ readonly batch: Batch; readonly done: string }>();
  const [asksToClose, setAsksToClose] = useState(false);
  const [corrected, setCorrected] = useState<MarketAnswer>();
  const chosen = markets.filter(({ marketId }) => chosenIds.has(marketId));
  const exposureOf = (marketId: string): MarketExposure | undefined =>
    exposures.find((one) => one.marketId === marketId);

  const choose = (ids: readonly string[], on: boolean): void => {
    const next = new Set(chosenIds);
    for (const id of ids)
      if (on) next.add(id);
      else next.delete(id);
    setChosenIds(next);
  };
  const take = async (name: OperatorAction, reason?: string): Promise<void> => {
    const { takes, done } = MARKET_ACTIONS[name];
    setReport(undefined);
    const batch = await forEach(
      chosen.filter(takes),
      ({ description }) => description,
      ({ marketId }) =>
        call("POST", `/admin/v1/markets/${marketId}/status`, { body: { action: name, reason } }),
    );
    setReport({ batch, done });
    reload();
  };
  const act = useAction((name: OperatorAction) => take(name));

  /** Why an action cannot be taken on the chosen markets. */
  const reasonOf = (name: OperatorAction): string | undefined => {
    const { takes, needs } = MARKET_ACTIONS[name];
    const denied = whyNot("markets");
    if (denied !== undefined) return denied;
    if (chosen.length === 0) return "Choose markets in the table first.";
    return chosen.some(takes) ? undefined : `Choose ${needs}.`;
  };
  const closing = chosen.filter(MARKET_ACTIONS.close.takes);

  if (markets.length === 0)
    return (
      <Empty title="The event has no markets">
        <p>Add the winner, spreads and totals below.</p>
      </Empty>
    );
  return (
    <>
      <div class="operator-row" role="toolbar" aria-label="Chosen markets">
        <span class="quiet">
          {chosen.length} of {markets.length} chosen
        </span>
        {ACTIONS.map((name) => (
          <Button
            key={name}
            kind={name === "close" ? "danger" : "plain"}
            busy={act.busy}
            reason={reasonOf(name)}
            onClick={() => (name === "close" ? setAsksToClose(true) : act.run(name))}
          >
            {MARKET_ACTIONS[name].name}
          </Button>
        ))}
      </div>
      <Notice refusal={act.refusal} onDismiss={act.dismiss} />
      <BatchReport batch={report?.batch} done={report?.done ?? ""} />
      <Table
        stacks
        label="Markets"
        rows={markets}
        keyOf={({ marketId }) => marketId}
        columns={[
          {
            title: "Choose",
            cell: ({ marketId, description }) => (
              <input
                type="checkbox"
                aria-label={`Choose ${description}`}
                checked={chosenIds.has(marketId)}
                onChange={(event) => choose([marketId], event.currentTarget.checked)}
              />
            ),
          },
          {
            title: "Market",
            cell: (market) => (
              <>
                {market.description}
                <span class="markets-outcomes">{market.outcomes.map(outcomeWords).join(" · ")}</span>
              </>
            ),
          },
          { title: "Type", cell: ({ marketType }) => marketType, wide: true },
          { title: "State", cell: (market) => <MarketState market={market} /> },
          {
            title: "Open orders",
            numeric: true,
            cell: ({ marketId }) => showQuantity(exposureOf(marketId)?.openOrders ?? 0),
          },
          {
            title: "Open interest",
            numeric: true,
            wide: true,
            cell: ({ marketId }) => <Money value={exposureOf(marketId)?.escrow.CASH ?? "0.00000"} />,
          },
          {
            title: "",
            cell: (market) => (
              <span class="markets-links">
                <Button
                  kind="quiet"
                  label={`Correct ${market.description}`}
                  reason={whyNot("markets")}
                  onClick={() => setCorrected(market)}
                >
                  Correct
                </Button>
                <Link
                  to={`/operator/settlement/${market.marketId}`}
                  label={`${settlementLink(market)} ${market.description}`}
                >
                  {settlementLink(market)}
                </Link>
              </span>
            ),
          },
        ]}
      />
      <div class="operator-row">
        <Button
          kind="quiet"
          onClick={() =>
            choose(
              markets.map(({ marketId }) => marketId),
              true,
            )
          }
        >
          Choose all
        </Button>
        <Button kind="quiet" onClick={() => setChosenIds(new Set())}>
          Choose none
        </Button>
      </div>
      <Consequence
        title={`Close ${plural(closing.length, "market")}`}
        open={asksToClose}
        onClose={() => setAsksToClose(false)}
        confirm={closing.length === 1 ? "Close the market" : "Close the markets"}
        reason="required"
        act={(reason) => take("close", reason)}
      >
        <p>{closing.map(({ description }) => description).join(", ")}.</p>
        <p>{canceledOrders(closing.flatMap(({ marketId }) => exposureOf(marketId) ?? []))}</p>
        <p>They take no orders until an operator opens them again.</p>
      </Consequence>
      <CorrectMarket
        market={corrected}
        onClose={() => setCorrected(undefined)}
        onDone={() => {
          setCorrected(undefined);
          reload();
        }}
      />
    </>
  );
}

function outcomeWords({ name, status }: MarketAnswer["outcomes"][number]): string {
  return status === "TBD" ? name : `${name}: ${status}`;
}

const settlementLink = ({ status }: MarketAnswer): string => (status === "SETTLED" ? "Settlement" : "Grade");
