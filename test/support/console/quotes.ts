/** Markets with orders and trades, for the tests of pages that show prices. */

import { randomUUID } from "node:crypto";
import { NodeSigner } from "../../../http/client/node/signer.js";
import { RestClient } from "../../../http/client/client.js";
import type { EventAnswer, MarketAnswer } from "../../../http/client/client.js";
import type { Stack } from "../stack.js";
import { addMarket, newEvent, newTrader } from "../traders.js";

/** Bids of one outcome: prices with quantities. */
type Bids = readonly (readonly [price: string, qty: number])[];

/** A trader who places bids in the tests of pages. */
export interface Quoter {
  readonly rest: RestClient;
  /** Places bids on the outcomes of a market, in the order of its outcomes, and returns the ids of their orders. */
  quote(market: MarketAnswer, bids: readonly Bids[]): Promise<string[]>;
}

export async function newQuoter(stack: Stack, amount = "1000"): Promise<Quoter> {
  const { account } = await newTrader(stack, amount);
  const rest = new RestClient(stack.connect(), new NodeSigner(account.tradingKey, stack.brand));
  return {
    rest,
    quote: async ({ outcomes }, bids) => {
      const orders = outcomes.flatMap(({ outcomeId }, index) =>
        (bids[index] ?? []).map(([price, qty]) => ({
          outcomeId,
          price,
          qty,
          tif: "GTC" as const,
          clientId: randomUUID(),
        })),
      );
      const { accepted, rejected } = await rest.placeOrders(orders);
      if (rejected.length > 0) throw new Error(`orders were rejected: ${JSON.stringify(rejected)}`);
      return accepted.map(({ orderId }) => orderId);
    },
  };
}

/** Events of a few leagues, each with its markets. */
export interface World {
  readonly knicks: {
    readonly event: EventAnswer;
    readonly winner: MarketAnswer;
    readonly total: MarketAnswer;
  };
  readonly derby: { readonly event: EventAnswer; readonly result: MarketAnswer };
}

/** Creates a game in play with two markets of two outcomes, and a game to come with one of three. */
export async function newWorld(stack: Stack): Promise<World> {
  const event = await newEvent(stack, {
    sport: "BASKETBALL",
    league: "NBA",
    description: "Knicks v Celtics",
    startsTs: Date.now() + 60_000,
  });
  const winner = await addMarket(stack, event.eventId, {
    description: "Winner",
    outcomes: [{ name: "Knicks" }, { name: "Celtics" }],
  });
  const total = await addMarket(stack, event.eventId, {
    marketType: "TOTAL",
    description: "Total points",
    strike: "215.5",
    outcomes: [{ name: "Over" }, { name: "Under" }],
  });
  await stack.operator.setEventStatus(event.eventId, "golive");
  const derby = await newEvent(stack, { sport: "SOCCER", league: "EPL", description: "Arsenal v Tottenham" });
  const result = await addMarket(stack, derby.eventId, {
    marketType: "1X2",
    description: "Result",
    outcomes: [{ name: "Arsenal" }, { name: "Draw" }, { name: "Tottenham" }],
  });
  return { knicks: { event, winner, total }, derby: { event: derby, result } };
}
