/** Grades of markets, their approval, the progress of settlements, and remediation (contract sections 4.8 and 8.9). */

import { randomUUID } from "node:crypto";
import type { MarketReply } from "../../actors/market/commands.js";
import { sameGrade } from "../../actors/market/grade.js";
import type { Grade } from "../../actors/market/types.js";
import type { Queries } from "../../db/database.js";
import type { MarketRecord } from "../../db/queries/catalog/markets.js";
import { requestApproval } from "../../db/queries/operator/approvals.js";
import {
  approveSettlement,
  findSettlement,
  requestSettlement,
  withdrawSettlement,
  type SettlementRequest,
} from "../../db/queries/operator/settlements.js";
import type { SettlementJob } from "../../stream/jobs/settlement.js";
import { IDS } from "../docs/examples.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";
import { READ_ONLY } from "../trading/ledger-client.js";
import { recordIntent, type ActionRequest } from "./audit.js";
import { gradeOnWire } from "./day/settlements.js";
import type { Approvals } from "./operators/approvals.js";
import { accepted, announceMarket, readBackMarket, type AdminMarketParts } from "./markets.js";
import {
  GradeAnswer,
  GradeBody,
  PreviewQuery,
  RemediateAnswer,
  RemediateBody,
  SettlementProgress,
  SettlementStarted,
} from "./schemas/settlement.js";
import { previewPayouts } from "./settlement-preview.js";

interface SettlementParts extends Pick<AdminMarketParts, "db" | "exchange" | "freshness" | "changes"> {
  readonly enqueueSettlement: (job: SettlementJob) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

type Settlement = Extract<MarketReply, { kind: "settlement" }>;

function settlementOf(reply: MarketReply): Settlement {
  const settled = accepted(reply);
  if (settled.kind !== "settlement") throw new Error(`the market answered ${settled.kind} to a grade`);
  return settled;
}

/** Author of a grade that took one operator, who is in the audit log alone. */
const NOBODY = { requestedBy: null, requestedTs: null } as const;

function requestOnWire({ requestedBy, requestedTs }: SettlementRequest) {
  return { requestedBy, requestedTs };
}

/** Returns the grade that a body names for the market. */
function gradeOf(market: MarketRecord, body: (typeof GradeBody)["_output"]): Grade {
  if ("push" in body) return { kind: "PUSH" };
  const indexes = new Map(market.outcomes.map(({ outcomeId, outcome }) => [outcomeId, outcome]));
  if ("winner" in body) {
    const outcome = indexes.get(body.winner);
    if (outcome === undefined)
      throw new Refused(
        "OUTCOME_NOT_FOUND",
        "winner is not an outcome of the market; send the outcomeId of one of its outcomes",
      );
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

/** Returns the approval for which a grade waits. Its id is that of the settlement. */
function approvalOf(market: MarketRecord, request: SettlementRequest) {
  const { settlementId, grade, requestedBy, requestedTs } = request;
  const action = { action: "market.grade", settlementId, asked: gradeOnWire(market, grade) } as const;
  return { approvalId: settlementId, subject: market.marketId, action, requestedBy, requestedTs };
}

function notWaiting(): Refused {
  return new Refused("NOT_GRADED", "no grade of the market waits for its approval; read the settlement");
}

export function settlementRoutes(parts: SettlementParts, approvals: Approvals) {
  const { db, exchange, enqueueSettlement, onError } = parts;

  const existingMarket = async (marketId: string): Promise<MarketRecord> => {
    const market = await parts.freshness.market(marketId);
    if (market === undefined) throw new Refused("MARKET_NOT_FOUND");
    return market;
  };

  /** Queues the payouts. If Redis fails here, the sweep of the jobs finds the market later. */
  const start = async (job: SettlementJob): Promise<void> => {
    try {
      await enqueueSettlement(job);
    } catch (error) {
      onError(error);
    }
  };

  /** Returns the settlement of the grade in force, with its progress; `undefined` when the market has no grade. */
  const settlementInForce = async (marketId: string): Promise<Settlement | undefined> => {
    const reply = await exchange.market(marketId, { kind: "settlement" }, READ_ONLY);
    return !reply.ok && reply.refusal === "NOT_GRADED" ? undefined : settlementOf(reply);
  };

  const pendingRequest = async (
    marketId: string,
    queries: Queries = db,
  ): Promise<SettlementRequest | undefined> => {
    const request = await findSettlement(queries, marketId);
    return request?.status === "PENDING_APPROVAL" ? request : undefined;
  };

  /** Puts a grade in force, which starts the payouts. The actor closes an open market first. */
  const settle = async (
    call: ActionRequest,
    market: MarketRecord,
    asked: { readonly settlementId: string; readonly grade: Grade },
  ) => {
    const { marketId, eventId } = market;
    const command = { kind: "grade", ...asked } as const;
    const record = { action: "market.grade", subject: marketId, before: market.grade, after: asked.grade };
    const reply = await recordIntent(db, call, record, () => exchange.market(marketId, command));
    const { settlementId, done } = settlementOf(reply);
    if (!done) await start({ marketId, eventId, settlementId, remediating: false });
    await announceMarket(parts, marketId);
    return { settlementId, marketId, status: done ? ("SETTLED" as const) : ("SETTLING" as const) };
  };

  /** Stores a grade until a second operator approves it. The market closes at once, because its result is known. */
  const letWait = async (call: ActionRequest, market: MarketRecord, asked: Grade) => {
    const { marketId } = market;
    accepted(await exchange.market(marketId, { kind: "previewGrade", grade: asked, limit: 1 }, READ_ONLY));
    const inForce = await settlementInForce(marketId);
    if (inForce !== undefined) {
      const { grade } = await readBackMarket(parts, marketId);
      if (grade === null || !sameGrade(grade, asked)) throw new Refused("ALREADY_GRADED");
      const status = inForce.done ? ("SETTLED" as const) : ("SETTLING" as const);
      return { settlementId: inForce.settlementId, marketId, status };
    }
    accepted(await exchange.market(marketId, { kind: "lifecycle", actions: ["close"] }));
    const request = {
      settlementId: randomUUID(),
      marketId,
      grade: asked,
      operatorId: call.caller.accountId,
      nowTs: call.incoming.receivedMs,
    };
    const settlementId = await db.transaction(async (tx) => {
      const kept = (await requestSettlement(tx, request)) ?? (await pendingRequest(marketId, tx));
      if (kept === undefined || !sameGrade(kept.grade, asked)) {
        throw new Refused(
          "ALREADY_GRADED",
          "another grade of the market waits for its approval; withdraw it first",
        );
      }
      await approvals.wait(tx, call, approvalOf(market, kept));
      return kept.settlementId;
    });
    await announceMarket(parts, marketId);
    return { settlementId, marketId, status: "PENDING_APPROVAL" as const };
  };

  /** Puts a grade in force that a second operator approves. Nothing happens to one that was put in force before. */
  approvals.guard(
    "market.grade",
    "settlement",
    async (call, { subject: marketId, action: { settlementId } }) => {
      const market = await existingMarket(marketId);
      const request = await findSettlement(db, marketId);
      if (request?.settlementId !== settlementId || request.status === "REPLACED") throw notWaiting();
      if (request.status === "APPROVED") return;
      // The grade comes before its record: after a crash in between, the approval can be repeated.
      await settle(call, market, { settlementId, grade: request.grade });
      const { caller, incoming } = call;
      await approveSettlement(db, { settlementId, operatorId: caller.accountId, nowTs: incoming.receivedMs });
    },
    {
      isTaken: async (marketId, { settlementId }) =>
        (await settlementInForce(marketId))?.settlementId === settlementId,
      undo: (tx, { settlementId }) => withdrawSettlement(tx, settlementId),
    },
  );

  /**
   * Returns the id of the grade that waits, which is also the id of its approval. A gateway of 0.1.0 records no approval, so it
   * is made here where it is missing.
   */
  const waitingGrade = async (marketId: string): Promise<string> => {
    const market = await existingMarket(marketId);
    const request = await pendingRequest(marketId);
    if (request === undefined) throw notWaiting();
    await requestApproval(db, approvalOf(market, request));
    return request.settlementId;
  };

  const grade = route("POST /admin/v1/markets/:marketId/grade", {
    access: operatorWith("settlement"),
    status: 202,
    query: PreviewQuery,
    body: GradeBody,
    answer: GradeAnswer,
    docs: {
      summary: "Grade a market",
      description:
        "Grades every outcome of the market and starts its settlement. Send `{ winner }`, `{ push: true }` on a PUSH market, or `{ prices }` on an FMV market. An open market is closed first.",
      refuses: [
        "MARKET_NOT_FOUND",
        "OUTCOME_NOT_FOUND",
        "INVALID_PRICES",
        "VOID_KIND",
        "ALREADY_GRADED",
        "INVALID_TRANSITION",
      ],
      also: { 200: "With `preview=true`: the payouts of the grade. Nothing has changed." },
      exampleQuery: { preview: "true" },
      exampleBody: { winner: IDS.outcomeId },
    },
    run: async ({ body, query, id, ...call }) => {
      const market = await existingMarket(id("marketId"));
      const asked = gradeOf(market, body);
      if (query.preview) {
        const previewed = await previewPayouts(parts, market.marketId, asked, call.incoming.receivedMs);
        return { status: 200, body: previewed };
      }
      if (approvals.areRequired) return { body: await letWait(call, market, asked) };
      return { body: await settle(call, market, { settlementId: randomUUID(), grade: asked }) };
    },
  });

  const approve = route("POST /admin/v1/markets/:marketId/settlement/approve", {
    access: operatorWith("settlement"),
    status: 202,
    answer: SettlementStarted,
    docs: {
      summary: "Approve a grade",
      description:
        "Puts a grade in force that waits for a second operator. The operator who graded the market cannot approve it, nor can an operator whom that one created or who is newer than the grade.",
      refuses: ["MARKET_NOT_FOUND", "NOT_GRADED", "ALREADY_GRADED", "VOID_KIND", "INVALID_TRANSITION"],
    },
    run: async ({ id, ...call }) => {
      const marketId = id("marketId");
      const settlementId = await waitingGrade(marketId);
      await approvals.approve(call, settlementId);
      const status = (await settlementInForce(marketId))?.done === true ? "SETTLED" : "SETTLING";
      return { body: { settlementId, marketId, status } as const };
    },
  });

  const withdraw = route("DELETE /admin/v1/markets/:marketId/settlement", {
    access: operatorWith("settlement"),
    status: 204,
    docs: {
      summary: "Withdraw a grade",
      description: "Withdraws a grade that waits for its approval.",
      refuses: ["MARKET_NOT_FOUND", "NOT_GRADED", "INVALID_TRANSITION"],
    },
    run: async ({ id, ...call }) => {
      await approvals.withdraw(call, await waitingGrade(id("marketId")));
      return { body: undefined };
    },
  });

  const progress = route("GET /admin/v1/markets/:marketId/settlement", {
    access: operatorWith("read"),
    answer: SettlementProgress,
    docs: {
      summary: "Retrieve the settlement of a market",
      refuses: ["MARKET_NOT_FOUND", "NOT_GRADED"],
    },
    run: async ({ id }) => {
      const market = await existingMarket(id("marketId"));
      const { marketId } = market;
      const inForce = await settlementInForce(marketId);
      if (inForce !== undefined) {
        const { settlementId, paid, wallets, done } = inForce;
        const graded = await readBackMarket(parts, marketId);
        const status = done ? "SETTLED" : graded.remediating ? "REVERSING" : "SETTLING";
        const grade = graded.grade && gradeOnWire(graded, graded.grade);
        const request = await findSettlement(db, marketId);
        const asked = request?.settlementId === settlementId ? requestOnWire(request) : NOBODY;
        return { body: { settlementId, marketId, status, paid, wallets, grade, ...asked } as const };
      }
      const request = await pendingRequest(marketId);
      if (request === undefined) throw new Refused("NOT_GRADED");
      const { settlementId } = request;
      const waiting = { settlementId, marketId, status: "PENDING_APPROVAL", paid: 0, wallets: 0 } as const;
      return { body: { ...waiting, grade: gradeOnWire(market, request.grade), ...requestOnWire(request) } };
    },
  });

  const remediateMarket = approvals.guard(
    "market.remediate",
    "settlement",
    async (call, { subject: marketId, action: { settlementId: asked, reason } }) => {
      const { eventId, grade: before } = await existingMarket(marketId);
      if ((await settlementInForce(marketId))?.settlementId !== asked) throw new Refused("NOT_SETTLED");
      const record = { action: "market.remediate", subject: marketId, before, after: { reason } };
      const command = { kind: "remediate", reason } as const;
      const { settlementId } = settlementOf(
        await recordIntent(db, call, record, () => exchange.market(marketId, command)),
      );
      await start({ marketId, eventId, settlementId, remediating: true });
      await announceMarket(parts, marketId);
      return { settlementId, marketId, status: "REVERSING" as const };
    },
  );

  const remediate = route("POST /admin/v1/markets/:marketId/remediate", {
    access: operatorWith("settlement"),
    status: 202,
    query: PreviewQuery,
    body: RemediateBody,
    answer: RemediateAnswer,
    docs: {
      summary: "Reverse a settlement",
      description: "Takes back exactly what the settlement paid, so that the market can be graded again.",
      refuses: ["MARKET_NOT_FOUND", "NOT_SETTLED", "NOT_GRADED", "INVALID_TRANSITION"],
      also: { 200: "With `preview=true`: the amounts that would be taken back. Nothing has changed." },
      exampleQuery: { preview: "true" },
      exampleBody: { reason: "the score was corrected" },
    },
    run: async ({ body, query, id, ...call }) => {
      const { marketId } = await existingMarket(id("marketId"));
      if (query.preview) {
        const { grade: paid, status } = await readBackMarket(parts, marketId);
        if (paid === null || status !== "SETTLED") throw new Refused("NOT_SETTLED");
        const reversed = await previewPayouts(parts, marketId, paid, call.incoming.receivedMs, "reversed");
        return { status: 200, body: reversed };
      }
      const inForce = await settlementInForce(marketId);
      if (inForce === undefined || (approvals.areRequired && !inForce.done)) throw new Refused("NOT_SETTLED");
      const { settlementId } = inForce;
      return remediateMarket(call, marketId, {
        action: "market.remediate",
        settlementId,
        reason: body.reason,
      });
    },
  });

  return [grade, progress, approve, withdraw, remediate];
}
