/** Bodies and answers of the operator routes (contract sections 8.7 to 8.10 and 8.17). */

import { z } from "zod/mini";
import type { Voids } from "../../../actors/market/types.js";
import { EventAnswer, MarketAnswer } from "./catalog.js";
import { Text, TextOrNull, Whole, WholeOrNull } from "./values.js";

/** Actions on an event. */
export type EventAction = "open" | "close" | "golive" | "unlive" | "delay" | "finalise" | "cancel";
/** Actions on a market. */
export type MarketAction = "open" | "close" | "pause" | "resume";

/** An event to create (contract section 8.7). `startsTs` is Unix ms. */
export interface NewEvent {
  readonly sport: string;
  readonly league: string;
  readonly type: "REGULAR_SEASON" | "Game" | "Future";
  readonly description: string;
  readonly startsTs: number;
  readonly visible?: boolean;
  readonly game?: { readonly homeTeam: Team; readonly awayTeam: Team };
}

/** A team of a game. */
export interface Team {
  readonly name: string;
  readonly shortName?: string;
  readonly symbol?: string;
  readonly mascot?: string;
}

/** A market to create (contract section 8.8). The answer lists the outcomes with their ids in the same order. */
export interface NewMarket {
  readonly eventId: string;
  readonly marketType: string;
  readonly description: string;
  readonly strike?: string;
  readonly voids: Voids;
  readonly fee?: {
    readonly coefficient: string;
    readonly makerCredit: string;
    readonly charged: "ALWAYS" | "WHEN_LIVE";
  };
  readonly liveDelayMs?: number;
  readonly playerId?: string;
  readonly outcomes: readonly { readonly name: string; readonly competitor?: string }[];
  /** False for a market that an operator opens later (default true). */
  readonly open?: boolean;
}

/** A grade: the winning outcome, or a push. */
export type GradeRequest = { readonly winner: string } | { readonly push: true };

const TeamAnswer = z.object({
  id: Text,
  name: Text,
  shortName: TextOrNull,
  symbol: TextOrNull,
  mascot: TextOrNull,
});

/** An event as operators see it. */
export const AdminEvent = z.extend(EventAnswer, {
  type: Text,
  visible: z.boolean(),
  game: z.nullable(z.object({ gameId: Text, homeTeam: TeamAnswer, awayTeam: TeamAnswer })),
  createdTs: Whole,
});
export type AdminEvent = z.infer<typeof AdminEvent>;

/** A market as operators see it. */
export const AdminMarket = z.extend(MarketAnswer, {
  outcomes: z.array(z.object({ outcomeId: Text, name: Text, status: Text, competitorId: TextOrNull })),
  playerId: TextOrNull,
  liveDelayMs: Whole,
  live: z.boolean(),
  paused: z.boolean(),
  settledTs: WholeOrNull,
  createdTs: Whole,
});
export type AdminMarket = z.infer<typeof AdminMarket>;

/** A settlement that a grade has started. */
export const SettlementAnswer = z.object({ settlementId: Text, marketId: Text, status: Text });

const Money = z.object({
  deposits: Text,
  withdrawals: Text,
  adjustments: Text,
  wallets: Text,
  reserved: Text,
  escrow: Text,
  house: Text,
  inFlight: Text,
  difference: Text,
});
const MoneyByCurrency = z.object({ CASH: Money, COIN: Money });
/** Money report, computed from the live actors and again from Postgres. */
export const MoneyReport = z.object({
  agree: z.boolean(),
  actors: MoneyByCurrency,
  postgres: MoneyByCurrency,
});
export type MoneyReport = z.infer<typeof MoneyReport>;
