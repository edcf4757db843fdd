/** Strike requests, and the texts of a market with another strike (contract sections 7.10 and 8.11). */

import { randomUUID } from "node:crypto";
import type { Database } from "../../db/database.js";
import { requestStrike } from "../../db/queries/operator/strike-requests.js";
import { IDS } from "../docs/examples.js";
import type { Reference } from "../reference/reference.js";
import { Refused } from "../request/errors.js";
import { route } from "../request/route.js";
import { ordinary, requesting } from "./access.js";
import { StrikeRequestBody, StrikeRequested } from "./schemas.js";

/** Returns the half point above a whole strike, so that no result can equal it: `n` becomes `n + 0.5`. */
export function halfPoint(strike: number): number {
  return Number.isInteger(strike) ? strike + 0.5 : strike;
}

/**
 * Rewrites a text about one strike for another. The strike becomes the new one, and its opposite (the other side of a
 * spread) becomes the new opposite. A sign that the text writes out stays written out.
 */
export function restrike(text: string, from: number, to: number): string {
  return text.replace(
    /(?<![\w.])([+-]?)(\d+(?:\.\d+)?)(?![\w.]*\d)/g,
    (whole, sign: string, digits: string) => {
      const value = Number(digits);
      if (value !== Math.abs(from)) return whole;
      if (sign === "") return String(Math.abs(to));
      const same = (sign === "-" ? -value : value) === from;
      const next = same ? to : -to;
      return next > 0 ? `+${next}` : String(next);
    },
  );
}

export function emmStrikeRoutes(
  base: string,
  { db, reference }: { readonly db: Database; readonly reference: Reference },
) {
  const request = route(`POST ${base}/strike-requests`, {
    access: requesting(ordinary("strike-requests")),
    status: 202,
    body: StrikeRequestBody,
    answer: StrikeRequested,
    docs: {
      summary: "Create a strike request",
      description:
        "Requests a market like this one with another strike. A whole strike becomes the half point above it. An accepted request does not promise the market: an operator decides.",
      refuses: ["MARKET_NOT_FOUND"],
      exampleBody: { marketId: IDS.marketId, strike: 47 },
    },
    run: async ({ caller, body, incoming }) => {
      const { marketId } = body;
      if ((await reference.market(marketId)) === undefined) throw new Refused("MARKET_NOT_FOUND");
      const strike = halfPoint(body.strike);
      const { requestId } = await requestStrike(db, {
        requestId: randomUUID(),
        clientId: caller.clientId,
        marketId,
        strike: String(strike),
        nowTs: incoming.receivedMs,
      });
      return { body: { requestId, marketId, strike, status: "PENDING" as const } };
    },
  });
  return [request];
}
