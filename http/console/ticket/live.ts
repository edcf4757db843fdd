/** Live data of a market that the ticket needs; `market/live.ts` provides it to the page. */

import type { ReadonlySignal } from "@preact/signals";
import type { z } from "zod";
import type { Market } from "../../surface-a/schemas/catalog.js";
import type { OpenOrder, Position } from "../../surface-a/schemas/orders.js";

export type MarketAnswer = z.infer<typeof Market>;
export type OpenOrderAnswer = z.infer<typeof OpenOrder>;
export type PositionAnswer = z.infer<typeof Position>;

interface Connection {
  /** `lost`: the page shows old data, and the ticket takes no order. */
  readonly state: "live" | "polling" | "lost";
  readonly sinceMs: number;
}

export interface TicketLive {
  readonly connection: ReadonlySignal<Connection>;
  /** Resting orders of the subaccount Web in this market; `undefined` while they are not known. */
  readonly orders: ReadonlySignal<readonly OpenOrderAnswer[] | undefined>;
  /** Positions of the subaccount Web in this market; `undefined` while they are not known. */
  readonly positions: ReadonlySignal<readonly PositionAnswer[] | undefined>;
}

/** Level of a ladder that fills the ticket. */
export interface Picked {
  readonly outcomeId: string;
  readonly price: string;
  readonly qty?: number | undefined;
}
