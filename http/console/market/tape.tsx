/** The last trades of a market. */

import type { ReadonlySignal } from "@preact/signals";
import { showQuantity } from "../data/money.js";
import { showPrice } from "../data/prices.js";
import { showSeconds } from "../data/time.js";
import type { Trade } from "./feeds/feed.js";

const SHOWN = 24;

interface TapeProps {
  readonly trades: ReadonlySignal<readonly Trade[]>;
  readonly names: ReadonlyMap<string, string>;
  /** Outcomes in market order, for their colors. */
  readonly outcomes: readonly string[];
}

export function Tape({ trades, names, outcomes }: TapeProps) {
  const shown = trades.value.slice(0, SHOWN);
  return (
    <section class="tape" aria-labelledby="tape-title">
      <h2 id="tape-title">Trades</h2>
      {shown.length === 0 ? (
        <p class="quiet">
          No trades yet. A trade happens when the bids of all outcomes add up to a full payout.
        </p>
      ) : (
        <table class="tape-table">
          <thead class="hidden">
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Outcome</th>
              <th scope="col">Price</th>
              <th scope="col">Contracts</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ tradeId, outcomeId, price, qty, ts }) => (
              <tr key={tradeId}>
                <td class="number quiet">{showSeconds(ts)}</td>
                <td class={`tape-outcome outcome-${outcomes.indexOf(outcomeId)}`}>{names.get(outcomeId)}</td>
                <td class="number tape-price">{showPrice(price)}</td>
                <td class="number tape-qty">{showQuantity(qty)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
