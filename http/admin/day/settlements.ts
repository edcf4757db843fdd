/** Settlements that wait for their approval, pay or take back (contract section 8.9). */

import type { Grade } from "../../../actors/market/types.js";
import { unreachable } from "../../../actors/unreachable.js";
import type { Database } from "../../../db/database.js";
import { findMarkets, unsettledMarkets, type MarketRecord } from "../../../db/queries/catalog/markets.js";
import { pendingSettlements } from "../../../db/queries/operator/settlements.js";
import { operatorWith } from "../../request/access.js";
import { route } from "../../request/route.js";
import { outcomeIdOf } from "../../surface-a/wire.js";
import { Settlements } from "../schemas/day.js";

const THOUSANDTHS = 1_000;

/** Returns a grade as the body of a grade has it. */
export function gradeOnWire(market: MarketRecord, grade: Grade) {
  switch (grade.kind) {
    case "WINNER":
      return { winner: outcomeIdOf(market, grade.outcome) };
    case "PUSH":
      return { push: true as const };
    case "FMV":
      return {
        prices: Object.fromEntries(
          grade.prices.map((price, outcome) => [
            outcomeIdOf(market, outcome),
            (price / THOUSANDTHS).toFixed(3),
          ]),
        ),
      };
    default:
      return unreachable(grade);
  }
}

interface DayParts {
  readonly db: Database;
  readonly settlementApprovals: number;
}

export function settlementListRoutes({ db, settlementApprovals }: DayParts) {
  const list = route("GET /admin/v1/settlements", {
    access: operatorWith("read"),
    answer: Settlements,
    docs: {
      summary: "List the settlements under way",
      description:
        "Returns the grades that wait for their approval, and the markets whose payouts are made or taken back.",
    },
    run: async () => {
      const [pending, running] = await Promise.all([pendingSettlements(db), unsettledMarkets(db)]);
      const listed = [
        ...pending.map(({ settlementId, marketId, requestedBy, requestedTs }) => ({
          settlementId,
          marketId,
          status: "PENDING_APPROVAL" as const,
          requestedBy,
          requestedTs,
        })),
        ...running.map(({ settlementId, marketId, remediating }) => ({
          settlementId,
          marketId,
          status: remediating ? ("REVERSING" as const) : ("SETTLING" as const),
          requestedBy: null,
          requestedTs: null,
        })),
      ];
      const markets = await findMarkets(
        db,
        listed.map(({ marketId }) => marketId),
      );
      const marketOf = new Map(markets.map((market) => [market.marketId, market]));
      const items = listed.flatMap((settlement) => {
        const market = marketOf.get(settlement.marketId);
        if (market === undefined) return [];
        const { eventId, description } = market;
        return [{ ...settlement, eventId, description }];
      });
      return { body: { approvals: settlementApprovals, items } };
    },
  });
  return [list];
}
