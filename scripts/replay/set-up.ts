/** Who and what a replay needs on the exchange: the event and its market, two makers and some takers, all funded. */

import { createHash, randomUUID } from "node:crypto";
import { formatMoney, millicents, parsePrice } from "../../actors/units.js";
import { openAccount, type Account } from "../../http/client/accounts.js";
import type { Connection } from "../../http/client/connection.js";
import type { OperatorClient } from "../../http/client/session.js";
import type { EventAnswer, MarketAnswer } from "../../http/client/wire.js";
import type { MarketDefinition } from "./recording/recording.js";
import type { Survey } from "./recording/survey.js";
import { Trader } from "./makers/trader.js";

export interface ReplaySetUp {
  readonly event: EventAnswer;
  readonly market: MarketAnswer;
  readonly outcomeIds: readonly [string, string];
  /** `makers[i]` bids on outcome `i`. */
  readonly makers: readonly [Trader, Trader];
  readonly takers: readonly Trader[];
}

export interface SetUpOptions {
  readonly connection: Connection;
  readonly operator: OperatorClient;
  readonly brand: string;
  readonly survey: Survey;
  readonly voids: "PUSH" | "FMV";
  readonly takers: number;
}

/** Money beyond what the recording can cost, so that a fee never decides whether an order is accepted. */
const MARGIN_MILLICENTS = 1_000_00000;
const REGION = "US-NY";

/** A uuid that is a function of its parts, for ids that a run must be able to make again. */
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

/** The grid of the exchange in ticks, rising. */
export async function readGrid(operator: OperatorClient): Promise<readonly number[]> {
  const grid = (await operator.ticks()).map((price) => {
    const tick = parsePrice(price);
    if (tick === undefined) throw new Error(`the exchange has a tick that is no price: ${price}`);
    return tick;
  });
  return grid.sort((a, b) => a - b);
}

/** Creates everything through the public routes and connects the traders' streams. */
export async function setUpReplay(casting: SetUpOptions): Promise<ReplaySetUp> {
  const { connection, operator, brand, survey } = casting;
  const [event, market] = await createMarket(operator, survey.definition, casting.voids);
  const [first, second] = market.outcomes;
  if (first === undefined || second === undefined) throw new Error("the market came back without outcomes");

  const run = randomUUID();
  const contractsMillicents = survey.taken * 1_000;
  const funds = formatMoney(
    millicents(2 * survey.restingCost + contractsMillicents + survey.takenCost + MARGIN_MILLICENTS),
  );
  const names = ["maker 1", "maker 2", ...Array.from({ length: casting.takers }, (_, i) => `taker ${i + 1}`)];
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
  voids: "PUSH" | "FMV",
): Promise<[EventAnswer, MarketAnswer]> {
  const runners = definition.runners.filter(({ status }) => status !== "REMOVED");
  const names = runners.map(({ id, name }) => name ?? `Runner ${id}`);
  const [home = "", away = ""] = names;
  const event = await operator.createEvent({
    sport: "ENTERTAINMENT",
    league: "ENTERTAINMENT",
    type: "Game",
    description: definition.eventName ?? names.join(" v "),
    startsTs: Date.parse(definition.marketTime),
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
