/** Records as surface B writes them: numbers instead of decimal strings, ISO 8601 times, teams and players in full. */

import type { Ticks } from "../../actors/units.js";
import { CONTRACT_TICKS, type Millicents } from "../../actors/units.js";
import type { Currency } from "../../actors/market/types.js";
import type {
  Competitor as CompetitorRecord,
  Player as PlayerRecord,
} from "../../db/queries/catalog/competitors.js";
import type { EventRecord } from "../../db/queries/catalog/events.js";
import type { FillRecord } from "../../db/queries/trading/fills.js";
import type { MarketRecord, OutcomeRecord } from "../../db/queries/catalog/markets.js";
import type { OrderRecord } from "../../db/queries/trading/orders.js";
import type { PositionRecord } from "../../db/queries/trading/positions.js";
import type { TransactionRecord } from "../../db/queries/trading/transactions.js";
import type { EventStatus } from "../../db/schema/catalog.js";
import { outcomeIdOf } from "../surface-a/wire.js";
import type { Competitor, Event, GAME_STATUSES, Market, OUTCOME_TYPES, Player } from "./schemas.js";

const MILLICENTS_PER_UNIT = 100_000;

/** Returns money as the nearest double, which prints as the exact decimal. */
export function amountOnB(amount: Millicents): number {
  return amount / MILLICENTS_PER_UNIT;
}

export function priceOnB(price: Ticks): number {
  return price / CONTRACT_TICKS;
}

export function isoOnB(ts: number): string {
  return new Date(ts).toISOString();
}

/** Returns a team. The name stands for a short name or symbol that is unknown; an unknown mascot is empty. */
function competitorOnB(team: CompetitorRecord): Competitor {
  const shortName = team.shortName ?? team.name;
  return {
    id: team.competitorId,
    name: team.name,
    shortName,
    symbol: team.symbol ?? shortName,
    mascot: team.mascot ?? "",
  };
}

function playerOnB({ playerId, name, fullName, position }: PlayerRecord): Player {
  return { id: playerId, name, fullName, position: position ?? "" };
}

const GAME_STATUS: Readonly<Record<EventStatus, (typeof GAME_STATUSES)[number]>> = {
  OPEN_PREGAME: "SCHEDULED",
  CLOSED_PREGAME: "SCHEDULED",
  OPEN_INGAME: "IN_PROGRESS",
  DELAYED: "DELAYED",
  FINAL: "FINAL",
  SETTLED: "FINAL",
  CANCELED: "CANCELED",
};

export function eventOnB(event: EventRecord): Event {
  const { eventId, type, status, description, league, startsTs, game } = event;
  const scheduledStart = isoOnB(startsTs);
  return {
    id: eventId,
    type,
    status,
    description,
    league,
    scheduledStart,
    ...(game === null
      ? {}
      : {
          game: {
            id: game.gameId,
            league,
            status: GAME_STATUS[status],
            scheduledStart,
            homeTeam: competitorOnB(game.homeTeam),
            awayTeam: competitorOnB(game.awayTeam),
          },
        }),
  };
}

/** Market with the records of other tables that surface B shows with it. */
export interface DescribedMarket {
  readonly record: MarketRecord;
  readonly event: EventRecord;
  /** Competitors of the outcomes and of the player, by id. */
  readonly competitors: ReadonlyMap<string, CompetitorRecord>;
  readonly player: PlayerRecord | undefined;
}

/** Changing part of a market, from its replica where there is one, else from the read model. */
export interface LiveMarket {
  readonly status: MarketRecord["status"];
  readonly last: readonly (Ticks | null | undefined)[];
  /** Contracts minted in the CASH book x $0.01, in millicents. */
  readonly volume: Millicents;
}

/** Returns the changing part of a market as the read model has it. */
export function projected(record: MarketRecord, currency: Currency): LiveMarket {
  const { status, outcomes, volume } = record;
  return { status, last: outcomes.map(({ last }) => last[currency]), volume: volume.CASH };
}

const BY_NAME: readonly (readonly [RegExp, (typeof OUTCOME_TYPES)[number]])[] = [
  [/^over\b/i, "OVER"],
  [/^under\b/i, "UNDER"],
  [/^(?:draw|tie)$/i, "DRAW"],
  [/^yes$/i, "YES"],
  [/^no$/i, "NO"],
];

/** Returns the type of an outcome: by its name for totals, draws, and yes or no; else by its team. */
function outcomeType({ name, competitorId }: OutcomeRecord, { game }: EventRecord) {
  const named = BY_NAME.find(([pattern]) => pattern.test(name))?.[1];
  if (named !== undefined) return named;
  if (competitorId === null) return "OTHER";
  if (competitorId === game?.homeTeam.competitorId) return "HOME";
  return competitorId === game?.awayTeam.competitorId ? "AWAY" : "COMPETITOR";
}

/** Returns the team of the whole market: the team of its player, or the one team that all outcomes share. */
function competitorOf({ record, competitors, player }: DescribedMarket): CompetitorRecord | undefined {
  const [first = null, ...others] = record.outcomes.map(({ competitorId }) => competitorId);
  const shared = others.every((other) => other === first) ? first : null;
  return competitors.get(player?.competitorId ?? shared ?? "");
}

export function marketOnB(market: DescribedMarket, live: LiveMarket): Market {
  const { record, event, competitors, player } = market;
  const competitor = competitorOf(market);
  return {
    id: record.marketId,
    description: record.description,
    status: live.status,
    type: record.marketType,
    league: event.league,
    volume: amountOnB(live.volume),
    eventId: event.eventId,
    outcomeIds: record.outcomes.map(({ outcomeId }) => outcomeId),
    outcomes: record.outcomes.map((outcome) => {
      const { outcomeId, name, status, outcome: index, competitorId } = outcome;
      const last = live.last[index] ?? undefined;
      const team = competitorId === null ? undefined : competitors.get(competitorId);
      return {
        id: outcomeId,
        description: name,
        type: outcomeType(outcome, event),
        status,
        index,
        ...(last === undefined ? {} : { last: priceOnB(last) }),
        ...(team === undefined ? {} : { competitor: competitorOnB(team) }),
      };
    }),
    ...(record.strike === null ? {} : { strike: Number(record.strike) }),
    event: eventOnB(event),
    ...(record.playerId === null ? {} : { playerId: record.playerId }),
    ...(player === undefined ? {} : { player: playerOnB(player) }),
    ...(competitor === undefined ? {} : { competitor: competitorOnB(competitor) }),
    ...(record.settledTs === null ? {} : { settledAt: isoOnB(record.settledTs) }),
  };
}

export function positionOnB({ marketId, outcomeId, qty, cost, currency }: PositionRecord) {
  return { marketId, outcomeId, size: qty, cost: amountOnB(cost), currency };
}

export function fillOnB(market: MarketRecord | undefined, fill: FillRecord) {
  return {
    id: fill.fillId,
    orderId: fill.orderId,
    marketId: fill.marketId,
    outcomeId: outcomeIdOf(market, fill.outcome),
    price: priceOnB(fill.price),
    qty: fill.qty,
    currency: fill.currency,
    isTaker: fill.taker,
    isWash: fill.wash,
    fee: amountOnB(fill.fee),
    createdAt: isoOnB(fill.ts),
  };
}

export function orderOnB(market: MarketRecord | undefined, order: OrderRecord) {
  return {
    id: order.orderId,
    marketId: order.marketId,
    outcomeId: outcomeIdOf(market, order.outcome),
    price: priceOnB(order.price),
    qty: order.remaining,
    originalQty: order.qty,
    currency: order.currency,
    status: order.status,
    tif: order.tif,
    clientId: order.clientId,
    createdAt: isoOnB(order.ts),
    updatedAt: isoOnB(order.updatedTs),
  };
}

export function transactionOnB({ transactionId, kind, amount, currency, ref, ts }: TransactionRecord) {
  return { id: transactionId, kind, amount: amountOnB(amount), currency, ref, createdAt: isoOnB(ts) };
}
