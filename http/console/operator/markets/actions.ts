/** Actions on markets, and the markets that take them now (contract section 8.8). */

import type { OperatorAction } from "../../../../actors/market/commands.js";
import type { MarketAnswer } from "../answers.js";
import { isGraded } from "../events/status.js";

export type { OperatorAction };

export interface MarketActionWords {
  readonly name: string;
  readonly done: string;
  readonly takes: (market: MarketAnswer) => boolean;
  /** Said when none of the chosen markets takes the action. */
  readonly needs: string;
}

export const MARKET_ACTIONS: Readonly<Record<OperatorAction, MarketActionWords>> = {
  pause: {
    name: "Pause",
    done: "paused",
    takes: ({ status, paused }) => status === "OPEN" && !paused,
    needs: "an open market that is not paused",
  },
  resume: {
    name: "Resume",
    done: "resumed",
    takes: ({ status, paused }) => status === "OPEN" && paused,
    needs: "a paused market",
  },
  open: {
    name: "Open",
    done: "opened",
    takes: (market) => market.status === "CLOSED" && !isGraded(market),
    needs: "a closed market without a grade",
  },
  close: {
    name: "Close",
    done: "closed",
    takes: ({ status }) => status === "OPEN",
    needs: "an open market",
  },
};

/** Number of requests on their way at the same time. */
const PARALLEL = 6;

/** Outcome of the same request for several markets. */
export interface Batch {
  readonly done: number;
  readonly refused: readonly { readonly market: string; readonly error: unknown }[];
}

/** Carries out one request for each item, some at the same time, and collects the refusals. */
export async function forEach<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  act: (item: Item) => Promise<unknown>,
  parallel = PARALLEL,
): Promise<Batch> {
  const waiting = [...items];
  const refused: { market: string; error: unknown }[] = [];
  const next = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      try {
        await act(item);
      } catch (error) {
        refused.push({ market: nameOf(item), error });
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, next));
  return { done: items.length - refused.length, refused };
}
