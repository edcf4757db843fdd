/**
 * Placements by signed requests: the same signed bytes have one effect and one answer, at whichever gateways they arrive
 * (contract section 5.6). The command carries the whole request, with the answers that the gateway gives by itself, so
 * that the answer which the ledger remembers in its commit is that of the whole request.
 */

import type { Formats } from "../../actors/format.js";
import type { LedgerReply, OwnAnswers } from "../../actors/ledger/commands.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import type { Answered, Exchange } from "../../stream/log/ports.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";
import { answerTo, type Trader } from "./ledger-client.js";
import type { PlacingRequest } from "./order-ids.js";
import { merge, placedInTables, summarize, type Placed } from "./placement-answer.js";

/** Request that places orders. */
export interface Placement extends PlacingRequest {
  readonly trader: Trader;
  readonly orders: readonly PlaceOrder[];
  readonly atomic: boolean;
}

/** Signed request that places orders. `resumed`: an earlier run of the same bytes may have been cut off. */
export interface SignedRequest extends Placement {
  readonly resumed: boolean;
}

/** Orders for the ledger, and the answers of the gateway to the others. */
export interface Prepared {
  readonly own: OwnAnswers;
  readonly passed: readonly OrderRequest[];
}

export type PlacedReply = Extract<LedgerReply, { kind: "placed" }>;

/** Answer to a signed request. `repeated`: an earlier run of the request got it, and this run had no effect. */
export interface PlacedOnce {
  readonly placed: Placed;
  readonly repeated: boolean;
}

export interface SignedPlacementsParts {
  readonly exchange: Pick<Exchange, "ledger">;
  /** Format that all processes read. */
  readonly formats: Formats;
  /** Checks the orders by the rules of the gateway. */
  prepare(request: SignedRequest): Promise<Prepared>;
  /** Sends the orders to the ledger, with the answers of the gateway if the ledger remembers them. */
  send(request: SignedRequest, prepared: Prepared, remembers: boolean): Promise<Answered<PlacedReply>>;
  /** Returns the answer of a run that was cut off, as far as the tables have it, if that run placed any order. */
  placedBefore(request: SignedRequest): Promise<Placed | undefined>;
}

/** Format from which a ledger remembers the answer to a whole request, and its worker marks the answer to a repeat. */
export const REMEMBERED_IN_LEDGER = 3;

export class SignedPlacements {
  constructor(private readonly parts: SignedPlacementsParts) {}

  /**
   * Places the orders of a request. While an older build is at work the caller keeps the answer, and an order may get
   * another refusal after a run that was cut off. Throws like `prepare` and `send`.
   */
  async place(request: SignedRequest): Promise<PlacedOnce> {
    const { orders, atomic, resumed } = request;
    const { remembers } = this;
    if (resumed && !remembers) {
      const placed = await this.parts.placedBefore(request);
      if (placed !== undefined) return { placed, repeated: false };
    }
    const prepared = await this.parts.prepare(request);
    const { own, passed } = prepared;
    const answer =
      remembers || passed.length > 0 ? await this.parts.send(request, prepared, remembers) : undefined;
    if (answer === undefined)
      return { placed: summarize(orders, merge(orders.length, own, []), atomic), repeated: false };
    const { reply, repeated } = answer;
    const placed =
      remembers && repeated
        ? await this.remembered(request, reply)
        : (answered(request, reply) ?? summarize(orders, merge(orders.length, own, reply.results), atomic));
    return { placed, repeated };
  }

  /** Returns the answer of an earlier run of a request, if the ledger remembers one. Throws `Unavailable`. */
  async recall(request: SignedRequest): Promise<PlacedOnce | undefined> {
    if (!this.remembers) return undefined;
    const reply = await answerTo(this.parts.exchange, request.trader, request.commandId);
    if (reply === undefined || !reply.ok || reply.kind !== "placed") return undefined;
    return { placed: await this.remembered(request, reply), repeated: true };
  }

  /** True when the ledgers remember the answers of gateways. */
  get remembers(): boolean {
    return this.parts.formats.active() >= REMEMBERED_IN_LEDGER;
  }

  /** Returns the answer to a whole request, as the ledger remembers it from the first run. */
  private async remembered(request: SignedRequest, reply: PlacedReply): Promise<Placed> {
    const placed = answered(request, reply);
    // Otherwise an older build was at work in the first run: the ledger does not know to which orders its results belong.
    return (
      placed ?? (await this.parts.placedBefore(request)) ?? placedInTables(request.orders, () => undefined)
    );
  }
}

/** Returns the answer to a whole request, if the ledger knows all of it. */
function answered({ orders, atomic }: SignedRequest, reply: PlacedReply): Placed | undefined {
  const own = reply.own ?? (reply.results.length === orders.length ? [] : undefined);
  return own && summarize(orders, merge(orders.length, own, reply.results), atomic);
}
