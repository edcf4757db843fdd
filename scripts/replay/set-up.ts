/** Creates the event, the market and the funded traders of a replay: two makers and some takers. */

import { createHash, randomUUID } from "node:crypto";
import { formatMoney, millicents, parsePrice } from "../../actors/units.js";
import { openAccount, type Account } from "../../http/client/node/accounts.js";
import type { Connection } from "../../http/client/connection.js";
import type { OperatorClient } from "../../http/client/rest/operator.js";
import type { EventAnswer, MarketAnswer } from "../../http/client/wire/catalog.js";
import type { MarketDefinition } from "./recording/recording.js";
import type { Survey } from "./recording/survey.js";
import { Trader } from "./makers/trader.js";
import type { Voids } from "../../actors/market/types.js";

export interface ReplaySetUp {
  readonly event: EventAnswer;
  readonly market: MarketAnswer;
  readonly outcomeIds: readonly [string, string];
  /** Makers by the index of the outcome that each bids on. */
  readonly makers: readonly [Trader, Trader];
  readonly takers: readonly Trader[];
}

export interface SetUpOptions {
  readonly connection: Connection;
  readonly operator: OperatorClient;
  readonly brand: string;
  readonly survey: Survey;
  readonly voids: Voids;
  readonly takers: number;
}

/** Money on top of the cost of the recording, so that no order is rejected because of fees. */
const MARGIN_MILLICENTS = 1_000_00000;
const REGION = "US-NY";
const HOUR_MS = 3_600_000;

/** Returns a UUID that depends on the parts alone, for ids that a second run must repeat. */
export function uuidOf(...parts: readonly (string | number)[]): string {
  const hex = createHash("sha256").update(parts.join("\n")).digest("hex");
  const variant = ((parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** Returns the price grid of the exchange in ticks, in rising order. */
export async function readGrid(operator: OperatorClient): Promise<readonly number[]> {
  const grid = (await operator.ticks()).map((price) => {
    const tick = parsePrice(price);
    if (tick === undefined) throw new Error(`the exchange lists a tick that is not a price: ${price}`);
    return tick;
  });
  return grid.sort((a, b) => a - b);
}

/** Creates the set-up through the public routes and connects the traders' streams. */
export async function setUpReplay(options: SetUpOptions): Promise<ReplaySetUp> {
  const { connection, operator, brand, survey } = options;
  const [event, market] = await createMarket(operator, survey.definition, options.voids);
  const [first, second] = market.outcomes;
  if (first === undefined || second === undefined) throw new Error("the new market has no outcomes");

  const run = randomUUID();
  const contractsMillicents = survey.taken * 1_000;
  const funds = formatMoney(
    millicents(2 * survey.restingCost + contractsMillicents + survey.takenCost + MARGIN_MILLICENTS),
  );
  const names = ["maker 1", "maker 2", ...Array.from({ length: options.takers }, (_, i) => `taker ${i + 1}`)];
  const traders: Trader[] = [];
  for (const [index, name] of names.entries()) {
    const account: Account = await openAccount(
      connection,
      operator,
      {
        email: `${name.replace(" ", "-")}.${run}@replay.invalid`,
        password: randomUUID(),
        label: name,
        amount: funds,
        algorithm: index % 2 === 0 ? "Ed25519" : "P-256",
        region: REGION,
      },
      brand,
    );
    traders.push(new Trader(name, connection, account.tradingKey, brand));
  }
  const [makerOne, makerTwo, ...takers] = traders;
  if (makerOne === undefined || makerTwo === undefined) throw new Error("a replay needs two makers");
  for (const trader of traders) await trader.connect(market.marketId, trader === makerOne);
  return {
    event,
    market,
    outcomeIds: [first.outcomeId, second.outcomeId],
    makers: [makerOne, makerTwo],
    takers,
  };
}

async function createMarket(
  operator: OperatorClient,
  definition: MarketDefinition,
  voids: Voids,
): Promise<[EventAnswer, MarketAnswer]> {
  const runners = definition.runners.filter(({ status }) => status !== "REMOVED");
  const names = runners.map(({ id, name }) => name ?? `Runner ${id}`);
  const [home = "", away = ""] = names;
  const event = await operator.createEvent({
    sport: "ENTERTAINMENT",
    league: "ENTERTAINMENT",
    type: "Game",
    description: definition.eventName ?? names.join(" v "),
    // The recorded start is in the past, where no event can be listed.
    startsTs: Date.now() + HOUR_MS,
    game: { homeTeam: { name: home }, awayTeam: { name: away } },
  });
  const market = await operator.createMarket({
    eventId: event.eventId,
    marketType: "MONEY",
    description: definition.name ?? "Match odds",
    voids,
    liveDelayMs: 0,
    outcomes: names.map((name) => ({ name })),
  });
  return [event, market];
}
