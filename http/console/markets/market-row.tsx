/** A row of the timetable: a market with the best price to buy each outcome, its volume, and the last hour. */

import { useEffect, useRef } from "preact/hooks";
import { Link } from "../app/router.js";
import { priceOf, ticksOf } from "../data/prices.js";
import { marketName, resultWords } from "../market/words.js";
import { Money, Price } from "../parts/values.js";
import type { MarketAnswer } from "./catalog.js";
import { buyTicks, type PriceWatch } from "./prices.js";
import { Spark } from "./spark.js";

/** Outcomes that a row shows; of more, the dearest ones. */
const SHOWN = 3;

interface MarketRowProps {
  readonly market: MarketAnswer;
  readonly eventName: string;
  readonly prices: PriceWatch;
}

export function MarketRow({ market, eventName, prices }: MarketRowProps) {
  const { marketId, outcomes, status } = market;
  const state = market.paused === true ? "paused" : status.toLowerCase();
  const name = marketName(market, eventName);
  const row = useRef<HTMLLIElement>(null);
  useEffect(
    () => (row.current === null ? undefined : prices.watch(row.current, marketId)),
    [marketId, prices],
  );
  const now = prices.of(marketId).value;
  const priced = outcomes.map((outcome) => ({
    ...outcome,
    ticks: now && buyTicks(now, outcome.outcomeId),
    last: now?.last[outcome.outcomeId],
  }));
  const chance = ({ ticks, last }: (typeof priced)[number]): number =>
    last === undefined ? (ticks ?? 0) : ticksOf(last);
  const shown =
    priced.length > SHOWN ? priced.toSorted((a, b) => chance(b) - chance(a)).slice(0, SHOWN) : priced;
  return (
    <li ref={row} class="market-row">
      <div class="market-row-name">
        <Link to={`/markets/${marketId}`} class="market-row-link" label={`${eventName}: ${name}`}>
          {name}
        </Link>
        {state !== "open" && <span class="market-row-status"> {state}</span>}
      </div>
      <div class={`market-row-prices${outcomes.length === 2 ? " market-row-pair" : ""}`}>
        {shown.map(({ outcomeId, name, ticks, status: result }) => (
          <span key={outcomeId} class="market-row-outcome">
            <span
              class={`market-row-side${outcomes.length === 2 ? ` side-${outcomes.findIndex((one) => one.outcomeId === outcomeId)}` : ""}`}
            >
              {name}
            </span>
            {resultWords(result) ?? <Price value={ticks === undefined ? undefined : priceOf(ticks)} />}
          </span>
        ))}
        {priced.length > SHOWN && <span class="quiet">and {priced.length - SHOWN} more</span>}
      </div>
      <div class="market-row-volume">
        <span class="hidden">Volume</span>
        {now === undefined ? "" : <Money value={now.volume} />}
      </div>
      <div class="market-row-hour">
        {now !== undefined && <Spark prices={now.hour} name={outcomes[0]?.name ?? ""} />}
      </div>
    </li>
  );
}
