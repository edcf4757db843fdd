/** Positions of a subaccount, valued at the best bid. */

import type { z } from "zod";
import { cost, contracts, formatMoney, subtract, type Millicents } from "../../../actors/units.js";
import type { Prices } from "../../surface-a/schemas/catalog.js";
import type { Position } from "../../surface-a/schemas/orders.js";
import { Link } from "../app/router.js";
import { call } from "../data/api.js";
import { moneyOf } from "../data/money.js";
import { useResource } from "../data/resource.js";
import { Empty, Loaded } from "../parts/loaded.js";
import { Table } from "../parts/table.js";
import { Money, Price, Quantity } from "../parts/values.js";
import { averagePrice, ticksOf } from "../ticket/sums.js";
import { outcomeName } from "./catalog.js";
import { useNames } from "./list-view.js";
import { MarketLink } from "./market-link.js";

type PositionAnswer = z.infer<typeof Position>;

const REFRESH_MS = 10_000;

/** Markets of one request for prices. */
const MARKETS_AT_ONCE = 100;

/** Returns the best bids of the outcomes of the markets. The service has those of the CASH books. */
async function readBids(
  marketIds: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const bids = new Map<string, string>();
  for (let first = 0; first < marketIds.length; first += MARKETS_AT_ONCE) {
    const query = { markets: marketIds.slice(first, first + MARKETS_AT_ONCE).join() };
    const { items } = await call<z.infer<typeof Prices>>("GET", "/v3/public/catalog/prices", {
      query,
      signal,
    });
    for (const market of items) {
      for (const [outcomeId, best] of Object.entries(market.bids)) {
        if (best !== null) bids.set(outcomeId, best.price);
      }
    }
  }
  return bids;
}

interface Row extends PositionAnswer {
  readonly bid: string | undefined;
  readonly value: Millicents | undefined;
}

function rowOf(position: PositionAnswer, bids: ReadonlyMap<string, string> | undefined): Row {
  const bid = position.currency === undefined ? bids?.get(position.outcomeId) : undefined;
  return {
    ...position,
    bid,
    value: bid === undefined ? undefined : cost(ticksOf(bid), contracts(position.qty)),
  };
}

export function Positions({ subaccount }: { readonly subaccount: string }) {
  const positions = useResource(
    (signal) =>
      call<readonly PositionAnswer[]>("GET", "/v3/portfolio/positions", { query: { subaccount }, signal }),
    [subaccount],
    { everyMs: REFRESH_MS },
  );
  const marketIds = [...new Set(positions.value?.map(({ marketId }) => marketId))].sort();
  const bids = useResource((signal) => readBids(marketIds, signal), [marketIds.join()], {
    everyMs: REFRESH_MS,
  });
  const names = useNames(positions.value);
  return (
    <Loaded
      of={positions}
      empty={
        <Empty title="No positions">
          <p>
            Contracts that this subaccount holds are listed here. <Link to="/">Choose a market</Link> to buy
            some.
          </p>
        </Empty>
      }
    >
      {(held) => (
        <>
          <Table
            label="Positions"
            rows={held.map((position) => rowOf(position, bids.value))}
            keyOf={(row) => `${row.outcomeId} ${row.currency ?? ""}`}
            columns={[
              {
                title: "Market",
                cell: (row) => (
                  <MarketLink names={names} marketId={row.marketId}>
                    {outcomeName(names, row)}
                  </MarketLink>
                ),
              },
              { title: "Outcome", wide: true, cell: (row) => outcomeName(names, row) },
              { title: "Contracts", numeric: true, cell: ({ qty }) => <Quantity value={qty} /> },
              {
                title: "Average price",
                numeric: true,
                wide: true,
                cell: ({ qty, cost: spent }) => averagePrice({ qty: contracts(qty), cost: moneyOf(spent) }),
              },
              {
                title: "Cost",
                numeric: true,
                wide: true,
                cell: (row) => <Money value={row.cost} coin={row.currency === "COIN"} />,
              },
              { title: "Best bid", numeric: true, wide: true, cell: ({ bid }) => <Price value={bid} /> },
              {
                title: "Value",
                numeric: true,
                cell: ({ value, currency }) =>
                  value === undefined ? (
                    currency === undefined ? (
                      "no bid"
                    ) : (
                      ""
                    )
                  ) : (
                    <Money value={formatMoney(value)} />
                  ),
              },
              {
                title: "Profit",
                numeric: true,
                cell: ({ value, cost: spent }) =>
                  value === undefined ? "" : <Money value={formatMoney(subtract(value, moneyOf(spent)))} />,
              },
            ]}
          />
          <p class="quiet">
            The value is that of all contracts at the best bid, before fees. A large position may sell for
            less.
          </p>
        </>
      )}
    </Loaded>
  );
}
