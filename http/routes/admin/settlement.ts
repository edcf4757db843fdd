/** Grading a market, watching it settle, and taking a settlement back (contract sections 4 and 8). */

import { randomUUID } from "node:crypto";
import type { MarketReply } from "../../../actors/market/commands.js";
import type { Grade } from "../../../actors/market/types.js";
import { findMarket, type MarketRecord } from "../../../db/queries/markets.js";
import type { SettlementJob } from "../../../stream/jobs/settlement.js";
import { Refused } from "../../errors.js";
import { sessionEndpoint } from "../../route.js";
import { GradeBody, RemediateBody, SettlementProgress, SettlementStarted } from "../../schemas/operator.js";
import { ONLY_LOOKING } from "../../wallets.js";
import { recordIntent } from "./audit.js";
import { accepted, caughtUpMarket, type AdminMarketParts } from "./markets.js";

export interface SettlementParts extends Pick<AdminMarketParts, "db" | "exchange" | "freshness" | "changes"> {
  readonly enqueueSettlement: (job: SettlementJob) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

type Settlement = Extract<MarketReply, { kind: "settlement" }>;

function settlementOf(reply: MarketReply): Settlement {
  const settled = accepted(reply);
  if (settled.kind !== "settlement") throw new Error(`the market answered ${settled.kind} to a grade`);
  return settled;
}

/** The grade that a body means for this market. */
function gradeOf(market: MarketRecord, body: (typeof GradeBody)["_output"]): Grade {
  if ("push" in body) return { kind: "PUSH" };
  const places = new Map(market.outcomes.map(({ outcomeId, outcome }) => [outcomeId, outcome]));
  if ("winner" in body) {
    const outcome = places.get(body.winner);
    if (outcome === undefined)
      throw new Refused("OUTCOME_NOT_FOUND", "winner: the market has no such outcome");
    return { kind: "WINNER", outcome };
  }
  const named = new Map(
    Object.entries(body.prices).map(([outcomeId, price]) => [outcomeId.toLowerCase(), price]),
  );
  const prices = market.outcomes.map(({ outcomeId }) => named.get(outcomeId));
  if (!prices.every((price) => price !== undefined) || named.size !== prices.length)
    throw new Refused("INVALID_PRICES", "prices must name every outcome of the market and nothing else");
  return { kind: "FMV", prices };
}

export function settlementEndpoints(parts: SettlementParts) {
  const { db, exchange, enqueueSettlement, onError } = parts;

  const known = async (marketId: string): Promise<MarketRecord> => {
    const market = await findMarket(db, marketId);
    if (market === undefined) throw new Refused("MARKET_NOT_FOUND");
    return market;
  };

  /** Sets the payouts going. Should Redis fail here, the sweep of the jobs finds the market. */
  const start = async (job: SettlementJob): Promise<void> => {
    try {
      await enqueueSettlement(job);
    } catch (error) {
      onError(error);
    }
  };

  const grade = sessionEndpoint({
    status: 202,
    body: GradeBody,
    answer: SettlementStarted,
    run: async ({ body, id, ...call }) => {
      const market = await known(id("marketId"));
      const { marketId, event } = market;
      const command = { kind: "grade", settlementId: randomUUID(), grade: gradeOf(market, body) } as const;
      const deed = { action: "market.grade", subject: marketId, before: market.grade, after: command.grade };
      const reply = await recordIntent(db, call, deed, () => exchange.market(marketId, command));
      const { settlementId, done } = settlementOf(reply);
      if (!done) await start({ marketId, eventId: event.eventId, settlementId, remediating: false });
      await caughtUpMarket(parts, marketId);
      return { body: { settlementId, marketId, status: done ? "SETTLED" : "SETTLING" } as const };
    },
  });

  const progress = sessionEndpoint({
    answer: SettlementProgress,
    run: async ({ id }) => {
      const { marketId } = await known(id("marketId"));
      // Settling nobody more is how a market is asked how far it is.
      const { settlementId, paid, wallets, done } = settlementOf(
        await exchange.market(marketId, { kind: "settle", limit: 0 }, ONLY_LOOKING),
      );
      const market = await caughtUpMarket(parts, marketId);
      const status = done ? "SETTLED" : market.remediating ? "REVERSING" : "SETTLING";
      return { body: { settlementId, marketId, status, paid, wallets } as const };
    },
  });

  const remediate = sessionEndpoint({
    status: 202,
    body: RemediateBody,
    answer: SettlementStarted,
    run: async ({ body, id, ...call }) => {
      const market = await known(id("marketId"));
      const { marketId, event } = market;
      const deed = { action: "market.remediate", subject: marketId, before: market.grade, after: body };
      const command = { kind: "remediate", reason: body.reason } as const;
      const { settlementId } = settlementOf(
        await recordIntent(db, call, deed, () => exchange.market(marketId, command)),
      );
      await start({ marketId, eventId: event.eventId, settlementId, remediating: true });
      await caughtUpMarket(parts, marketId);
      return { body: { settlementId, marketId, status: "REVERSING" } as const };
    },
  });

  return { grade, progress, remediate };
}
