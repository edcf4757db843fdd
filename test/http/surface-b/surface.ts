/** Running exchange with two clients of surface B, and the calls of its tests. */

import type { z } from "zod";
import { RestClient } from "../../../http/client/rest/rest.js";
import { Signer } from "../../../http/client/client.js";
import { MarketWithBook, Placed } from "../../../http/surface-b/schemas.js";
import { startStack, type Stack } from "../../support/stack.js";
import { newTrader, type TestTrader } from "../../support/traders.js";
import { EmmClient, newClient, operate, type EmmAnswer } from "./client.js";

/** Id of no resource. */
export const NOWHERE = "6f9619ff-8b86-4011-b42d-00c04fc964ff";

type Booked = z.output<typeof MarketWithBook>;

export interface Fixture {
  readonly eventId: string;
  readonly marketId: string;
  readonly over: string;
  readonly under: string;
}

export interface Surface {
  readonly stack: Stack;
  readonly maker: TestTrader;
  readonly taker: TestTrader;
  /** Client of the maker. */
  readonly emm: EmmClient;
  /** Client of the taker. */
  readonly other: EmmClient;
  /** Calls of the taker on surface A. */
  readonly onA: RestClient;
  /** Game with a market about the points of a player, without a trade. */
  readonly newFixture: (visible?: boolean) => Promise<Fixture>;
  readonly booked: (eventId: string, currency?: string, view?: string) => Promise<Booked[]>;
}

export async function startSurface(): Promise<Surface> {
  const stack = await startStack();
  const maker = await newTrader(stack);
  const taker = await newTrader(stack);
  const emm = new EmmClient(stack.url, await newClient(stack, maker));
  const other = new EmmClient(stack.url, await newClient(stack, taker));
  const onA = new RestClient(stack.connect(), new Signer(taker.trading.key, stack.brand));
  const booked = async (eventId: string, currency = "CASH", view = ""): Promise<Booked[]> => {
    const path = `/events/getMarketsByEvent/${eventId}?currency=${currency}${view}`;
    return MarketWithBook.array().parse(await emm.read(path));
  };
  return {
    stack,
    maker,
    taker,
    emm,
    other,
    onA,
    newFixture: (visible) => newFixture(stack, visible),
    booked,
  };
}

export async function created<T>(stack: Stack, line: string, body: object): Promise<T> {
  const answer = await operate(stack, line, body);
  if (answer.status !== 201) throw new Error(`${line}: ${JSON.stringify(answer.body)}`);
  return answer.body as T;
}

async function newFixture(stack: Stack, visible = true): Promise<Fixture> {
  const event = await created<{ eventId: string }>(stack, "POST /events", {
    sport: "BASKETBALL",
    league: "NBA",
    type: "Game",
    description: "Ants at Bees",
    startsTs: Date.parse("2030-01-02T03:04:05.678Z"),
    visible,
    game: {
      homeTeam: { name: "Bees", shortName: "BEE", symbol: "B", mascot: "Buzz" },
      awayTeam: { name: "Ants" },
    },
  });
  const player = await created<{ playerId: string }>(stack, "POST /players", {
    name: "A. Smith",
    fullName: "Alex Smith",
    position: "G",
    team: { league: "NBA", name: "Bees" },
  });
  const market = await created<{ marketId: string; outcomes: { outcomeId: string }[] }>(
    stack,
    "POST /markets",
    {
      eventId: event.eventId,
      marketType: "POINTS",
      description: "A. Smith over 20.5 points",
      strike: "20.5",
      voids: "PUSH",
      playerId: player.playerId,
      outcomes: [{ name: "Over 20.5" }, { name: "Under 20.5" }],
    },
  );
  const [over, under] = market.outcomes;
  return {
    eventId: event.eventId,
    marketId: market.marketId,
    over: over?.outcomeId ?? "",
    under: under?.outcomeId ?? "",
  };
}

export function bids(market: Booked | undefined, outcomeId: string) {
  return market?.book.outcomeLadders.find((ladder) => ladder.outcomeId === outcomeId)?.bids ?? [];
}

export function place(who: EmmClient, ...orders: object[]): Promise<EmmAnswer> {
  return who.call("POST /orders/place", orders);
}

export function idOf(answer: EmmAnswer): string {
  return Placed.parse(answer.body).accepted[0]?.orderId ?? "";
}
