/** Best bids that positions are valued at. */

import type { z } from "zod";
import type { Book, Prices } from "../../surface-a/schemas/catalog.js";
import type { Position } from "../../surface-a/schemas/orders.js";
import { call } from "../data/api.js";
import { asRefusal, isAborted, type Refusal } from "../data/refusal.js";
import { eachOf } from "./catalog.js";

export type PositionAnswer = z.infer<typeof Position>;

/** Markets of one request for prices. */
const MARKETS_AT_ONCE = 100;

/** Names an outcome in the books of one currency. */
export const keyOf = ({ outcomeId, currency }: Pick<PositionAnswer, "outcomeId" | "currency">): string =>
  currency === undefined ? outcomeId : `${outcomeId} ${currency}`;

/** Best bids by `keyOf`: null for an outcome without a bid. Outcomes whose bids could not be read are missing. */
export interface Bids {
  readonly prices: ReadonlyMap<string, string | null>;
  /** First refusal of a read. */
  readonly refusal: Refusal | undefined;
}

/** Reads the best bids on the outcomes of the positions. A read that is refused leaves out its own markets alone. */
export async function readBids(positions: readonly PositionAnswer[], signal: AbortSignal): Promise<Bids> {
  const prices = new Map<string, string | null>();
  let refusal: Refusal | undefined;
  const partly = async (read: () => Promise<void>): Promise<void> => {
    try {
      await read();
    } catch (error) {
      if (isAborted(error)) throw error;
      const refused = asRefusal(error);
      // The market of a hidden event shows no book.
      if (refused.status !== 404) refusal ??= refused;
    }
  };
  const marketsOf = (held: readonly PositionAnswer[]): readonly string[] => [
    ...new Set(held.map(({ marketId }) => marketId)),
  ];
  const cash = marketsOf(positions.filter(({ currency }) => currency === undefined));
  const parts = Array.from({ length: Math.ceil(cash.length / MARKETS_AT_ONCE) }, (_, part) =>
    cash.slice(part * MARKETS_AT_ONCE, (part + 1) * MARKETS_AT_ONCE),
  );
  await eachOf(parts, (part) =>
    partly(async () => {
      // The public route leaves out the bids of markets that nobody watches once many of them are read.
      const query = { markets: part.join() };
      const { items } = await call<z.infer<typeof Prices>>("GET", "/v3/catalog/prices", { query, signal });
      for (const { bids } of items) {
        for (const [outcomeId, best] of Object.entries(bids))
          prices.set(keyOf({ outcomeId }), best?.price ?? null);
      }
    }),
  );
  // The prices of many markets are those of the books in dollars; a book in COIN is read by itself.
  await eachOf(marketsOf(positions.filter(({ currency }) => currency === "COIN")), (marketId) =>
    partly(async () => {
      const query = { currency: "COIN", depth: 1 };
      const path = `/v3/public/catalog/markets/${marketId}/book`;
      const { orders } = await call<z.infer<typeof Book>>("GET", path, { query, signal });
      for (const [outcomeId, [best]] of Object.entries(orders))
        prices.set(keyOf({ outcomeId, currency: "COIN" }), best?.price ?? null);
    }),
  );
  return { prices, refusal };
}
