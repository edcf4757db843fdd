/** Positions of a subaccount, valued at the best bid. */

import { cost, contracts, formatMoney, subtract, type Millicents } from "../../../actors/units.js";
import { Link } from "../app/router.js";
import { call } from "../data/api.js";
import { moneyOf } from "../data/money.js";
import { ticksOf } from "../data/prices.js";
import { useResource } from "../data/resource.js";
import { Empty, Loaded } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Average, Money, Price, Quantity } from "../parts/values.js";
import { keyOf, readBids, type Bids, type PositionAnswer } from "./bids.js";
import { outcomeName } from "./catalog.js";
import { useNames } from "./list-view.js";
import { MarketLink } from "./market-link.js";

const REFRESH_MS = 10_000;

interface Row extends PositionAnswer {
  /** Null for an outcome without a bid; undefined while the bid is not known. */
  readonly bid: string | null | undefined;
  readonly value: Millicents | undefined;
}

function rowOf(position: PositionAnswer, bids: Bids | undefined): Row {
  const bid = bids?.prices.get(keyOf(position));
  return {
    ...position,
    bid,
    value: typeof bid !== "string" ? undefined : cost(ticksOf(bid), contracts(position.qty)),
  };
}

export function Positions({ subaccount }: { readonly subaccount: string }) {
  const positions = useResource(
    (signal) =>
      call<readonly PositionAnswer[]>("GET", "/v3/portfolio/positions", { query: { subaccount }, signal }),
    [subaccount],
    { everyMs: REFRESH_MS },
  );
  const known = positions.value ?? [];
  const bids = useResource((signal) => readBids(known, signal), [known.map(keyOf).sort().join()], {
    everyMs: REFRESH_MS,
  });
  const unknown = bids.value === undefined ? "" : "unknown";
  const names = useNames(positions.value);
  return (
    <Loaded
      of={positions}
      what="your positions"
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
            keyOf={keyOf}
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
                cell: ({ qty, cost: spent }) => <Average qty={qty} cost={moneyOf(spent)} />,
              },
              {
                title: "Cost",
                numeric: true,
                wide: true,
                cell: (row) => <Money value={row.cost} coin={row.currency === "COIN"} />,
              },
              {
                title: "Best bid",
                numeric: true,
                wide: true,
                cell: ({ bid }) => <Price value={bid ?? undefined} />,
              },
              {
                title: "Value",
                numeric: true,
                cell: ({ bid, value, currency }) =>
                  value === undefined ? (
                    bid === null ? (
                      "no bid"
                    ) : (
                      unknown
                    )
                  ) : (
                    <Money value={formatMoney(value)} coin={currency === "COIN"} />
                  ),
              },
              {
                title: "Profit",
                numeric: true,
                cell: ({ value, cost: spent, currency }) =>
                  value === undefined ? (
                    ""
                  ) : (
                    <Money value={formatMoney(subtract(value, moneyOf(spent)))} coin={currency === "COIN"} />
                  ),
              },
            ]}
          />
          <Notice refusal={bids.value?.refusal} />
          <p class="quiet">
            The value is that of all contracts at the best bid, before fees. A large position may sell for
            less.
          </p>
        </>
      )}
    </Loaded>
  );
}
