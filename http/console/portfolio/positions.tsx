/** Positions of a subaccount, valued at the best bid. */

import type { z } from "zod";
import { cost, contracts, formatMoney, subtract, type Millicents } from "../../../actors/units.js";
import type { Book, Prices } from "../../surface-a/schemas/catalog.js";
import type { Position } from "../../surface-a/schemas/orders.js";
import { Link } from "../app/router.js";
import { call } from "../data/api.js";
import { moneyOf } from "../data/money.js";
import { ticksOf } from "../data/prices.js";
import { asRefusal } from "../data/refusal.js";
import { useResource } from "../data/resource.js";
import { Empty, Loaded } from "../parts/loaded.js";
import { Notice } from "../parts/notice.js";
import { Table } from "../parts/table.js";
import { Average, Money, Price, Quantity } from "../parts/values.js";
import { eachOf, outcomeName } from "./catalog.js";
import { useNames } from "./list-view.js";
import { MarketLink } from "./market-link.js";

type PositionAnswer = z.infer<typeof Position>;

const REFRESH_MS = 10_000;

/** Markets of one request for prices. */
const MARKETS_AT_ONCE = 100;

/** Names an outcome in the books of one currency. */
const keyOf = ({ outcomeId, currency }: Pick<PositionAnswer, "outcomeId" | "currency">): string =>
  currency === undefined ? outcomeId : `${outcomeId} ${currency}`;

/** Returns the best bids on the outcomes of the positions, by `keyOf`. */
async function readBids(
  positions: readonly PositionAnswer[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const bids = new Map<string, string>();
  const marketsOf = (held: readonly PositionAnswer[]): readonly string[] => [
    ...new Set(held.map(({ marketId }) => marketId)),
  ];
  const cash = marketsOf(positions.filter(({ currency }) => currency === undefined));
  for (let first = 0; first < cash.length; first += MARKETS_AT_ONCE) {
    const query = { markets: cash.slice(first, first + MARKETS_AT_ONCE).join() };
    const path = "/v3/public/catalog/prices";
    const { items } = await call<z.infer<typeof Prices>>("GET", path, { query, signal });
    for (const market of items) {
      for (const [outcomeId, best] of Object.entries(market.bids)) {
        if (best !== null) bids.set(keyOf({ outcomeId }), best.price);
      }
    }
  }
  // The prices of many markets are those of the books in dollars; a book in COIN is read by itself.
  const coin = marketsOf(positions.filter(({ currency }) => currency === "COIN"));
  await eachOf(coin, async (marketId) => {
    const query = { currency: "COIN", depth: 1 };
    const path = `/v3/public/catalog/markets/${marketId}/book`;
    const { orders } = await call<Pick<z.infer<typeof Book>, "orders">>("GET", path, { query, signal }).catch(
      (error: unknown) => {
        // The market of a hidden event shows no book.
        if (asRefusal(error).status !== 404) throw error;
        return { orders: {} };
      },
    );
    for (const [outcomeId, [best]] of Object.entries(orders)) {
      if (best !== undefined) bids.set(keyOf({ outcomeId, currency: "COIN" }), best.price);
    }
  });
  return bids;
}

interface Row extends PositionAnswer {
  readonly bid: string | undefined;
  readonly value: Millicents | undefined;
}

function rowOf(position: PositionAnswer, bids: ReadonlyMap<string, string> | undefined): Row {
  const bid = bids?.get(keyOf(position));
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
  const known = positions.value ?? [];
  const bids = useResource((signal) => readBids(known, signal), [known.map(keyOf).sort().join()], {
    everyMs: REFRESH_MS,
  });
  const noBid = bids.value === undefined ? "" : "no bid";
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
              { title: "Best bid", numeric: true, wide: true, cell: ({ bid }) => <Price value={bid} /> },
              {
                title: "Value",
                numeric: true,
                cell: ({ value, currency }) =>
                  value === undefined ? (
                    noBid
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
          <Notice refusal={bids.refusal} />
          <p class="quiet">
            The value is that of all contracts at the best bid, before fees. A large position may sell for
            less.
          </p>
        </>
      )}
    </Loaded>
  );
}
