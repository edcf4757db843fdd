/** Answer to a request that places orders: the answer of each order, and that of the whole request. */

import type { OwnAnswers, PlaceResult } from "../../actors/ledger/commands.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import { codeOf, meaningOf, type Code } from "../request/errors.js";
import type { OrderRefusal } from "./order-rules.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";

/** Order that its ledger has accepted. */
interface Accepted {
  readonly orderId: string;
  readonly clientId?: string;
}

/** Refused order; `index` is its position in the request. */
interface Rejected {
  readonly index: number;
  readonly outcomeId: string;
  readonly reason: string;
}

/** Answer to a batch. `none`: nothing was placed, and `code` is that of the first refusal. */
export type Placed =
  | { readonly kind: "all"; readonly accepted: readonly Accepted[]; readonly repeated: boolean }
  | { readonly kind: "some"; readonly accepted: readonly Accepted[]; readonly rejected: readonly Rejected[] }
  | {
      readonly kind: "none";
      readonly code: Code;
      readonly message: string;
      readonly rejected: readonly Rejected[];
    };

/** Answer to a repeat of an order that is known to have been accepted. */
export interface Recalled {
  readonly recalled: Accepted;
}

/** Order after the checks of the gateway: a request to the ledger, a refusal, or the answer to a repeat. */
export type CheckedOrder = OrderRequest | OrderRefusal | Recalled;

export function isRequest(order: CheckedOrder): order is OrderRequest {
  return "orderId" in order;
}

export function isRefusal(order: CheckedOrder): order is OrderRefusal {
  return "code" in order;
}

/** Answer of an order; `undefined` for an order that was not sent to the ledger because another one was refused. */
export type Outcome = { readonly accepted: Accepted; readonly repeated: boolean } | OrderRefusal | undefined;

/** Returns the answers of the gateway itself, in the form in which the ledger remembers them. */
export function ownAnswers(checked: readonly CheckedOrder[]): OwnAnswers {
  return checked.flatMap((order, index): OwnAnswers => {
    if (isRequest(order)) return [];
    if (!isRefusal(order)) return [[index, order.recalled]];
    const { code, reason } = order;
    return [[index, reason === meaningOf(code) ? { code } : { code, reason }]];
  });
}

/**
 * Refuses the orders with these client ids, and returns the others, and the answers of the gateway with the refusals. `own`
 * are its answers to the orders that have not passed.
 */
export function refuseUncertain(
  own: OwnAnswers,
  passed: readonly OrderRequest[],
  clientIds: readonly string[],
): { readonly own: OwnAnswers; readonly passed: readonly OrderRequest[] } {
  const uncertain = new Set<string | undefined>(clientIds);
  const answered = new Set(own.map(([index]) => index));
  const places = Array.from({ length: own.length + passed.length }, (_, index) => index);
  const placeOf = places.filter((index) => !answered.has(index));
  const refused = passed.flatMap(({ clientId }, n): OwnAnswers => {
    const index = placeOf[n];
    return index === undefined || !uncertain.has(clientId) ? [] : [[index, UNCERTAIN]];
  });
  return { own: [...own, ...refused], passed: passed.filter(({ clientId }) => !uncertain.has(clientId)) };
}

const UNCERTAIN = {
  code: "UNAVAILABLE",
  reason:
    "the service cannot determine whether this clientId was used before; send the order again in a new request",
} as const satisfies OrderRefusal;

/** Merges the answers of a gateway and the results of the ledger, in the order of a request of `count` orders. */
export function merge(count: number, own: OwnAnswers, results: readonly PlaceResult[]): Outcome[] {
  const answered = new Map(own);
  const others = results[Symbol.iterator]();
  return Array.from({ length: count }, (_, index): Outcome => {
    const answer = answered.get(index);
    if (answer === undefined) return outcomeOf(others.next().value);
    if ("orderId" in answer) return { accepted: answer, repeated: true };
    const code = codeOf(answer.code);
    return { code, reason: answer.reason ?? meaningOf(code) };
  });
}

function outcomeOf(result: PlaceResult | undefined): Outcome {
  if (result === undefined) return undefined;
  if (!result.ok) return { code: result.refusal, reason: meaningOf(result.refusal) };
  const { orderId, clientId, repeated } = result;
  return { accepted: { orderId, ...(clientId === undefined ? {} : { clientId }) }, repeated };
}

const REFUSED_BEFORE = {
  code: "INVALID_REQUEST",
  reason: "the order was refused when it was first sent; sign a new request to place it again",
} as const satisfies OrderRefusal;

/**
 * Returns the answer to a request whose first answer nobody remembers. `acceptedId` returns the id of the order at a place,
 * if the tables have it; all other orders were refused.
 */
export function placedInTables(
  orders: readonly PlaceOrder[],
  acceptedId: (index: number) => string | undefined,
): Placed {
  const outcomes = orders.map(({ clientId }, index): Outcome => {
    const orderId = acceptedId(index);
    if (orderId === undefined) return REFUSED_BEFORE;
    return { accepted: { orderId, ...(clientId === undefined ? {} : { clientId }) }, repeated: false };
  });
  return summarize(orders, outcomes, false);
}

/** Returns the answer to the whole request. */
export function summarize(
  orders: readonly PlaceOrder[],
  outcomes: readonly Outcome[],
  atomic: boolean,
): Placed {
  const accepted: Accepted[] = [];
  const rejected: Rejected[] = [];
  let first: OrderRefusal | undefined;
  let repeated = true;
  outcomes.forEach((outcome, index) => {
    if (outcome === undefined) return;
    if ("accepted" in outcome) {
      accepted.push(outcome.accepted);
      repeated &&= outcome.repeated;
      return;
    }
    // The request was served, unlike one that is answered with 503.
    if (first === undefined || first.code === "UNAVAILABLE") first = outcome;
    rejected.push({ index, outcomeId: orders[index]?.outcomeId ?? "", reason: outcome.reason });
  });
  if (first === undefined) return { kind: "all", accepted, repeated };
  if (accepted.length > 0 && !atomic) return { kind: "some", accepted, rejected };
  return { kind: "none", code: first.code, message: first.reason, rejected };
}
