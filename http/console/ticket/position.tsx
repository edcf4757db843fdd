/** Position in a market, and its profit at each result. */

import { contracts, formatMoney } from "../../../actors/units.js";
import { moneyOf } from "../data/money.js";
import { Average, Money, Quantity } from "../parts/values.js";
import type { MarketAnswer, PositionAnswer } from "./live.js";
import type { Stage } from "./ticket.js";
import { profits, type Held } from "./sums.js";

interface PositionProps {
  readonly market: MarketAnswer;
  readonly positions: readonly PositionAnswer[];
  /** Stage of the ticket: a previewed order shows what it would change. */
  readonly stage: Stage;
}

const VOIDS = {
  PUSH: "If the market is void, what is held is refunded at its cost.",
  FMV: "If the market is void, each outcome is paid at a fair price.",
} as const;

/** Returns holdings of the wire with their numbers read. COIN is not traded here. */
function heldOf(positions: readonly PositionAnswer[]): readonly Held[] {
  return positions
    .filter(({ currency }) => currency === undefined)
    .map(({ outcomeId, qty, cost }) => ({ outcomeId, qty: contracts(qty), cost: moneyOf(cost) }));
}

/** Returns what a previewed order adds to the holdings. The cost of a holding has no fees, and neither has this one. */
function addedBy(stage: Stage): readonly Held[] {
  if (stage.kind !== "previewed" && stage.kind !== "placing") return [];
  const { order, preview } = stage;
  const qty = contracts(preview.filled + preview.rests);
  return [{ outcomeId: order.outcomeId, qty, cost: preview.bill.pays }];
}

export function PositionPanel({ market, positions, stage }: PositionProps) {
  const held = heldOf(positions);
  if (held.length === 0) {
    return (
      <section class="ticket-position" aria-labelledby="ticket-position-title">
        <h2 id="ticket-position-title">Your position</h2>
        <p class="ticket-quiet">You hold nothing here.</p>
      </section>
    );
  }
  const outcomeIds = market.outcomes.map(({ outcomeId }) => outcomeId);
  const results = profits(outcomeIds, held);
  const added = addedBy(stage);
  const resultsThen = added.length === 0 ? undefined : profits(outcomeIds, [...held, ...added]);
  return (
    <section class="ticket-position" aria-labelledby="ticket-position-title">
      <h2 id="ticket-position-title">Your position</h2>
      <div class="table" role="region" aria-label="Your position" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Result</th>
              <th scope="col" class="numeric">
                Held
              </th>
              <th scope="col" class="numeric">
                Average
              </th>
              <th scope="col" class="numeric">
                Profit then
              </th>
              {resultsThen !== undefined && (
                <th scope="col" class="numeric">
                  With this order
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {market.outcomes.map(({ outcomeId, name }, index) => {
              const holding = held.find((one) => one.outcomeId === outcomeId);
              const profit = results[index];
              const profitThen = resultsThen?.[index];
              return (
                <tr key={outcomeId}>
                  <td>{name}</td>
                  <td class="numeric">{holding === undefined ? "" : <Quantity value={holding.qty} />}</td>
                  <td class="numeric">{holding !== undefined && <Average {...holding} />}</td>
                  <td class="numeric">{profit !== undefined && <Money value={formatMoney(profit)} />}</td>
                  {profitThen !== undefined && (
                    <td class="numeric">
                      <Money value={formatMoney(profitThen)} />
                    </td>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p class="ticket-quiet">
        {VOIDS[market.voids]} Profits are before fees. Fees paid and closed contracts are in the balance
        already.
      </p>
    </section>
  );
}
