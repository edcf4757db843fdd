/** What comes of a request to place orders: each order's answer, and the one answer that they make together. */

import type { PlaceResult } from "../../actors/ledger/commands.js";
import type { OrderRequest } from "../../actors/ledger/types.js";
import { meaningOf, type Code } from "../request/errors.js";
import type { OrderRefusal } from "./order-rules.js";
import type { PlaceOrder } from "../surface-a/schemas/orders.js";

export interface Accepted {
  readonly orderId: string;
  readonly clientId?: string;
}

/** `index` is the place in the request. */
export interface Rejected {
  readonly index: number;
  readonly outcomeId: string;
  readonly reason: string;
}

/** What came of a batch. `none`: nothing was placed, and `code` is that of the first refusal. */
export type Placed =
  | { readonly kind: "all"; readonly accepted: readonly Accepted[]; readonly repeated: boolean }
  | { readonly kind: "some"; readonly accepted: readonly Accepted[]; readonly rejected: readonly Rejected[] }
  | {
      readonly kind: "none";
      readonly code: Code;
      readonly message: string;
      readonly rejected: readonly Rejected[];
    };

/** The answer to a repeat whose first request is known to have been accepted. */
export interface Recalled {
  readonly recalled: Accepted;
}

/** An order as the rules of the gateway left it. */
export type CheckedOrder = OrderRequest | OrderRefusal | Recalled;

export function isRequest(one: CheckedOrder): one is OrderRequest {
  return "orderId" in one;
}

export function isRefusal(one: CheckedOrder): one is OrderRefusal {
  return "code" in one;
}

/** One order's answer; `undefined` was not asked for, because of another. */
export type Outcome = { readonly accepted: Accepted; readonly repeated: boolean } | OrderRefusal | undefined;

/** The answers in the order of the request. */
export function merge(judged: readonly CheckedOrder[], results: readonly PlaceResult[]): Outcome[] {
  const answers = results[Symbol.iterator]();
  return judged.map((one) => {
    if (isRefusal(one)) return one;
    if (!isRequest(one)) return { accepted: one.recalled, repeated: true };
    const next = answers.next();
    if (next.done === true) return undefined;
    const result = next.value;
    if (!result.ok) return { code: result.refusal, reason: meaningOf(result.refusal) };
    const { orderId, clientId, repeated } = result;
    return { accepted: { orderId, ...(clientId === undefined ? {} : { clientId }) }, repeated };
  });
}

/** The answer to the whole request. */
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
    first ??= outcome;
    rejected.push({ index, outcomeId: orders[index]?.outcomeId ?? "", reason: outcome.reason });
  });
  if (first === undefined) return { kind: "all", accepted, repeated };
  if (accepted.length > 0 && !atomic) return { kind: "some", accepted, rejected };
  return { kind: "none", code: first.code, message: first.reason, rejected };
}
