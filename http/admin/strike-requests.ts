/** Strike requests of market makers: an approval creates the market (contract section 8.11). */

import { findCompetitors } from "../../db/queries/catalog/competitors.js";
import { allMarkets } from "../../db/queries/catalog/markets.js";
import {
  decideStrikeRequest,
  lockStrikeRequest,
  listStrikeRequests,
  type StrikeRequest as Request,
} from "../../db/queries/operator/strike-requests.js";
import { recordAudit } from "../../db/queries/operator/audit.js";
import { operatorWith } from "../request/access.js";
import { Refused } from "../request/errors.js";
import { pageOf } from "../request/fields.js";
import { route } from "../request/route.js";
import { restrike } from "../surface-b/strikes.js";
import { auditedAction, type ActionRequest } from "./audit.js";
import { createMarket, type AdminMarketParts } from "./markets.js";
import { StrikeDecisionBody, StrikeRequest, StrikeRequestsQuery } from "./schemas/makers.js";

export function strikeRequestRoutes(parts: AdminMarketParts) {
  const { db } = parts;

  /** Returns the market of a request: an existing one, or a new one like the market that the request names. */
  const marketFor = async (call: ActionRequest, { marketId, strike }: Request): Promise<string> => {
    const model = await parts.freshness.market(marketId);
    if (model === undefined) throw new Refused("MARKET_NOT_FOUND");
    const from = model.strike === null ? undefined : Number(model.strike);
    const rewrite = (text: string): string =>
      from === undefined ? text : restrike(text, from, Number(strike));
    const rewritten = rewrite(model.description);
    const description = rewritten === model.description ? `${rewritten} (${strike})` : rewritten;
    const ofEvent = await allMarkets(db, { eventId: model.eventId, marketTypes: [model.marketType] });
    const existing = ofEvent.find((market) => market.strike === strike && market.description === description);
    if (existing !== undefined) return existing.marketId;

    const ids = model.outcomes.flatMap(({ competitorId }) => (competitorId === null ? [] : [competitorId]));
    const teams = new Map((await findCompetitors(db, ids)).map((team) => [team.competitorId, team.name]));
    const { coefficientPpm, makerCreditPpm, charged } = model.fee;
    const body = {
      eventId: model.eventId,
      marketType: model.marketType,
      description,
      strike,
      voids: model.voids,
      fee: { coefficient: coefficientPpm, makerCredit: makerCreditPpm, charged },
      liveDelayMs: model.liveDelayMs,
      playerId: model.playerId ?? undefined,
      outcomes: model.outcomes.map(({ name, competitorId }) => ({
        name: rewrite(name),
        competitor: competitorId === null ? undefined : teams.get(competitorId),
      })),
      open: true,
    };
    return (await createMarket(parts, body, call)).marketId;
  };

  const list = route("GET /admin/v1/strike-requests", {
    access: operatorWith("read"),
    query: StrikeRequestsQuery,
    answer: pageOf(StrikeRequest),
    docs: {
      summary: "List strike requests",
      description: "Returns the requests of market makers for other strikes, oldest first.",
      exampleQuery: { status: "PENDING" },
    },
    run: async ({ query: { status, ...page } }) => {
      const { items, next } = await listStrikeRequests(db, { statuses: status }, page);
      return { body: { items: [...items], next } };
    },
  });

  const decide = route("POST /admin/v1/strike-requests/:requestId", {
    access: operatorWith("markets"),
    body: StrikeDecisionBody,
    answer: StrikeRequest,
    docs: {
      summary: "Decide a strike request",
      description: "Approves or rejects a request. An approval creates the market.",
      refuses: [
        "STRIKE_REQUEST_NOT_FOUND",
        "MARKET_NOT_FOUND",
        "EVENT_NOT_FOUND",
        "INVALID_TRANSITION",
        "MARKET_EXISTS",
      ],
      exampleBody: { approve: false },
    },
    run: async ({ body: { approve }, id, ...call }) => {
      const decided = await db.transaction(async (tx) => {
        const request = await lockStrikeRequest(tx, id("requestId"));
        if (request === undefined) throw new Refused("STRIKE_REQUEST_NOT_FOUND");
        if (request.status !== "PENDING")
          throw new Refused(
            "INVALID_TRANSITION",
            `the request is ${request.status} already; decide a pending one`,
          );
        const after = await decideStrikeRequest(tx, {
          requestId: request.requestId,
          status: approve ? "APPROVED" : "REJECTED",
          createdMarketId: approve ? await marketFor(call, request) : undefined,
          decidedBy: call.caller.accountId,
          nowTs: call.incoming.receivedMs,
        });
        const action = approve ? "strike-request.approve" : "strike-request.reject";
        await recordAudit(
          tx,
          auditedAction(call, { action, subject: request.requestId, before: request, after }),
        );
        return after;
      });
      return { body: decided };
    },
  });

  return [list, decide];
}
